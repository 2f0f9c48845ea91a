"""The keys under which a letter's work stands in the ledger of the function that does it.

A key comes from the work. For a schedule it is the execution id, which the letter names. For other work the function
decides; without its expression the usual places are tried, and a key that is not found there says little.

An expression is JMESPath with the functions of Powertools, so that `event_key_jmespath` of a function can be pasted. It
is applied to what the function may have been given, until it finds something:

    1. the event: of a queue `{"Records": [record]}` with this one message
    2. the record alone, as a function of one record gets it
    3. the record with its body parsed
    4. the body, parsed

A dead-letter queue may have letters of several sources, whose functions have keys at different places: then there is an
expression for each source, by its name or its ARN, and one for all others.

Sources: https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/;
https://docs.aws.amazon.com/powertools/python/latest/utilities/jmespath_functions/
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jmespath
import jmespath.functions
from jmespath.exceptions import JMESPathError

from redrive.core.documents import load_json
from redrive.core.errors import UserError
from redrive.deadletters.letter import Letter, Origin, name_of

PLACES = (("context", "execution_id"), ("execution_id",), ("executionId",), ("context", "executionId"))
"""Where inputs of schedules usually carry the execution id."""

UNPACKED_BYTES_MAX = 16 * 1024 * 1024
"""The most that a compressed text in a letter may unpack to."""


@dataclass(frozen=True, slots=True)
class ExecutionKey:
    """A key, where it was found, and whether it is the function's key for certain."""

    value: Any
    """A text; for Powertools any JSON value, which is hashed."""
    place: str
    is_certain: bool


class KeySource:
    """Finds the keys of a letter."""

    def __init__(
        self, expression: str | None = None, prefix: str = "", by_source: Mapping[str, str] | None = None
    ) -> None:
        """`by_source` has expressions for some sources, by name or ARN; `expression` is for all others.

        `prefix` is what the function puts before each key. Errors: UserError if an expression is not JMESPath.
        """
        self._prefix = prefix
        self._usual = None if expression is None else compiled(expression)
        self._by_source = {source: compiled(text) for source, text in (by_source or {}).items()}

    @property
    def is_given(self) -> bool:
        """Whether the user has named a key."""
        return self._usual is not None or bool(self._by_source)

    def is_given_for(self, letter: Letter) -> bool:
        """Whether the user has named the key of a letter's source."""
        return self._of(letter) is not None

    def _of(self, letter: Letter) -> Any:
        arn = letter.source_arn
        return self._by_source.get(arn) or self._by_source.get(name_of(arn), self._usual)

    def texts(self, letter: Letter) -> list[ExecutionKey]:
        """The keys under which a ledger may have the execution, the most probable first."""
        expression = self._of(letter)
        if expression is not None:
            found = self.value(letter)
            if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
                return []
            return [ExecutionKey(f"{self._prefix}{found}", expression.expression, is_certain=True)]
        places: dict[str, ExecutionKey] = {}
        for value, place, is_certain in _usual(letter):
            places.setdefault(value, ExecutionKey(f"{self._prefix}{value}", place, is_certain))
        return list(places.values())

    def value(self, letter: Letter) -> Any:
        """What the expression finds; without an expression the event that the function was given."""
        views, expression = list(_views(letter)), self._of(letter)
        if expression is None:
            return views[0]
        for view in views:
            try:
                found = expression.search(view, options=_OPTIONS)
            except (JMESPathError, ValueError, TypeError, AttributeError, OSError, EOFError):
                continue  # A body without JSON, or a function on nothing: another view may have it.
            if not _is_missing(found):
                return found
        return None


def compiled(expression: str) -> Any:
    """An expression, parsed. Errors: UserError if it is not JMESPath."""
    try:
        return jmespath.compile(expression)
    except JMESPathError as error:
        raise UserError(
            f"The key {expression!r} is not JMESPath: {' '.join(str(error).split())}.",
            next_step="Write it as event_key_jmespath of Powertools: body.order.id", exit_code=2,
        ) from error  # fmt: skip


def powertools_id(name: str, value: Any) -> str:
    """The id of a record of Powertools for Python: `<function>.<module>.<name>#<MD5 of the value as JSON>`."""
    text = json.dumps(value, sort_keys=True)
    return f"{name}#{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"


def record_of_queue(letter: Letter) -> dict[str, Any]:
    """A letter's message as Lambda shows it to the consumer of the source queue."""
    return {
        "messageId": letter.message_id,
        "body": letter.work.text,
        "attributes": {
            name: value
            for name, value in (
                ("MessageGroupId", letter.group_id), ("MessageDeduplicationId", letter.deduplication_id),
            )
            if value
        },
        "messageAttributes": {name: _attribute(shown) for name, shown in letter.attributes.items()},
        "eventSource": "aws:sqs",
        "eventSourceARN": letter.source_arn,
    }  # fmt: skip


def input_of(letter: Letter) -> Any:
    """The work as JSON: for a schedule's request the input in it, for a text that is no JSON the text."""
    parsed = parsed_or_text(letter.work.text)
    if letter.origin is Origin.SCHEDULE and isinstance(parsed, Mapping):
        for name in ("MessageBody", "Payload", "Message", "Input", "Detail"):
            if name in parsed:
                return parsed_or_text(parsed[name])
    return parsed


def parsed_or_text(value: Any) -> Any:
    """A text as JSON, and everything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(value)
    except ValueError:
        return value


def _usual(letter: Letter) -> Iterator[tuple[str, str, bool]]:
    """Keys by convention, where each was found, and whether it is the function's for certain."""
    work = letter.work
    if letter.origin is Origin.SCHEDULE and work.id:
        yield work.id, "the execution id", True
    told = input_of(letter)
    for place in PLACES:
        found = told
        for step in place:
            found = found.get(step) if isinstance(found, Mapping) else None
        if isinstance(found, str) and found:
            yield found, ".".join(place), True
    if isinstance(told, Mapping) and isinstance(told.get("id"), str) and "detail-type" in told:
        yield told["id"], "the event's id", False
    if work.id:
        yield work.id, "the id of the request, the event or the message", False
    if letter.message_id:
        yield letter.message_id, "the message id", False


def _views(letter: Letter) -> Iterator[Any]:
    work = input_of(letter)
    if letter.origin is not Origin.QUEUE:
        yield work
        return
    record = record_of_queue(letter)
    yield {"Records": [record]}
    yield record
    yield record | {"body": work}
    yield work


def _is_missing(value: Any) -> bool:
    """Whether nothing was found: a multiselect has its members even if nothing is in them."""
    if isinstance(value, Mapping):
        return all(one is None for one in value.values())
    if isinstance(value, list):
        return all(one is None for one in value)
    return value is None or value == ""


def _attribute(shown: Mapping[str, object]) -> dict[str, object]:
    names = (("StringValue", "stringValue"), ("DataType", "dataType"))
    return {name: shown[given] for given, name in names if given in shown}


class _Functions(jmespath.functions.Functions):  # type: ignore[misc]  # jmespath has no types.
    """The functions that Powertools adds to JMESPath."""

    @jmespath.functions.signature({"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_powertools_json(self, value: str) -> Any:
        return load_json(value)

    @jmespath.functions.signature({"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_powertools_base64(self, value: str) -> str:
        return base64.b64decode(value).decode()

    @jmespath.functions.signature({"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_powertools_base64_gzip(self, value: str) -> str:
        try:
            packed = base64.b64decode(value)
        except binascii.Error as error:
            raise ValueError(str(error)) from error
        with gzip.open(io.BytesIO(packed)) as unpacked:
            text = unpacked.read(UNPACKED_BYTES_MAX + 1)
        if len(text) > UNPACKED_BYTES_MAX:
            raise ValueError("it unpacks to too much")
        return text.decode()


_OPTIONS = jmespath.Options(custom_functions=_Functions())
