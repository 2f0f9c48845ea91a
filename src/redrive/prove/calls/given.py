"""What the user has given for a proof (`--given FILE`): the answers to requests over HTTP.

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
from typing import cast

import yaml

from redrive.core.clock import HOUR_MS
from redrive.core.errors import UserError
from redrive.prove.calls.calls import mapping_of
from redrive.prove.process.exchange import Header, HttpAnswer, HttpAsked

_MEMBERS = frozenset({"request", "status", "headers", "body", "key_memory_h"})
_HOW = "An answer is written as {request: 'POST https://api.example.com/charges*', status: 201, body: {id: ch_1}}."


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
class Given:
    """What is given. `document` is what was read, for a test that plays a history again."""

    http: tuple[GivenAnswer, ...] = ()
    document: Mapping[str, object] = field(default_factory=dict)

    def answer(self, asked: HttpAsked) -> HttpAnswer | None:
        """The first answer that matches; None if there is none."""
        return next((one.answer for one in self.http if one.answer is not None and one.matches(asked)), None)

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
    return given_of(document)


def given_of(document: object) -> Given:
    """What a document gives. Errors: UserError."""
    sections = mapping_of(document)
    if not sections or set(sections) != {"http"} or not isinstance(sections["http"], list):
        raise UserError("What is given has one member: http, a list of answers.", next_step=_HOW, exit_code=2)
    return Given(tuple(_answer(mapping_of(one)) for one in cast("Sequence[object]", sections["http"])), sections)


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
