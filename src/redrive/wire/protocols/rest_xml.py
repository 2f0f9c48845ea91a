"""REST with XML, as S3 speaks it: members in the path, the query string, the headers and the body.

Source: https://smithy.io/2.0/aws/protocols/aws-restxml-protocol.html and
https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from redrive.core.documents import PlacedList
from redrive.core.errors import Bug, ServiceError
from redrive.delivery.bodies import Content, Received
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import Member, OperationModel, ServiceModel, Shape
from redrive.wire.protocols import header_text, scalars, timestamps
from redrive.wire.protocols.bindings import HeadInputs, HeadOutputs, head_inputs, head_outputs
from redrive.wire.protocols.codec import refuse_members
from redrive.wire.protocols.s3_errors import XML_HEAD, XML_TYPE, S3Errors, ids_of, malformed_xml
from redrive.wire.protocols.xml_body import Write, XmlWriter, element
from redrive.wire.protocols.xml_read import Element, MalformedDocument, XmlReader, parse
from redrive.wire.s3_body import received_of
from redrive.wire.s3_declared import check_declared

_PARTIAL = 206
_LENGTH = "Content-Length"
_TYPE = "Content-Type"
_BYTES = (_TYPE, "binary/octet-stream")
_JSON = (_TYPE, "application/json")
_IN_URL = "x-amz-"
_CHECKSUM = "x-amz-checksum-crc32"
_CHECKSUMS = ("x-amz-checksum-", "x-amz-sdk-checksum-")
_OF_SIGNATURES = frozenset(
    {
        "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signature", "x-amz-signedheaders",
        "x-amz-content-sha256", "x-amz-security-token",
    }
)  # fmt: skip
"""The parameters of a presigned URL that are no headers of the operation."""

_OWNERS = frozenset({"x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"})
_ACCOUNT_DIGITS = 12

_IGNORED_IF_WRONG = frozenset({"if-modified-since", "if-unmodified-since"})
"""A date that nobody can read is as good as none.

Source: https://www.rfc-editor.org/rfc/rfc9110#section-13.1.3
"""

ReadBody = Callable[[HttpRequest, Mapping[str, str]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _InputPlan:
    """How an input is read: the members of the head, and the body."""

    head: HeadInputs
    body: ReadBody


@dataclass(frozen=True, slots=True)
class _OutputPlan:
    """How an output is written. `write_body` appends the document's markup; None if the body is no document."""

    head: HeadOutputs
    payload: Member | None
    write_body: Write | None


class RestXmlCodec(S3Errors):
    """The Codec of REST with XML for one service."""

    def __init__(self, service: ServiceModel) -> None:
        super().__init__(service)
        self._reader = XmlReader(_scalar_reader)
        self._writer = XmlWriter(timestamps.ISO_8601_MS)
        self._inputs: dict[str, _InputPlan] = {}
        self._outputs: dict[str, _OutputPlan] = {}

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec. A body that may be large is a `Received`. Errors: also MalformedXML; those of declared digests."""
        if operation.input is None:
            return {}
        plan = self._inputs.get(operation.name)
        if plan is None:
            plan = self._inputs[operation.name] = self._compile_input(operation, operation.input)
        headers = request.headers if _IN_URL not in request.query.lower() else _with_url(request)
        params = plan.body(request, headers)
        plan.head.read(params, request.query, headers, path_params)
        if None in params.values():
            return {name: value for name, value in params.items() if value is not None}
        return params

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec. A body of `Content` goes on as it is, with its length in the head."""
        headers = ids_of(request_id)
        if operation.output is None:
            refuse_members(operation, result)
            return HttpResponse(operation.success_status, tuple(headers), b"")
        plan = self._outputs.get(operation.name)
        if plan is None:
            plan = self._outputs[operation.name] = self._compile_output(operation, operation.output)
        is_partial = "ContentRange" in result  # No model says that S3 answers 206 with it.
        usual = _PARTIAL if is_partial else operation.success_status
        status, members = plan.head.take(result, headers, usual)
        if plan.payload is not None and plan.write_body is None:
            return _of_bytes(plan.payload, operation.output, headers, status, members)
        if plan.write_body is None:
            for name in members:
                operation.output.refuse_member(name)
            return HttpResponse(status, tuple(headers), b"")
        out = [XML_HEAD]
        plan.write_body(out, members)
        return HttpResponse(status, (*headers, XML_TYPE), "".join(out).encode())

    # Inputs.

    def _compile_input(self, operation: OperationModel, shape: Shape) -> _InputPlan:
        return _InputPlan(head_inputs(shape, _head_reader, _list_reader), self._body_reader(operation, shape))

    def _body_reader(self, operation: OperationModel, shape: Shape) -> ReadBody:
        if shape.payload is None:
            if all(member.location is not None for member in shape.members.values()):
                return lambda _request, _headers: {}
            return _document_reader(operation, shape, None, self._reader.structure(shape))
        member = shape.members[shape.payload]
        name = member.name
        match member.shape.type:
            case "blob":
                return lambda request, headers: {name: received_of(request, headers)}
            case "string":
                return lambda request, headers: {name: _text_body(request, headers)}
            case "structure":
                return _document_reader(operation, shape, member, self._reader.structure(member.shape))
            case kind:
                raise Bug(f"{shape.name}.{name} is a {kind}, which is no body of this protocol")

    # Outputs.

    def _compile_output(self, operation: OperationModel, shape: Shape) -> _OutputPlan:
        if any(member.shape.is_event_stream for member in shape.members.values()):
            raise Bug(f"{operation.name} answers with an event stream, which this protocol does not write at once")
        head = head_outputs(shape, _head_writer)
        payload = shape.members[shape.payload] if shape.payload is not None else None
        if payload is None:
            has_document = any(member.location is None for member in shape.members.values())
            write = self._root(operation, shape) if has_document else None
            return _OutputPlan(head, None, write)
        if payload.shape.type != "structure":
            return _OutputPlan(head, payload, None)
        inner = self._in_root(payload.location_name, self._writer.structure(payload.shape))
        name = payload.name

        def write_payload(out: list[str], members: Mapping[str, Any]) -> None:
            for other in members.keys() - {name}:
                shape.refuse_member(other)
            inner(out, members.get(name) or {})

        return _OutputPlan(head, payload, write_payload)

    def _root(self, operation: OperationModel, shape: Shape) -> Write:
        spec = self._service.spec
        name = spec.root_elements.get(operation.name, f"{operation.name}Result")
        if operation.name not in spec.unwrapped_outputs:
            return self._in_root(name, self._writer.structure(shape))
        only = next(member for member in shape.members.values() if member.location is None)
        head = f'{name} xmlns="{self._service.xml_namespace}"'

        def write(out: list[str], members: Mapping[str, Any]) -> None:
            """Write the only member as the text of the root."""
            for other in members.keys() - {only.name}:
                shape.refuse_member(other)
            out.append(element(head, members.get(only.name) or "").replace(f"</{head}>", f"</{name}>"))

        return write

    def _in_root(self, name: str, inner: Write) -> Write:
        head, end = f'<{name} xmlns="{self._service.xml_namespace}">', f"</{name}>"

        def write(out: list[str], members: Mapping[str, Any]) -> None:
            out.append(head)
            placed = [name for name, value in members.items() if type(value) is PlacedList]
            if placed:
                _write_placed(inner, out, members, placed)
            else:
                inner(out, members)
            out.append(end)

        return write


def _write_placed(inner: Write, out: list[str], members: Mapping[str, Any], placed: list[str]) -> None:
    """Write a document some of whose lists stand among each other: their elements by their places, then the rest."""
    elements = [(at, name, one) for name in placed for at, one in zip(members[name].places, members[name], strict=True)]
    for _, name, one in sorted(elements, key=lambda element: element[0]):
        inner(out, {name: [one]})
    inner(out, {name: value for name, value in members.items() if name not in placed})


def _document_reader(
    operation: OperationModel, shape: Shape, payload: Member | None, read: Callable[[Element], dict[str, Any]]
) -> ReadBody:
    """The function for a body that is a document. Its members are those of `payload`, or the input's own."""
    root = "" if payload is None else payload.location_name
    is_required = payload is not None and payload.name in shape.required
    malformed = _malformed_acl if root == "AccessControlPolicy" else malformed_xml
    needs_digest = operation.name == "DeleteObjects"
    # The checksums that CompleteMultipartUpload brings are the object's.
    is_of_object = any(member.location_name == _CHECKSUM for member in shape.members.values())

    def read_body(request: HttpRequest, headers: Mapping[str, str]) -> dict[str, Any]:
        body = request.body
        if not is_of_object:
            check_declared(headers, body, is_needed=needs_digest)
        if not body:
            if is_required:
                raise ServiceError("MissingRequestBodyError", "Request Body is empty", http_status=400)
            return {}
        try:
            document = parse(body)
            if root and document.name != root:
                raise malformed()
            found = read(document)
        except MalformedDocument:
            raise malformed() from None
        return found if payload is None else {payload.name: found}

    return read_body


def _of_bytes(
    payload: Member, shape: Shape, headers: list[tuple[str, str]], status: int, members: dict[str, Any]
) -> HttpResponse:
    """An answer whose body is bytes, a text or `Content`, with its length: in process nobody else says it."""
    body = members.pop(payload.name, None)
    for name in members:
        shape.refuse_member(name)
    names = [name for name, _ in headers]
    if _TYPE not in names:
        headers.append(_JSON if payload.shape.type == "string" else _BYTES)
    match body:
        case Content():
            return HttpResponse(status, _with_length(headers, names, body.size), b"", body)
        case None:
            sent = b""
        case str():
            sent = body.encode()
        case Received(content=bytes() as content):
            sent = content
        case _:
            sent = bytes(body)
    return HttpResponse(status, _with_length(headers, names, len(sent)), sent)


def _with_length(headers: list[tuple[str, str]], names: list[str], length: int) -> tuple[tuple[str, str], ...]:
    """The headers with the length of the body. `names` are those of the members, in the same order."""
    pair = (_LENGTH, str(length))
    if _LENGTH in names:
        headers[names.index(_LENGTH)] = pair
    else:
        headers.append(pair)
    return tuple(headers)


def _text_body(request: HttpRequest, headers: Mapping[str, str]) -> str | None:
    """The body of an operation whose body is a text, such as a policy."""
    check_declared(headers, request.body, is_needed=False)
    return request.body.decode("utf-8", "replace") or None


def _with_url(request: HttpRequest) -> dict[str, str]:
    """The headers of a request, with those that its presigned URL has as parameters; headers take precedence.

    Checksums in a URL declare nothing: the SDK for JavaScript writes that of an empty body into each URL for a PUT.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html and, for checksums,
    https://github.com/aws/aws-sdk-go-v2/issues/2610
    """
    headers = dict(request.headers)
    for name, value in parse_qsl(request.query, keep_blank_values=True):
        key = name.lower()
        if key.startswith(_IN_URL) and key not in _OF_SIGNATURES and not key.startswith(_CHECKSUMS):
            headers.setdefault(key, value)
    return headers


def _malformed_acl() -> ServiceError:
    return ServiceError("MalformedACLError", malformed_xml().message, http_status=400)


# Scalars.


def _scalar_reader(member: Member) -> scalars.ReadText:
    """The function for a scalar in a document: any wrong value makes the document malformed."""
    read = scalars.reader(member)
    if member.shape.type == "string":
        return read

    def read_text(text: str) -> Any:
        try:
            return read(text.strip())
        except ServiceError as error:
            raise MalformedDocument(error.message) from None

    return read_text


def _head_reader(member: Member) -> scalars.ReadText:
    """The function for a scalar in the head. A wrong value is named; an empty one, if it is no text, is left out."""
    wire_name = member.location_name
    if wire_name in _OWNERS:
        return _owner
    if member.shape.type == "string":
        # The values of user metadata are parts of a map, and have no location of their own.
        return header_text.read_text if member.location in ("header", None) else str
    read = scalars.reader(member)
    is_ignored = wire_name.lower() in _IGNORED_IF_WRONG

    def read_text(text: str) -> Any:
        if not text:
            return None
        try:
            return read(text)
        except ServiceError:
            if is_ignored:
                return None
            raise _invalid(member, text) from None

    return read_text


def _owner(text: str) -> str:
    if not (len(text) == _ACCOUNT_DIGITS and text.isascii() and text.isdigit()):
        message = f"The value of the expected bucket owner parameter must be an AWS Account ID... [{text}]"
        raise ServiceError("InvalidBucketOwnerAWSAccountID", message, http_status=400)
    return text


def _invalid(member: Member, text: str) -> ServiceError:
    if member.shape.type in {"integer", "long"}:
        message = f"Provided {member.location_name} not an integer or within integer range"
    else:
        message = f"Invalid value for {member.location_name}"
    members = {"ArgumentName": member.location_name, "ArgumentValue": text}
    return ServiceError("InvalidArgument", message, http_status=400, members=members)


def _list_reader(member: Member) -> scalars.ReadText:
    """The function for a header with several values, divided by commas."""
    read = scalars.reader(member.shape.element)
    return lambda text: [read(part.strip()) for part in text.split(",")]


def _expires(value: Any) -> str:
    """The header Expires: the text that the object has, or the instant of `response-expires`."""
    return header_text.write_text(value) if isinstance(value, str) else timestamps.write_text(value, timestamps.RFC_822)


def _head_writer(member: Member) -> scalars.WriteText:
    """The function that writes a scalar as a header."""
    if member.location_name == "Expires":
        return _expires
    if member.shape.type == "string":
        return header_text.write_text
    return scalars.writer(member, timestamps.RFC_822)
