"""Answers the handler's requests over HTTP: as given, or made up from what the handler reads of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from redrive.core.clock import HOUR_MS
from redrive.prove.calls.calls import Call, Params
from redrive.prove.calls.given import Given
from redrive.prove.calls.requests import KEY_MEMORY_MS, call_of_request, key_of_request
from redrive.prove.play.asked import Way
from redrive.prove.play.running import Passage
from redrive.prove.process.exchange import HttpAnswer, HttpAsked

_TOLD_CHARS_MAX = 120
_JSON = ("content-type", "application/json")
_THROTTLED = HttpAnswer(429, (_JSON, ("retry-after", "1")), b'{"error": "too many requests"}')
_UNAVAILABLE = HttpAnswer(503, (_JSON,), b'{"error": "service unavailable"}')
_BAD_GATEWAY = HttpAnswer(502, (("content-type", "text/html"),), b"<html><body>502 Bad Gateway</body></html>")


@dataclass(slots=True)
class Web:
    """The servers of the world. `guessed` is what answers say that nobody has given."""

    given: Given
    guessed: Callable[[], Mapping[str, object]]
    guesses: dict[str, str] = field(default_factory=dict)
    """What was guessed, for the user."""
    _body: bytes | None = None

    def call_of(self, asked: HttpAsked) -> Call:
        """The call that a request is."""
        memory_ms = self.given.memory_ms(asked)
        call = call_of_request(asked, memory_ms)
        name, _ = key_of_request(asked)
        if name and call.changes and memory_ms is None:
            host = asked.place.partition("/")[0]
            hours = KEY_MEMORY_MS // HOUR_MS
            self.guesses[f"memory of {host}"] = f"it knows a request by its {name} again for {hours} h (key_memory_h)"
        return call

    def answer(self, asked: HttpAsked, call: Call) -> HttpAnswer:
        """The answer where nothing goes wrong."""
        given = self.given.answer(asked)
        if given is not None:
            return given
        if self._body is None:
            self._body = json.dumps(self.guessed()).encode()
        text = self._body.decode()
        said = text if len(text) <= _TOLD_CHARS_MAX else f"{text[:_TOLD_CHARS_MAX]}…"
        self.guesses[f"answer of {call}"] = f"status 200 with {said} (--given FILE says another one)"
        return HttpAnswer(body=self._body)

    def pass_on(self, asked: HttpAsked, call: Call, passage: Passage, *, is_outage: bool) -> HttpAnswer:
        """The answer on a way. Errors: ConnectionRefusedError; TimeoutError if the answer is lost."""
        match passage.way:
            case Way.UNREACHED:
                raise ConnectionRefusedError(111, "Connection refused")
            case Way.REFUSED:
                return self._told(passage, _UNAVAILABLE if is_outage else _THROTTLED)
        answer = self.answer(asked, call)
        if answer.status < 400:
            passage.take_effect({})
        if passage.way is Way.LOST:
            raise TimeoutError("timed out")
        return self._told(passage, _BAD_GATEWAY if passage.way is Way.BAD_GATEWAY else answer)

    @staticmethod
    def _told(passage: Passage, answer: HttpAnswer) -> HttpAnswer:
        passage.answer = told_of(answer)
        passage.outcome = "" if answer.status < 400 else f"status {answer.status}"
        return answer


def told_of(answer: HttpAnswer) -> Params:
    """An answer as a document of plain values."""
    return {"status": answer.status, "headers": list(answer.headers), "body": answer.body}
