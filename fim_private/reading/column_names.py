"""What the name of a column suggests that is in it. A suggestion only: nothing is read by it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = "(id|no|nr|num|number|key|code|nummer|numero)?"
_USER = re.compile(
    r"((shop|store|loyalty|anonymous|unique)?"
    r"(customer|client|member|household|shopper|buyer|cardholder|loyalty|panelist|patient|user|kunden?|haushalts?)"
    r"(card|account|unique|hashed)?(id|no|nr|num|number|key|code|nummer|hash|ref|name|email)?"
    r"|hh|hhid|cust|custid|cid|uid|person|personid|account|accountid|cardno|cardnumber|cardid|email|phone)s?"
)
# What ends a column's name that counts or describes customers, and is not theirs.
_NOT_A_USER = re.compile(
    r".*(count|rating|segment|group|type|category|city|country|region|state|agent|age|gender|sex)s?"
)
_BASKET = re.compile(
    r"(basket|order|invoice|transaction|trans|receipt|ticket|t|cart|sale|visit|session|bill|check|purchase|trip"
    r"|bestellung|bestell|beleg|bon|rechnung|rechnungs|commande|facture|pedido|factura|ordine|compra)s?" + _NUMBER
)
_ITEM = re.compile(
    r"(items?|products?|stock|sku|upc|ean|plu|articles?|asin|goods|category|categories|department|subcategory|brand"
    r"|artikel|produkt|ware|produit|producto|prodotto|bezeichnung|designation|descripcion"
    r"|description|descr|name|title)(id|no|nr|num|number|key|code|name|names|descr|description|title)?"
)
_OTHER = re.compile(
    r".*(date|datum|time|timestamp|day|week|month|year|quantity|qty|price|amount|value|total|revenue|country|store|shop)"
    r"(id|no)?"
)


_DATE = re.compile(
    r".*(date|datum|timestamp|day|tag|fecha|jour)|((order|invoice|transaction|purchase|sale|visit|trip)(date)?)?time"
)
# What ends a column's name that is no day of a purchase.
_NOT_A_DATE = re.compile(r".*(birth(date|day)?|weekday|week|holiday|update|updated|dateofbirth|geburtstag|feiertag)")


def suggests_date(name: object) -> bool:
    """Tell whether a column looks by its name like the day, or the time, of a purchase.

    >>> [suggests_date(name) for name in ("Date", "order_date", "InvoiceDate", "birthdate", "product")]
    [True, True, True, False, False]
    """
    letters = _letters(name)
    return _DATE.fullmatch(letters) is not None and _NOT_A_DATE.fullmatch(letters) is None


def suggests_user(name: object) -> bool:
    """Tell whether a column looks by its name like a customer's id.

    >>> [suggests_user(name) for name in ("CustomerID", "Member_number", "customer_count", "product")]
    [True, True, False, False]
    """
    return _USER.fullmatch(_letters(name)) is not None and _NOT_A_USER.fullmatch(_letters(name)) is None


def suggests_basket(name: object) -> bool:
    """Tell whether a column looks by its name like a basket's id, such as order_id."""
    return _letters(name) not in ("", "t") and _BASKET.fullmatch(_letters(name)) is not None


def suggests_item(name: object) -> bool:
    """Tell whether a column looks by its name like items, such as product_name."""
    return _ITEM.fullmatch(_letters(name)) is not None


def suggests_a_column(name: object) -> bool:
    """Tell whether a text looks like the name of a column of purchases, rather than like an item."""
    letters = _letters(name)  # once: there may be a million names
    if letters in ("", "t"):
        return False
    if any(pattern.fullmatch(letters) for pattern in (_BASKET, _ITEM, _OTHER)):
        return True
    return _USER.fullmatch(letters) is not None and _NOT_A_USER.fullmatch(letters) is None


def numbered(names: Sequence[str]) -> list[str]:
    """Return the longest run of names that are numbered from 1 (or 0) on, such as Item 1, Item 2; of two at least.

    >>> numbered(["Transaction", "Item 1", "Item 2", "Item 3"])
    ['Item 1', 'Item 2', 'Item 3']
    """
    runs: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)[ _.-]*([0-9]{1,7})", str(name).strip())
        if match is not None:
            run = runs.setdefault(match[1].casefold(), [])
            number = int(match[2])
            if number == run[-1][0] + 1 if run else number < 2:
                run.append((number, name))
    return [name for _, name in max((run for run in runs.values() if len(run) > 1), key=len, default=[])]


def _letters(name: object) -> str:
    """Return the letters of a name, in small ones."""
    return re.sub(r"[^a-z]", "", str(name).casefold())
