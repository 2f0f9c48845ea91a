"""A sample request to an API, as the event of a function: with the route, the keys and the method that the code names.

Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html and
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redrive.core.documents import Document, dump_json
from redrive.prove.guess.reading import EventPath, Reading, nodes_of, parsed
from redrive.prove.guess.record_samples import sample_object
from redrive.prove.guess.samples import is_numbers_name, text_for

REQUEST_ID = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"
"""The id of the request, which a second attempt of the client changes."""
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_METHODS = (*_CHANGING, "GET")
_ONLY_V2: Sequence[EventPath] = (
    ("requestContext", "http"), ("rawPath",), ("rawQueryString",), ("routeKey",), ("cookies",), ("version",),
)  # fmt: skip
_V2_CLASSES = (
    "APIGatewayHttpResolver",
    "LambdaFunctionUrlResolver",
    "APIGatewayProxyEventV2",
    "LambdaFunctionUrlEvent",
)
_PARAMETER = re.compile(r"[<{]([A-Za-z_][A-Za-z0-9_]*)\+?[>}]")
_AT = {"time": "01/Jan/2025:00:00:00 +0000", "epoch": 1735689600000}


@dataclass(frozen=True, slots=True)
class Route:
    """A route of an API: `/orders/{id}`."""

    method: str
    path: str


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """The event of a request, and what was guessed of it."""

    event: Document
    guesses: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The event as JSON."""
        return dump_json(self.event)


def sample_request(
    reading: Reading | None, file: Path | None, route: Route | None = None, *, is_v2: bool | None = None
) -> SampleRequest:  # fmt: skip
    """A request that fits the handler: to this route, or to the first one of its code that changes something."""
    known = Reading() if reading is None else reading
    own = None if file is None else _own_route(file)
    named = route or (None if own is None else own.route)
    method = _method(known) if named is None else named.method
    parts, guesses = _parts(known)
    if own is not None and own.body:
        parts["body"] = {**{name: _value(name) for name in own.body}, **parts.get("body", {})}
    template = "/sample" if named is None else _PARAMETER.sub(r"{\1}", named.path)
    parameters = {
        **{name: text_for(name) for name in _PARAMETER.findall(template)}, **parts.get("pathParameters", {})
    }  # fmt: skip
    if named is None and parameters:
        template = "/sample/" + "/".join(f"{{{name}}}" for name in parameters)
    path = _PARAMETER.sub(lambda found: str(parameters.get(found[1], found[1])), template)
    new = _is_v2(known) if is_v2 is None else is_v2
    asked = _Asked(method, path, template, parameters, parts)
    event = _event_v2(asked) if new else _event_v1(asked)
    told = f"{method} {path}, payload format {'2.0' if new else '1.0'}"
    return SampleRequest(event, {"request": told, **guesses})


def request_of(document: object) -> Document | None:
    """What was given, if it is the event of a request."""
    if not isinstance(document, dict):
        return None
    return document if isinstance(document.get("requestContext"), dict) else None


def with_body(sample: SampleRequest, body: object) -> SampleRequest:
    """The sample with another body: JSON, or a text."""
    text = body if isinstance(body, str) else dump_json(body)
    return SampleRequest(sample.event | {"body": text}, sample.guesses)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The parts of a request. `template` is the path with its parameters' names."""

    method: str
    path: str
    template: str
    parameters: Mapping[str, object]
    parts: Mapping[str, Document]

    @property
    def headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "host": "api.example.com", "user-agent": "sample/1.0"}
        return headers | {name: str(value) for name, value in self.parts.get("headers", {}).items()}

    @property
    def query(self) -> dict[str, str] | None:
        found = {name: str(value) for name, value in self.parts.get("queryStringParameters", {}).items()}
        return found or None

    @property
    def body(self) -> str | None:
        return dump_json(self.parts.get("body") or {"id": "sample-1"}) if self.method in _CHANGING[:3] else None


def _event_v1(asked: _Asked) -> Document:
    context: Document = {
        "accountId": "000000000000", "apiId": "sample", "domainName": "api.example.com", "domainPrefix": "api",
        "extendedRequestId": "Wf3kRGzQoAMFxQw=", "httpMethod": asked.method,
        "identity": {"sourceIp": "192.0.2.10", "userAgent": "sample/1.0"}, "path": f"/prod{asked.path}",
        "protocol": "HTTP/1.1", "requestId": REQUEST_ID, "requestTime": _AT["time"], "requestTimeEpoch": _AT["epoch"],
        "resourceId": "sample", "resourcePath": asked.template, "stage": "prod",
    }  # fmt: skip
    query = asked.query
    return {
        "resource": asked.template, "path": asked.path, "httpMethod": asked.method, "headers": asked.headers,
        "multiValueHeaders": {name: [value] for name, value in asked.headers.items()},
        "queryStringParameters": query,
        "multiValueQueryStringParameters": query and {name: [value] for name, value in query.items()},
        "pathParameters": dict(asked.parameters) or None, "stageVariables": None,
        "requestContext": _merged(context, asked.parts.get("requestContext", {})), "body": asked.body,
        "isBase64Encoded": False,
    }  # fmt: skip


def _event_v2(asked: _Asked) -> Document:
    key = f"{asked.method} {asked.template}"
    context: Document = {
        "accountId": "000000000000", "apiId": "sample", "domainName": "api.example.com", "domainPrefix": "api",
        "http": {
            "method": asked.method, "path": asked.path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.10",
            "userAgent": "sample/1.0",
        },
        "requestId": REQUEST_ID, "routeKey": key, "stage": "$default", "time": _AT["time"], "timeEpoch": _AT["epoch"],
    }  # fmt: skip
    query = asked.query
    event: Document = {
        "version": "2.0", "routeKey": key, "rawPath": asked.path,
        "rawQueryString": "&".join(f"{name}={value}" for name, value in (query or {}).items()),
        "headers": asked.headers, "isBase64Encoded": False,
        "requestContext": _merged(context, asked.parts.get("requestContext", {})),
    }  # fmt: skip
    if query:
        event["queryStringParameters"] = query
    if asked.parameters:
        event["pathParameters"] = dict(asked.parameters)
    if asked.body is not None:
        event["body"] = asked.body
    return event


def _merged(known: Document, read: Document) -> Document:
    """What is known, with what the handler reads besides."""
    both = {
        name: _merged(known[name], read[name]) for name in known.keys() & read.keys() if _are_objects(known, read, name)
    }
    return {**read, **known, **both}


def _are_objects(known: Document, read: Document, name: str) -> bool:
    return isinstance(known[name], dict) and isinstance(read[name], dict)


_READ_PARTS = ("body", "pathParameters", "queryStringParameters", "headers", "requestContext")


def _parts(reading: Reading) -> tuple[dict[str, Document], dict[str, str]]:
    """The members of the event that have keys, as far as the handler reads them."""
    parts: dict[str, Document] = {}
    guesses: dict[str, str] = {}
    for name in _READ_PARTS:
        made, added = sample_object(reading, (name,))
        if made:
            parts[name] = made
            if name != "requestContext":
                guesses |= {f"{one} of the request's {name}": why for one, why in added.items()}
    return parts, guesses


def _method(reading: Reading) -> str:
    """The method that the code compares with; of several the one that changes most."""
    named = [
        text.upper()
        for path in (("httpMethod",), ("requestContext", "http", "method"), ("requestContext", "httpMethod"))
        for text in reading.compared.get(path, ())
    ]
    return next((one for one in _METHODS if one in named), "POST")


def _is_v2(reading: Reading) -> bool:
    if reading.data_class in _V2_CLASSES:
        return True
    return any(path[: len(prefix)] == prefix for path in reading.paths for prefix in _ONLY_V2)


@dataclass(frozen=True, slots=True)
class _OwnRoute:
    """A route of the code, and the keys of the body that it reads."""

    route: Route
    body: tuple[str, ...]


def _own_route(file: Path) -> _OwnRoute | None:
    """The route of a resolver of Powertools that changes most: `@app.post("/orders")`; None if there is none."""
    tree = parsed(file)
    routes = [] if tree is None else list(_routes(tree))
    return min(routes, key=lambda one: _METHODS.index(one.route.method), default=None)


def _routes(tree: ast.Module) -> Iterator[_OwnRoute]:
    for node in nodes_of(tree):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ():
            match decorator:
                case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Constant(value=str(path)), *_]) if (
                    attr.upper() in _METHODS and path.startswith("/")
                ):
                    yield _OwnRoute(Route(attr.upper(), path), tuple(dict.fromkeys(_keys_of_body(node))))
                case _:
                    pass


def _keys_of_body(function: ast.AST) -> Iterator[str]:
    """The keys that a function reads of `app.current_event.json_body`."""
    names = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(_is_body(one) for one in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=str(key))) if _is_of(value, names):
                yield key
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[ast.Constant(value=str(key)), *_]) if (
                _is_of(value, names)
            ):
                yield key
            case _:
                pass


def _is_of(node: ast.expr, names: set[str]) -> bool:
    return _is_body(node) or (isinstance(node, ast.Name) and node.id in names)


def _is_body(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "json_body"


def _value(name: str) -> object:
    return 1 if is_numbers_name(name) else text_for(name)
