"""botocore's own serializers and parsers, as the client that the wire has to understand."""

from __future__ import annotations

import functools
import io
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import botocore.handlers
import botocore.loaders
import botocore.model
import botocore.parsers
import botocore.serialize
from botocore.awsrequest import HeadersDict, create_request_object, prepare_request_dict

from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import OWN_DATA
from redrive.wire.services import SERVICES

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXT = "aZ09 _-./:+&=%<>\"'{}äλ→𝄞\t\n"
HEADER_TEXT = "aZ09_-./:+=%"


@functools.cache
def service_model(service: str) -> botocore.model.ServiceModel:
    loader = botocore.loaders.Loader([str(OWN_DATA)])
    return botocore.model.ServiceModel(loader.load_service_model(service, "service-2"), service)


@functools.cache
def _serializer(protocol: str) -> Any:
    return botocore.serialize.create_serializer(protocol, include_validation=False)


@functools.cache
def _parser(protocol: str) -> Any:
    return botocore.parsers.create_parser(protocol)


def operations() -> list[tuple[str, str]]:
    """(service, operation) of every operation of the table."""
    return [(spec.name, name) for spec in SERVICES for name in service_model(spec.name).operation_names]


def http_request(service: str, operation: str, params: Mapping[str, Any]) -> HttpRequest:
    """What botocore sends for a call, signed by name only."""
    model = service_model(service)
    request = _serializer(model.protocol).serialize_to_request(params, model.operation_model(operation))
    prepare_request_dict(request, "http://localhost")
    prepared = create_request_object(request).prepare()
    url = urlsplit(prepared.url)
    headers = {
        name.lower(): value if isinstance(value, str) else value.decode() for name, value in prepared.headers.items()
    }
    headers |= signature(service)
    body = prepared.body or b""
    return HttpRequest(prepared.method, url.path, url.query, headers, body.encode() if isinstance(body, str) else body)


def signature(service: str) -> dict[str, str]:
    """The headers that name a service as SigV4 does."""
    scope = f"AKIDEXAMPLE/20251007/eu-west-1/{service_model(service).signing_name}/aws4_request"
    return {
        "authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=00",
        "x-amz-date": "20251007T153316Z",
    }


def parse(service: str, operation: str, response: HttpResponse) -> dict[str, Any]:
    """What botocore makes of an answer."""
    model = service_model(service)
    operation_model = model.operation_model(operation)
    body = io.BytesIO(response.body) if operation_model.has_streaming_output else response.body
    answer = {"status_code": response.status, "headers": HeadersDict(response.headers), "body": body}
    parsed: dict[str, Any] = _parser(model.protocol).parse(answer, operation_model.output_shape)
    if operation == "GetBucketLocation":
        # The document is one element with a text, which botocore's client reads by a handler.
        botocore.handlers.parse_get_bucket_location(parsed, SimpleNamespace(content=response.body, raw=response.body))
    return parsed


class Draw:
    """Draws values of a shape as the wire has them; `with_datetimes` turns them into what botocore takes."""

    def __init__(self, seed: int, *, has_all: bool = False) -> None:
        """`has_all`: structures have all members that they must have."""
        self._random = random.Random(seed)
        self._has_all = has_all

    def structure(self, shape: botocore.model.StructureShape, depth: int = 0) -> dict[str, Any]:
        names = list(shape.members)
        if not names:
            return {}
        if getattr(shape, "is_tagged_union", False):
            chosen = [self._random.choice(names)]
        else:
            chosen = [name for name in names if self._wants(shape, name, depth)] or [self._random.choice(names)]
        if depth > 6:
            chosen = [name for name in chosen if shape.members[name].type_name not in {"structure", "list", "map"}]
        return {name: self.value(shape.members[name], depth + 1) for name in chosen}

    def _wants(self, shape: botocore.model.StructureShape, name: str, depth: int) -> bool:
        is_label = shape.members[name].serialization.get("location") == "uri"
        return (
            is_label
            or (self._has_all and name in shape.required_members)
            or self._random.random() < (0.7 if depth < 2 else 0.3)
        )

    def value(self, shape: Any, depth: int) -> Any:
        match shape.type_name:
            case "structure":
                return self.structure(shape, depth)
            case "list":
                # A query string cannot say that a list is empty.
                location = shape.serialization.get("location")
                if location == "header":
                    return [self._head_text() for _ in range(self._random.randrange(1, 3))]
                at_least = 1 if location == "querystring" or self._has_all else 0
                return [self.value(shape.member, depth + 1) for _ in range(self._random.randrange(at_least, 3))]
            case "map":
                if shape.serialization.get("location") == "headers":
                    return {f"k{number}": self._head_text() for number in range(self._random.randrange(3))}
                keys = {self.value(shape.key, depth + 1) or "k" for _ in range(self._random.randrange(3))}
                return {key: self.value(shape.value, depth + 1) for key in sorted(keys)}
            case _:
                return self._scalar(shape)

    def _head_text(self) -> str:
        return "".join(self._random.choices(HEADER_TEXT, k=self._random.randrange(1, 9)))

    def _scalar(self, shape: Any) -> Any:
        in_head = shape.serialization.get("location") in {"uri", "header", "querystring"}
        match shape.type_name:
            case "boolean":
                return self._random.random() < 0.5
            case "integer" if shape.serialization.get("location") == "statusCode":
                return self._random.choice([200, 202])
            case "integer":
                return self._random.randrange(-(2**31), 2**31)
            case "long":
                return self._random.randrange(-(2**63), 2**63)
            case "float" | "double":
                return self._random.uniform(-1e6, 1e6)
            case "timestamp":
                drawn = self._random.randrange(0, 4_000_000_000_000)
                return Instant(
                    drawn // 1000 * 1000 if in_head or shape.serialization.get("timestampFormat") == "rfc822" else drawn
                )
            case "blob":
                return self._random.randbytes(self._random.randrange(1, 9))
            case _ if shape.serialization.get("hostLabel"):
                return "a1"
            case _:
                alphabet = HEADER_TEXT if in_head else TEXT
                return "".join(self._random.choices(alphabet, k=self._random.randrange(1 if in_head else 0, 9)))


class Instant(int):
    """A drawn instant: an int to the wire, to be handed to botocore as a datetime."""


def with_datetimes(value: Any) -> Any:
    """A drawn value as botocore's users write it."""
    match value:
        case Instant():
            return EPOCH + timedelta(milliseconds=value)
        case dict():
            return {key: with_datetimes(item) for key, item in value.items()}
        case list():
            return [with_datetimes(item) for item in value]
        case _:
            return value
