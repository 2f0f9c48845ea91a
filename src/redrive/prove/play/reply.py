"""What a run is told of a call, as far as it can be compared, and how the code is given it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, NoReturn, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from redrive.prove.calls.calls import Params, mapping_of
from redrive.prove.play.asked import Asked

T = TypeVar("T")

CALL_ERRORS = (BotoCoreError, ClientError, OSError)
"""What calls raise in the handler."""


class Told(NamedTuple):
    """What a run is told, as text, and whether the text contains all of it."""

    text: str
    is_all: bool


@dataclass(slots=True)
class Reply:
    """What a run is told of a call. `give` gives the answer to the code, or raises; `outcome` names an error."""

    give: Callable[[], object]
    told: Told
    outcome: str = ""

    @classmethod
    def of(cls, ask: Callable[[], object]) -> Reply:
        """The reply of a call that `ask` makes."""
        try:
            answer = ask()
        except ClientError as error:
            code = str(mapping_of(error.response.get("Error")).get("Code"))
            return cls(raising(error), told_of(error.response), code)
        except (BotoCoreError, OSError) as error:
            return cls.failed(error)
        return cls(returning(answer), told_of(answer))

    @classmethod
    def failed(cls, error: Exception) -> Reply:
        """The reply of a call whose answer does not come."""
        name = type(error).__name__
        return cls(raising(error), told_of(name), name)


def told_of(value: object) -> Told:
    """What a value tells. Details of a request (its id, its checksum, its retries) do not count."""
    if isinstance(value, dict):
        value = {name: one for name, one in value.items() if name != "ResponseMetadata"}
    return Told(repr(value), _is_plain(value))


def returning(answer: T) -> Callable[[], T]:
    """What gives an answer."""
    return lambda: answer


def raising(error: Exception) -> Callable[[], NoReturn]:
    """What raises an error."""

    def raise_again() -> NoReturn:
        raise error

    return raise_again


def client_error(asked: Asked, parsed: Params) -> ClientError:
    """The error of a client for an answer with this document."""
    code = mapping_of(parsed.get("Error")).get("Code")
    made: ClientError = asked.client.exceptions.from_code(code)(parsed, asked.call.operation)
    return made


def _is_plain(told: object) -> bool:
    """Whether the text of a value contains all of the value."""
    match told:
        case dict():
            return all(map(_is_plain, told.values()))
        case list() | tuple():
            return all(map(_is_plain, told))
        case _:
            return told is None or isinstance(told, str | bytes | int | float | Decimal | datetime)
