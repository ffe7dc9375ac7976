"""Addresses: of databases and of files in object stores, told from paths, and shown without what is secret in them."""

from __future__ import annotations

import os
import re
from typing import Any

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_DATABASES = ("postgresql", "postgres", "sqlite")
# What may be shown of what stands behind the question mark of an address: anything else may be a key or a password.
_SHOWN_PARAMETERS = frozenset(
    ("dbname", "host", "port", "region", "scheme", "service", "sslmode", "user", "endpoint_override", "mode")
)


def scheme_of(source: Any) -> str | None:
    """Return the scheme of an address, in small letters; None for what is a path, or no text.

    >>> scheme_of("s3://bucket/sales"), scheme_of("sales.parquet")
    ('s3', None)
    """
    match = _ADDRESS.fullmatch(source) if isinstance(source, str) else None
    return None if match is None else match[1].lower()


def is_database(source: Any) -> bool:
    """Tell whether a source is the address of a database."""
    return scheme_of(source) in _DATABASES


def shown_source(source: Any) -> str:
    """Return a path as it is, an address without its passwords and keys, and of anything else the name of its type.

    >>> shown_source("postgresql://ann:secret@db.example/shop?sslpassword=x&sslmode=require")
    'postgresql://ann:***@db.example/shop?sslpassword=***&sslmode=require'
    """
    if not isinstance(source, str | os.PathLike):
        return type(source).__name__
    match = _ADDRESS.fullmatch(str(source))
    if match is None:
        return str(source)
    if "@" in match[2].partition("?")[2]:  # a part of a password, before or behind it: nobody can tell
        return f"{match[1]}://***"
    secret, at, place = match[2].rpartition("@")
    user, colon, _ = secret.partition(":")
    if not colon:  # there is no password in front of a host, and what has an @ may be anything
        user, at, place = "", "", match[2]
    # Otherwise it may hold any letter, also @, / and ?: all that may be a part of it is left out.
    rest, mark, query = place.partition("?")
    given = [part.partition("=") for part in query.split("&")] if query else []
    shown = [f"{name}{equals}{value if name in _SHOWN_PARAMETERS else '***'}" for name, equals, value in given]
    password = ":***" if colon else ""
    return f"{match[1]}://{user}{password}{at}{rest}{mark}{'&'.join(shown)}"
