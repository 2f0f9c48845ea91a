"""What the user has given for a proof (`--given FILE`): what is there beforehand, and the answers over HTTP.

rows:
  orders:
    - {id: o-1, total: 12}
objects:
  - {bucket: inbox, key: a.csv, body: "id,total"}
  - {bucket: inbox, key: b.csv, file: b.csv, tags: {state: new}, metadata: {version: "2"}}
messages:
  jobs: [{id: job-1}]
secrets:
  db-password: {username: app, password: secret}
parameters:
  /app/region: eu
answers:
  - call: rds DescribeDBSnapshots
    answer: {DBSnapshots: [{Status: available}]}
http:
  - request: POST https://api.example.com/charges*
    status: 201
    headers: {x-region: eu}
    body: {id: ch_1}
    key_memory_h: 720
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from redrive.core.clock import HOUR_MS
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.prove.calls.calls import mapping_of
from redrive.prove.process.exchange import Header, HttpAnswer, HttpAsked

_MEMBERS = frozenset({"request", "status", "headers", "body", "key_memory_h"})
_HOW = "An answer is written as {request: 'POST https://api.example.com/charges*', status: 201, body: {id: ch_1}}."
_HOWS = {
    "rows": "Rows are written as rows: {orders: [{id: o-1, total: 12}]}.",
    "objects": "An object is written as {bucket: inbox, key: a.csv, body: 'id,total'}, or with file: for body:.",
    "secrets": "Secrets are written as secrets: {db-password: {username: app, password: x}}.",
    "parameters": "Parameters are written as parameters: {/app/region: eu}.",
    "messages": "Messages of a queue are written as messages: {jobs: [{id: job-1}]}.",
    "answers": "An answer is written as {call: rds DescribeDBSnapshots, answer: {DBSnapshots: [{Status: available}]}}.",
    "http": _HOW,
}
_SECTIONS_TOLD = "the sections rows, objects, messages, secrets, parameters, answers and http"


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """The answer to the requests whose method and URL match a pattern.

    `memory_ms`: how long the API knows their keys again.
    """

    pattern: str
    answer: HttpAnswer | None
    """None if only the memory is given."""
    memory_ms: int | None = None

    def matches(self, asked: HttpAsked) -> bool:
        """Whether it is meant for a request."""
        return fnmatch.fnmatchcase(f"{asked.method} {asked.url}", self.pattern)


@dataclass(frozen=True, slots=True)
class GivenObject:
    """An object of S3 that is there beforehand."""

    bucket: str
    key: str
    body: bytes
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GivenReply:
    """Members of the answer to an operation of a service that the engine does not have; the rest is made up."""

    service: str
    operation: str
    members: Mapping[str, object]
    is_partial: bool = False
    """Whether lists in it have further members, which are made up."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is given. `document` is what was read, for a test that plays a history again.

    Rows stand as plain values, by the name of their table. A parameter whose value is a list is a StringList.
    """

    http: tuple[GivenAnswer, ...] = ()
    document: Mapping[str, object] = field(default_factory=dict)
    rows: Mapping[str, tuple[Document, ...]] = field(default_factory=dict)
    objects: tuple[GivenObject, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    replies: tuple[GivenReply, ...] = ()
    messages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The bodies of messages, by the names of the queues that a handler itself receives from."""

    @property
    def is_furnishing(self) -> bool:
        """Whether something is there beforehand."""
        return bool(self.rows or self.objects or self.secrets or self.parameters or self.messages)

    def answer(self, asked: HttpAsked) -> HttpAnswer | None:
        """The first answer that matches; None if there is none."""
        return next((one.answer for one in self.http if one.answer is not None and one.matches(asked)), None)

    def reply(self, service: str, operation: str) -> GivenReply | None:
        """What is given of the answer to an operation; None if nothing is."""
        return next((one for one in self.replies if (one.service, one.operation) == (service, operation)), None)

    def memory_ms(self, asked: HttpAsked) -> int | None:
        """How long the API knows the key of a request; None if it is not said."""
        return next((one.memory_ms for one in self.http if one.memory_ms is not None and one.matches(asked)), None)


NOTHING_GIVEN = Given()


def read_given(file: Path) -> Given:
    """What a file in JSON or YAML gives. Errors: UserError."""
    try:
        document = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The file {file} cannot be read: {error}.", exit_code=2) from error
    except yaml.YAMLError as error:
        raise UserError(f"The file {file} is neither JSON nor YAML: {error}", exit_code=2) from error
    return given_of(document, file.parent)


def given_of(document: object, folder: Path = Path()) -> Given:
    """What a document gives; the files that it names are in a folder. Errors: UserError."""
    sections = mapping_of(document)
    if not sections:
        raise _wrong(f"What is given is an object with {_SECTIONS_TOLD}.", "http")
    unknown = sorted(set(sections) - _HOWS.keys())
    if unknown:
        raise _wrong(f"What is given has no section {unknown[0]!r}, but {_SECTIONS_TOLD}.", "http")
    return Given(
        tuple(_answer(mapping_of(one)) for one in _list(sections, "http")),
        sections,
        {str(table): _rows(str(table), rows) for table, rows in _object(sections, "rows").items()},
        tuple(_given_object(one, folder) for one in _list(sections, "objects")),
        {str(name): _text(value) for name, value in _object(sections, "secrets").items()},
        {str(name): _parameter(str(name), value) for name, value in _object(sections, "parameters").items()},
        tuple(_reply(mapping_of(one)) for one in _list(sections, "answers")),
        {str(queue): _messages(str(queue), listed) for queue, listed in _object(sections, "messages").items()},
    )


def _list(sections: Mapping[str, object], name: str) -> Sequence[object]:
    """A section that is a list. Errors: UserError."""
    section = sections.get(name, [])
    if not isinstance(section, list):
        raise _wrong(f"The section {name} is a list, and not {_kind(section)}.", name)
    return section


def _object(sections: Mapping[str, object], name: str) -> Mapping[str, object]:
    """A section that is an object. Errors: UserError."""
    section = sections.get(name, {})
    if not isinstance(section, dict):
        raise _wrong(f"The section {name} is an object, and not {_kind(section)}.", name)
    return section


def _rows(table: str, rows: object) -> tuple[Document, ...]:
    if not isinstance(rows, list):
        raise _wrong(f"The rows of {table} are a list of objects, and not {_kind(rows)}.", "rows")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not row:
            raise _wrong(f"Row {number + 1} of {table} is {_kind(row)}, and no object with attributes.", "rows")
    return tuple(rows)


def _messages(queue: str, listed: object) -> tuple[str, ...]:
    if not isinstance(listed, list):
        raise _wrong(f"The messages of {queue} are a list, and not {_kind(listed)}.", "messages")
    return tuple(map(_text, listed))


def _given_object(one: object, folder: Path) -> GivenObject:
    members = mapping_of(one)
    unknown = sorted(set(members) - {"bucket", "key", "body", "file", "tags", "metadata"})
    if unknown:
        raise _wrong(f"A given object has no member {unknown[0]!r}.", "objects")
    for name in ("bucket", "key"):
        if not isinstance(members.get(name), str) or not members[name]:
            raise _wrong(f"A given object has no {name}: {one!r}.", "objects")
    bucket, key = str(members["bucket"]), str(members["key"])
    if ("body" in members) == ("file" in members):
        raise _wrong(f"The object {bucket}/{key} has either a body or a file.", "objects")
    tags, metadata = (
        {str(each): _text(value) for each, value in mapping_of(members.get(name)).items()}
        for name in ("tags", "metadata")
    )
    if "body" in members:
        return GivenObject(bucket, key, _text(members["body"]).encode(), tags, metadata)
    file = folder / str(members["file"])
    try:
        return GivenObject(bucket, key, file.read_bytes(), tags, metadata)
    except OSError as error:
        raise UserError(
            f"The file {file} of the object {bucket}/{key} cannot be read: {error}.", exit_code=2
        ) from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _parameter(name: str, value: object) -> str | tuple[str, ...]:
    if isinstance(value, list):
        return tuple(map(str, value))
    if value is None or value == "":
        raise _wrong(f"The parameter {name} has no value.", "parameters")
    return _text(value)


def _reply(one: Mapping[str, object]) -> GivenReply:
    service, _, operation = str(one.get("call", "")).partition(" ")
    members = one.get("answer")
    if not operation or not isinstance(members, dict) or set(one) != {"call", "answer"}:
        raise _wrong(f"{one!r} is no answer to a call.", "answers")
    return GivenReply(service, operation, members)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), "empty" if value is None else type(value).__name__)


def _wrong(what: str, section: str) -> UserError:
    return UserError(what, next_step=_HOWS[section], exit_code=2)


def _answer(one: Mapping[str, object]) -> GivenAnswer:
    method, _, url = str(one.get("request", "")).partition(" ")
    hours = one.get("key_memory_h")
    status = one.get("status", 200)
    unknown = sorted(set(one) - _MEMBERS)
    if unknown:
        raise UserError(f"A given answer has no member {unknown[0]!r}.", next_step=_HOW, exit_code=2)
    if not url.startswith(("http://", "https://", "*")):
        raise UserError(f"{one.get('request')!r} is no method and URL.", next_step=_HOW, exit_code=2)
    if not isinstance(status, int) or not 200 <= status <= 599:
        raise UserError(f"{status!r} is no status of an answer.", next_step="Give one from 200 to 599.", exit_code=2)
    if hours is not None and (not isinstance(hours, int | float) or hours < 0):
        raise UserError(f"key_memory_h is a number of hours, and not {hours!r}.", next_step=_HOW, exit_code=2)
    says = bool({"status", "headers", "body"} & one.keys()) or hours is None
    answer = HttpAnswer(status, _headers(one), _body(one.get("body", {}))) if says else None
    return GivenAnswer(f"{method.upper()} {url}", answer, None if hours is None else int(hours * HOUR_MS))


def _headers(one: Mapping[str, object]) -> tuple[Header, ...]:
    given = {str(name).lower(): str(value) for name, value in mapping_of(one.get("headers")).items()}
    kind = "text/plain; charset=utf-8" if isinstance(one.get("body"), str) else "application/json"
    return tuple(({"content-type": kind} | given).items())


def _body(body: object) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body, default=str).encode()
