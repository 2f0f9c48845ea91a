"""Answers as botocore reads them; an answer that was read before is known."""

from __future__ import annotations

import functools
import io
import marshal
from dataclasses import dataclass, replace
from typing import cast

import botocore.model
import botocore.parsers
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.response import StreamingBody

from redrive.prove.calls.absent import guessed_answer
from redrive.prove.calls.calls import Params, mapping_of
from redrive.prove.play.asked import ENDPOINT_URL, Asked
from redrive.prove.play.reply import Reply, Told, client_error, told_of
from redrive.wire.message import HttpResponse

_MARSHAL_VERSION = 2  # Later ones write equal values differently, depending on the number of references.
_KEPT_MAX = 4_096
"""How many answers are kept as they were read: most histories repeat answers of others."""


@dataclass(slots=True)
class Reading:
    """An answer, read. `document` is never changed: who changes the answer gets one of his own from `text`.

    `text` is None if the document has dates, files or similar in it: then the answer is read anew each time.
    """

    response: HttpResponse
    document: Params
    text: bytes | None
    told: Told
    code: str
    http: AWSResponse

    @property
    def is_done(self) -> bool:
        """Whether the call has taken effect."""
        return self.response.status < 300

    def reply(self, asked: Asked) -> Reply:
        """What the run is told."""
        return Reply(functools.partial(self._given, asked), self.told, self.code)

    def _given(self, asked: Asked) -> object:
        """The answer, after the steps of botocore that follow the parsing. Errors: ClientError."""
        parsed = self.document if self.text is None else marshal.loads(self.text)  # noqa: S302 - our own.
        asked.client.meta.events.emit(
            asked.after_call, http_response=self.http, parsed=parsed, model=asked.operation, context={}
        )
        if not self.is_done:
            raise client_error(asked, cast("Params", parsed))
        return parsed


class Readings:
    """The answers that were read. An answer that is known is the same object each time."""

    def __init__(self) -> None:
        self._known: dict[int, Reading] = {}

    def of(self, asked: Asked, response: HttpResponse) -> Reading:
        """The answer to a call, read; one that nobody has given may be replaced by one that is made up."""
        known = self._known.get(id(response))
        if known is not None:
            return known
        reading, is_guessed = _reading(asked, response)
        if reading.text is not None and not is_guessed:
            if len(self._known) >= _KEPT_MAX:
                self._known.clear()
            self._known[id(response)] = reading  # The reading has the response: its id is nobody else's.
        return reading


def _reading(asked: Asked, response: HttpResponse) -> tuple[Reading, bool]:
    document = read(asked.operation, response)
    guessed = guessed_answer(asked.call, document, asked.operation.output_shape)
    if guessed is not None:
        asked.guessed()
        document, response = dict(guessed), replace(response, status=200)
    http = AWSResponse(ENDPOINT_URL, response.status, dict(response.headers), io.BytesIO(response.body))
    vars(http)["_content"] = response.body  # Otherwise it is read by what urllib3 has, and BytesIO has not.
    code = "" if response.status < 300 else str(mapping_of(document.get("Error")).get("Code"))
    return Reading(response, document, plain_text(document), told_of(document), code, http), guessed is not None


def plain_text(document: object) -> bytes | None:
    """The whole content of a document of plain values as text; None for a document with dates, files or similar."""
    try:
        return marshal.dumps(document, _MARSHAL_VERSION)  # type: ignore[arg-type] # It raises for any other type.
    except ValueError:
        return None


def protocol_of(service: botocore.model.ServiceModel) -> str:
    """The protocol that botocore uses for a service. Before 1.35.30 a model named just one."""
    return str(getattr(service, "resolved_protocol", None) or service.metadata["protocol"])


def read(model: botocore.model.OperationModel, response: HttpResponse) -> dict[str, object]:
    """The answer as botocore parses it."""
    parser = _parser(protocol_of(model.service_model))
    document: dict[str, object] = {
        "headers": HeadersDict(dict(response.headers)), "status_code": response.status, "body": response.body,
        "context": {"operation_name": model.name},
    }  # fmt: skip
    is_error = response.status >= 300
    if model.has_streaming_output and not is_error:
        document["body"] = StreamingBody(io.BytesIO(response.body), len(response.body))
    parsed: dict[str, object] = parser.parse(document, model.output_shape)
    code = parsed.get("Error", {}).get("Code") if is_error else None  # type: ignore[attr-defined]
    shape = model.service_model.shape_for_error_code(code) if code else None
    if shape is not None:
        parsed.update(parser.parse(document, shape))
    return parsed


@functools.cache
def _parser(protocol: str) -> botocore.parsers.ResponseParser:
    return botocore.parsers.create_parser(protocol)
