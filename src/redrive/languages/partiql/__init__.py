"""PartiQL for DynamoDB: statements parsed, their parameters bound, and the keys in their WHERE clauses found.

`parse` makes a tree from a text, and is cached; `bind` puts the parameters in and makes conditions and updates of
languages/dynamo, which are evaluated there; `reaches_of` and `full_key_of` say which keys a clause means. Everything is
pure. Every refusal is a `ServiceError` with the code ValidationException and AWS's text.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

from __future__ import annotations

from redrive.languages.partiql.binding import Delete, Exists, Insert, Select, Statement, UpdateStatement, bind
from redrive.languages.partiql.keys import Keys, Reach, full_key_of, reaches_of
from redrive.languages.partiql.statements import parse
from redrive.languages.partiql.syntax import Order, Parsed, Returning, Source

__all__ = [
    "Delete",
    "Exists",
    "Insert",
    "Keys",
    "Order",
    "Parsed",
    "Reach",
    "Returning",
    "Select",
    "Source",
    "Statement",
    "UpdateStatement",
    "bind",
    "full_key_of",
    "parse",
    "reaches_of",
]
