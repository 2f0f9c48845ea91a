"""Objects that a form brings (POST of multipart/form-data to a bucket): its fields, its policy, and its answer.

    fields, policy, signature, file (the last)  ──►  the request of PutObject  ──►  200, 201, 204 or 303

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTObjectPOST.html and
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from redrive.core.errors import ServiceError
from redrive.delivery.bodies import Received
from redrive.delivery.checksums import digests_of
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel
from redrive.wire.protocols.s3_errors import XML_HEAD, XML_TYPE, malformed_xml
from redrive.wire.protocols.xml_body import element
from redrive.wire.protocols.xml_read import MalformedDocument, parse
from redrive.wire.s3_body import algorithms_asked
from redrive.wire.s3_form_reader import FILE, FormReader

KEY, POLICY, TAGGING = "key", "policy", "tagging"
_TYPE = re.compile(r"multipart/form-data\s*;.*?\bboundary=(?:\"([^\"]{1,200})\"|([^\s;]{1,200}))", re.IGNORECASE)
_HEADERS = ("cache-control", "content-disposition", "content-encoding", "content-type", "expires")
_OF_SIGNATURES = frozenset(
    {"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-security-token", "x-amz-signature"}
)


@dataclass(frozen=True, slots=True)
class PostForm:
    """A form as it was sent. Names of `fields` are in lower case; `bucket` is the request's, and no field.

    `size` is that of the file; None while the file is still coming.
    """

    bucket: str
    fields: Mapping[str, str]
    content: bytes = b""
    size: int | None = None

    @property
    def key(self) -> str:
        """The key of the object."""
        return self.fields[KEY]


def is_form(request: HttpRequest) -> bool:
    """Whether a request may be a form: POST without a query has no other meaning for a bucket."""
    return request.method == "POST" and not request.query


def is_form_type(headers: Mapping[str, str]) -> bool:
    """Whether a request has the type of a form."""
    return _TYPE.match(headers.get("content-type", "")) is not None


def form_reader(headers: Mapping[str, str]) -> FormReader:
    """The reader of a form with these headers. Errors: PreconditionFailed (the request is no form)."""
    match = _TYPE.match(headers.get("content-type", ""))
    if match is None:
        raise ServiceError(
            "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", http_status=412,
            members={"Condition": "Bucket POST must be of the enclosure-type multipart/form-data"},
        )  # fmt: skip
    return FormReader((match[1] or match[2]).encode("latin-1"))


def read_form(request: HttpRequest, bucket: str) -> PostForm:
    """Read the form of a request. The body has no more than the fields, if the file was received before.

    Errors: PreconditionFailed (no form); InvalidArgument; MalformedPOSTRequest; MaxPostPreDataLengthExceeded.
    """
    reader = form_reader(request.headers)
    content = reader.feed(request.body)
    received = request.received
    if received is not None:
        return form_of(reader, bucket, size=received.size)
    reader.finish()
    return form_of(reader, bucket, content, size=len(content))


def form_of(reader: FormReader, bucket: str, content: bytes = b"", *, size: int | None = None) -> PostForm:
    """The form whose fields have been read. Errors: InvalidArgument."""
    if not reader.has_file:
        raise _invalid("POST requires exactly one file upload per request.", FILE, "0")
    if KEY not in reader.fields:
        raise missing_field(KEY)
    key = reader.fields[KEY].replace("${filename}", reader.file_name)
    return PostForm(bucket, reader.fields | {KEY: key}, content, size)


def missing_field(name: str) -> ServiceError:
    """The error for a form without a field."""
    message = (
        f"Bucket POST must contain a field named '{name}'.  If it is specified, please check the order of the fields."
    )
    return _invalid(message, name, "")


def as_put(form: PostForm, request: HttpRequest) -> HttpRequest:
    """The request that puts the same object. Errors: MalformedXML (the tags)."""
    headers = {name: value for name, value in request.headers.items() if name in ("host", "user-agent")}
    headers |= object_headers(form.fields)
    if TAGGING in form.fields:
        headers["x-amz-tagging"] = _tags(form.fields[TAGGING])
    path = f"/{form.bucket}/{quote(form.key, safe='/')}"
    received, content = request.received, form.content
    if received is None:
        received = Received(len(content), content, digests=digests_of(content, algorithms_asked(headers)))
    received = replace(received, is_by_form=True)
    return replace(request, method="PUT", path=path, headers=headers, body=b"", received=received)


def object_headers(fields: Mapping[str, str]) -> dict[str, str]:
    """The headers of the object that a form's fields stand for."""
    headers = {
        name: value.encode().decode("latin-1") for name, value in fields.items()
        if name in _HEADERS or (name.startswith("x-amz-") and name not in _OF_SIGNATURES)
    }  # fmt: skip
    if "acl" in fields:
        headers["x-amz-acl"] = fields["acl"]
    return headers


class FormCodec:
    """The Codec of one form: decodes the request that `as_put` made, and answers as the form wishes."""

    def __init__(self, codec: Any, form: PostForm, base_url: str) -> None:
        self._codec = codec
        self._form = form
        self._base_url = base_url

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec."""
        params: dict[str, Any] = self._codec.decode(operation, request, path_params)
        return params

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """See Codec. A redirect wins over a status; any other status than 200 and 201 is 204."""
        answer: HttpResponse = self._codec.encode(operation, result, request_id)
        fields, form = self._form.fields, self._form
        etag = str(result.get("ETag", ""))
        redirect = fields.get("success_action_redirect") or fields.get("redirect", "")
        if urlsplit(redirect).scheme in ("http", "https"):
            told = urlencode({"bucket": form.bucket, "key": form.key, "etag": etag})
            target = f"{redirect}{'&' if urlsplit(redirect).query else '?'}{told}"
            return HttpResponse(303, (*answer.headers, ("Location", _one_line(target))), b"")
        location = f"{self._base_url}/{form.bucket}/{quote(form.key, safe='')}"
        headers = (*answer.headers, ("Location", location))
        status = fields.get("success_action_status", "")
        if status == "201":
            inside = element("Location", location) + element("Bucket", form.bucket)
            inside += element("Key", form.key) + element("ETag", etag)
            body = f"{XML_HEAD}<PostResponse>{inside}</PostResponse>"
            return HttpResponse(201, (*headers, XML_TYPE), body.encode())
        return HttpResponse(200 if status == "200" else 204, headers, b"")

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See ErrorWriter."""
        answer: HttpResponse = self._codec.encode_error(error, request_id)
        return answer


def _tags(document: str) -> str:
    """Tags of a form, which are a document, as the header has them."""
    try:
        root = parse(document.encode())
    except MalformedDocument:
        raise malformed_xml() from None
    tags = [tag for tag_set in root.children for tag in tag_set.children]
    pairs = [{part.name: part.text for part in tag.children} for tag in tags]
    if root.name != "Tagging" or any(pair.keys() != {"Key", "Value"} for pair in pairs):
        raise malformed_xml()
    return urlencode([(pair["Key"], pair["Value"]) for pair in pairs])


def _one_line(text: str) -> str:
    return text.replace("\r", "").replace("\n", "").encode("ascii", "ignore").decode()


def _invalid(message: str, name: str, value: str) -> ServiceError:
    members = {"ArgumentName": name, "ArgumentValue": value}
    return ServiceError("InvalidArgument", message, http_status=400, members=members)
