"""How requests to our own surface are read: JSON documents, queries, the id at the end of a path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, unquote

from redrive.core.errors import UserError
from redrive.core.scope import Scope
from redrive.wire.message import HttpRequest, HttpResponse

Route = Callable[[HttpRequest], HttpResponse]
Routes = Mapping[tuple[str, str], Route]
"""What answers a method and a path; a path that ends in `/{id}` stands for all that have one more piece there."""

DEFAULT_REGION = "us-east-1"

SHOWN_MAX = 100
"""How many characters of a refused value are repeated in the refusal."""

COUNT_DIGITS_MAX = 10


class Missing(UserError):
    """What a request is about does not exist: 404."""


def read_document(request: HttpRequest, usage: str) -> dict[str, object]:
    """The JSON object in the body. Errors: UserError, with `usage` as what to do."""
    try:
        document = json.loads(request.body or b"null")
        # Half of a surrogate pair is a character to JSON, and to nobody else.
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise UserError("The body has half of a surrogate pair in a text.", next_step=usage) from error
    except ValueError as error:
        raise UserError(f"The body is not JSON: {error}.", next_step=usage) from error
    except RecursionError as error:
        raise UserError("The body is nested too deeply.", next_step=usage) from error
    if not isinstance(document, dict):
        raise UserError("The body is not a JSON object.", next_step=usage)
    return document


def read_query(request: HttpRequest, *known: str) -> dict[str, str]:
    """The parameters after the question mark. Errors: UserError for one that is not known."""
    query = dict(parse_qsl(request.query, keep_blank_values=True))
    unknown = sorted(query.keys() - set(known))
    if unknown:
        raise UserError(f"There is no parameter {shown(unknown[0])} here.", next_step=f"There is: {', '.join(known)}.")
    return query


def read_id(request: HttpRequest) -> str:
    """The last piece of the path, percent-decoded."""
    return unquote(request.path.rpartition("/")[2])


def read_count(query: Mapping[str, str], name: str, *, default: int, count_max: int) -> int:
    """A whole number from 1. Errors: UserError."""
    text = query.get(name, str(default))
    is_number = text.isdecimal() and len(text) <= COUNT_DIGITS_MAX
    if not is_number or not 1 <= int(text) <= count_max:
        raise UserError(f"{name} is {shown(text)}; it must be a number from 1 to {count_max}.")
    return int(text)


def read_scope(query: Mapping[str, object], account: str) -> Scope:
    """The account and region that a request is about: the server's own account unless it names another."""
    return Scope(str(query.get("account") or account), str(query.get("region") or DEFAULT_REGION))


def shown(value: object) -> str:
    """A refused value as a refusal repeats it: its beginning, if it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
