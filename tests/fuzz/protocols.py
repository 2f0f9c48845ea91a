"""Parameters, whatever they are, as a request of each protocol: no check of a client stands in between."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from typing import cast
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

from redrive.wire.message import HttpRequest
from redrive.wire.model.shapes import Member, OperationModel, ServiceModel, Shape
from tests.fuzz.values import Draw, Literal, Moment

HOST = "127.0.0.1:4566"
ACCOUNT = "000000000000"
FORM = "application/x-www-form-urlencoded; charset=utf-8"


def request_of(
    service: ServiceModel, operation: OperationModel, protocol: str, params: Mapping[str, object], draw: Draw
) -> HttpRequest:
    """The request that says these parameters in this protocol."""
    headers = {"host": HOST, **_signed(service)}
    match protocol:
        case "json":
            target = f"{service.spec.target_prefix}.{operation.name}"
            headers |= {"x-amz-target": target, "content-type": f"application/x-amz-json-{service.json_version}"}
            return HttpRequest("POST", "/", "", headers, json_bytes(params, draw))
        case "aws-cbor":
            target = f"{service.spec.target_prefix}.{operation.name}"
            headers |= {"x-amz-target": target, "content-type": f"application/x-amz-cbor-{service.json_version}"}
            return HttpRequest("POST", "/", "", headers, cbor_bytes(params, draw))
        case "query":
            fields = {"Action": operation.name, "Version": service.api_version}
            if operation.input is not None:
                for name, value in params.items():
                    fields |= _fields(operation.input.members.get(name), name, value)
            return HttpRequest("POST", "/", "", headers | {"content-type": FORM}, _form(fields))
        case "smithy-rpc-v2-cbor":
            headers |= {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}
            path = f"/service/{service.spec.target_prefix}/operation/{operation.name}"
            return HttpRequest("POST", path, "", headers, cbor_bytes(params, draw))
        case _:
            return _rest(operation, params, headers, draw)


def json_bytes(value: object, draw: Draw) -> bytes:
    """JSON, in which literals stand as they are; halves of surrogate pairs escaped, or as bytes that are not UTF-8."""
    return _json(value, escaped=draw.chance(0.5)).encode("utf-8", "surrogatepass")


def cbor_bytes(value: object, draw: Draw) -> bytes:
    """CBOR with lengths of every kind."""
    match value:
        case None | bool():
            return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
        case Moment():
            return b"\xc1" + cbor_bytes(int(value), draw)
        case int() if -(2**64) <= value < 2**64:
            return _head(0, value, draw) if value >= 0 else _head(1, -1 - value, draw)
        case int():
            raw = abs(value).to_bytes(32, "big")
            return (b"\xc2" if value >= 0 else b"\xc3") + _head(2, len(raw), draw) + raw
        case float():
            return b"\xfb" + struct.pack(">d", value)
        case Literal(text):
            return draw.one_of(
                b"\xff", b"\xf9\x7e\x00", b"\xc1\xfb\x7f\xf0" + bytes(6), b"\xf7", b"\x1c", text.encode()[:40]
            )
        case str():
            raw = value.encode("utf-8", "surrogatepass")
            return _head(3, len(raw), draw) + raw
        case bytes():
            return _head(2, len(value), draw) + value
        case list():
            items = b"".join(cbor_bytes(item, draw) for item in value)
            return b"\x9f" + items + b"\xff" if draw.chance(0.2) else _head(4, len(value), draw) + items
        case dict():
            pairs = b"".join(cbor_bytes(key, draw) + cbor_bytes(item, draw) for key, item in value.items())
            return b"\xbf" + pairs + b"\xff" if draw.chance(0.2) else _head(5, len(value), draw) + pairs
        case _:
            raise TypeError(type(value).__name__)


def as_text(value: object) -> str:
    """A value where only texts can stand."""
    match value:
        case str():
            return value
        case bytes():
            return base64.b64encode(value).decode()
        case bool():
            return str(value).lower()
        case Literal(text):
            return text
        case _:
            return _json(value, escaped=True)


def _signed(service: ServiceModel) -> dict[str, str]:
    scope = f"{ACCOUNT}/20250101/us-east-1/{service.spec.signing_name}/aws4_request"
    return {
        "authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=00",
        "x-amz-date": "20250101T000000Z",
    }


def _json(value: object, *, escaped: bool) -> str:
    match value:
        case dict():
            pairs = (
                f"{json.dumps(str(key), ensure_ascii=escaped)}:{_json(item, escaped=escaped)}"
                for key, item in value.items()
            )
            return "{" + ",".join(pairs) + "}"
        case list():
            return "[" + ",".join(_json(item, escaped=escaped) for item in value) + "]"
        case bytes():
            return json.dumps(base64.b64encode(value).decode())
        case Literal(text):
            return text
        case _:
            return json.dumps(value, ensure_ascii=escaped)


def _head(major: int, length: int, draw: Draw) -> bytes:
    """The head of a CBOR item, in its shortest form or a longer one."""
    sizes = [(24, 0, ""), (2**8, 24, ">B"), (2**16, 25, ">H"), (2**32, 26, ">I"), (2**64, 27, ">Q")]
    fitting = [(code, form) for limit, code, form in sizes if length < limit]
    code, form = fitting[-1] if draw.chance(0.1) else fitting[0]
    return bytes([major << 5 | code]) + struct.pack(form, length) if form else bytes([major << 5 | length])


def _form(fields: Mapping[str, str]) -> bytes:
    return urlencode(fields, errors="surrogatepass").encode()


def _fields(member: Member | None, name: str, value: object) -> dict[str, str]:
    """The fields of a form for one member; what does not fit its shape is written as the value itself would be."""
    shape = member.shape if member is not None else None
    prefix = (member.query_name if member is not None else "") or name
    is_flattened = member is not None and (member.is_flattened or member.shape.is_flattened)
    return _below(shape, prefix, value, is_flattened=is_flattened)


def _below(shape: Shape | None, prefix: str, value: object, *, is_flattened: bool = False) -> dict[str, str]:
    fields: dict[str, str] = {}
    match value:
        case dict() if shape is not None and shape.type == "map":
            key_name, value_name = shape.key.query_name or "key", shape.value.query_name or "value"
            base = prefix if is_flattened else f"{prefix}.entry"
            for index, (key, item) in enumerate(value.items(), 1):
                fields[f"{base}.{index}.{key_name}"] = as_text(key)
                fields |= _below(shape.value.shape, f"{base}.{index}.{value_name}", item)
        case dict():
            for key, item in value.items():
                member = shape.members.get(key) if shape is not None else None
                inner = _fields(member, str(key), item)
                fields |= {f"{prefix}.{name}": text for name, text in inner.items()}
        case list():
            element = shape.element if shape is not None and shape.type == "list" else None
            name = (element.query_name if element is not None else "") or "member"
            base = f"{prefix.rpartition('.')[0]}.{name}".lstrip(".") if is_flattened else f"{prefix}.{name}"
            for index, item in enumerate(value, 1):
                fields |= _below(element.shape if element is not None else None, f"{base}.{index}", item)
            if not value:
                fields[prefix] = ""
        case None:
            pass
        case _:
            fields[prefix] = as_text(value)
    return fields


def _head_text(value: object) -> str:
    return as_text(value).encode("utf-8", "surrogatepass").decode("latin-1")


def xml_bytes(name: str, value: object) -> bytes:
    """XML with the names of members as elements, which are not always the wire's: some fit, and some do not."""
    return _xml(name, value).encode("utf-8", "surrogatepass")


def _xml(name: str, value: object) -> str:
    match value:
        case dict():
            return f"<{name}>{''.join(_xml(as_text(key), item) for key, item in value.items())}</{name}>"
        case list():
            return "".join(_xml(name.removesuffix("s"), item) for item in value)
        case _:
            return f"<{name}>{escape(as_text(value))}</{name}>"


def _rest(operation: OperationModel, params: Mapping[str, object], headers: dict[str, str], draw: Draw) -> HttpRequest:
    path, _, fixed = operation.uri.partition("?")
    query = [fixed] if fixed else []
    members = operation.input.members if operation.input is not None else {}
    payload = operation.input.payload if operation.input is not None else None
    body_members: dict[str, object] = {}
    body = b""
    for name, value in params.items():
        member = members.get(name)
        place, key = (member.location, member.location_name) if member is not None else (None, name)
        match place:
            case "uri":
                label = quote(as_text(value), safe="", errors="surrogatepass")
                path = path.replace(f"{{{key}}}", label).replace(f"{{{key}+}}", label)
            case "querystring":
                values = cast("list[object]", value) if isinstance(value, list) else [value]
                query += [urlencode({key: as_text(item)}, errors="surrogatepass") for item in values]
            case "header":
                headers[key.lower()] = _head_text(value)
            case "headers" if isinstance(value, dict):
                for part, item in value.items():
                    headers[f"{key}{as_text(part)}".lower()] = _head_text(item)
            case _ if name == payload and operation.service == "s3":
                body = value if isinstance(value, bytes) else xml_bytes(key, value)
            case _ if name == payload:
                body = value if isinstance(value, bytes) else json_bytes(value, draw)
            case _:
                body_members[key or name] = value
    if payload is None and (body_members or operation.method in {"POST", "PUT"}):
        body = json_bytes(body_members, draw)
    return HttpRequest(operation.method, path, "&".join(query), {"content-type": "application/json"} | headers, body)
