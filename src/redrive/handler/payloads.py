"""A user's values in a record: results as JSON that comes back unchanged, payloads as hashes.

If a stored result changed on its way back, the first run and its replay would differ, so such results are refused when
the function returns them.
"""

from __future__ import annotations

import json
import math

from redrive.handler.errors import ResultNotStorable

RESULT_BYTES_MAX = 200_000  # A record is one DynamoDB item of 400 KB at most, which also has effects and history.
EFFECT_RESULT_BYTES_MAX = 16_000
# The limit for effects, and for effects and result together: history, messages and keys need the rest of an item.
EFFECTS_BYTES_MAX = 200_000
EFFECTS_AND_RESULT_BYTES_MAX = 300_000
ERROR_CHARS_MAX = 1_000

_SCALARS = frozenset((bool, int, str, type(None)))  # Most members of a result; other types cost a call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # json.dumps would make one for each call.


def encode(value: object, *, bytes_max: int = RESULT_BYTES_MAX) -> str:
    """A value as JSON text. Errors: ResultNotStorable, naming the part that JSON would change."""
    _refuse_unfaithful(value, "result")
    text = _ENCODER.encode(value)
    size = len(text) if text.isascii() else _utf8_bytes(text)
    if size > bytes_max:
        raise ResultNotStorable(
            f"the result has {size:,} bytes as JSON and a record keeps {bytes_max:,}: "
            "put it into a bucket and return where it is"
        )
    return text


def decode(text: str | None) -> object:
    """A value from its JSON text; None if there is no text."""
    return None if text is None else json.loads(text)


def payload_hash(payload: object) -> str:
    """A hash of a payload's JSON, independent of the order of keys.

    Errors: ResultNotStorable if the payload is not JSON.
    """
    import hashlib

    _refuse_unfaithful(payload, "payload")
    canonical = json.dumps(payload, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def describe(error: BaseException) -> str:
    """An error's type and message, cut to the length that a record keeps."""
    text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()  # See _utf8_bytes.
    return text if len(text) <= ERROR_CHARS_MAX else text[: ERROR_CHARS_MAX - 1] + "…"


def _utf8_bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        before = text[max(0, error.start - 20) : error.start]
        raise ResultNotStorable(
            f"the result has half a surrogate pair, {text[error.start]!r}, after {before!r}: no database keeps that as "
            "text; decode the bytes that it came from with errors='replace'"
        ) from None


def _refuse_unfaithful(value: object, what: str, *place: str | int) -> None:
    match value:
        case dict():
            for name, member in value.items():
                if not isinstance(name, str):
                    where = _shown(what, place)
                    raise ResultNotStorable(f"{where} has the key {name!r}, and JSON knows only texts as keys")
                if type(member) not in _SCALARS:
                    _refuse_unfaithful(member, what, *place, name)
        case list():
            for index, member in enumerate(value):
                if type(member) not in _SCALARS:
                    _refuse_unfaithful(member, what, *place, index)
        case None | bool() | int() | str():
            return
        case float() if math.isfinite(value):
            return
        case _:
            raise ResultNotStorable(
                f"{_shown(what, place)} is a {type(value).__name__}, which does not come back from JSON as it is: "
                "use None, booleans, numbers, texts, and lists and dicts of them"
            )


def _shown(what: str, place: tuple[str | int, ...]) -> str:
    return what + "".join(f"[{step!r}]" for step in place)
