"""Addresses: as they may be shown, without their secrets, and the drivers of databases."""

import re
from importlib import import_module
from types import ModuleType
from typing import Any

from fim_private.errors import DataError, MissingExtraError

# A connection of ADBC's.
Connection = Any

ADDRESS = r"(?s)([A-Za-z][A-Za-z0-9+.-]+)://(.*)"
# The parameters of an address that may be shown. Any other may hold a key or a password.
_SHOWN = "dbname host port region scheme service sslmode user endpoint_override mode"
_SHOWN_PARAMETERS = frozenset(_SHOWN.split())


def shown_source(text: str) -> str:
    """Return an address without passwords and keys; any other text as it is.

    >>> shown_source("postgresql://ann:secret@db.example/shop?sslpassword=x&sslmode=require")
    'postgresql://ann:***@db.example/shop?sslpassword=***&sslmode=require'
    """
    match = re.fullmatch(ADDRESS, text)
    if match is None:
        return text
    scheme, path = match.groups()
    place, mark, query = path.partition("?")
    # An @ there may belong to a password, before or behind it: nobody can tell.
    if "@" in query:
        return f"{scheme}://***"
    # A password may hold any letter, also @ and /: all that may be a part of it is left out.
    place = re.sub(r"\A([^:]*):.*@", r"\1:***@", place, flags=re.DOTALL)
    if query:
        query = "&".join(map(_shown_parameter, query.split("&")))
    return f"{scheme}://{place}{mark}{query}"


def _shown_parameter(assignment: str) -> str:
    """Return a parameter of an address, its value as *** unless it is known to be no secret."""
    name, equals, _ = assignment.partition("=")
    if name in _SHOWN_PARAMETERS:
        return assignment
    return f"{name}{equals}***"


def driver(module: str, extra: str = "sql") -> ModuleType:
    """Return the driver of a database. Raises MissingExtraError where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        package = module.removesuffix(".dbapi").replace("_", "-")
        raise MissingExtraError(
            f"this database needs a driver, which is not installed: "
            f"pip install 'fim-private[{extra}]' ({package})"
        ) from None


def unreachable(address: str) -> DataError:
    """Return the error for a server that refuses the connection. Its own words may quote the
    address and its password.
    """
    return DataError(
        f"{shown_source(address)!r} cannot be connected to; check the address, the server, the "
        f"user and the "
        "password (give it by PGPASSWORD, or by a service file: postgresql://?service=NAME)"
    )


def open_postgresql(address: str) -> Connection:
    """Connect to PostgreSQL; each statement is a transaction until one begins. Raises DataError,
    and MissingExtraError without a driver.
    """
    postgresql = driver("adbc_driver_postgresql.dbapi")
    try:
        return postgresql.connect(address, autocommit=True)
    except postgresql.Error:
        raise unreachable(address) from None
