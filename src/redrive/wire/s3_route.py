"""Finds the operation of a request to S3: the bucket in the Host or in the path, the rest by method and query names.

    /bucket/key              path style
    bucket.s3.…  /key        virtual hosts: of AWS, of this server, and bucket.localhost if the request is S3's anyway

A key is the rest of the path, decoded once: `a//b`, `..` and a slash at the start are parts of keys like any other.
Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.model.shapes import OperationModel

HOSTS_KEPT = 1_000
"""Size of the cache of hosts: each bucket may have a host of its own."""

COPY_SOURCE = "x-amz-copy-source"
"""The header that tells the copy of an object from an object in the body."""

_UPLOAD = "uploadId"

_AWS = re.compile(r"(?:(.+)\.)?s3(?:-fips|-accelerate)?(?:[.-](?:dualstack\.)?[a-z0-9-]+)?\.amazonaws\.com(?:\.cn)?")
_OURS = re.compile(r"(?:(.+)\.)?s3(?:\.[a-z]{2}(?:-[a-z]+)+-\d)?\.[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_LOCAL = ".localhost"
_BUCKET = re.compile(r"/([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])(?:/.*)?", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SCOPES = ("/s3/aws4_request", "%2Fs3%2Faws4_request", "%2fs3%2faws4_request")
_LITERAL = re.compile(r"/[A-Za-z]+")


class S3Host(NamedTuple):
    """What a Host says. `bucket` is empty for path style; `is_sure`: the name is S3's, whatever else the request is."""

    bucket: str
    is_sure: bool


@functools.lru_cache(HOSTS_KEPT)
def s3_host(host: str) -> S3Host:
    """What the Host of a request says about S3."""
    name = host.lower().partition(":")[0].rstrip(".")
    match = _AWS.fullmatch(name) or _OURS.fullmatch(name)
    if match is not None:
        return S3Host(match[1] or "", is_sure=True)
    return S3Host(name.removesuffix(_LOCAL) if name.endswith(_LOCAL) else "", is_sure=False)


def is_s3_of_aws(name: str) -> bool:
    """Whether the name of a host is S3's in AWS's own domain."""
    return _AWS.fullmatch(name) is not None


def is_marked(request: HttpRequest) -> bool:
    """Whether an unsigned or badly signed request is S3's all the same: by its host, or by its signature's form."""
    host = s3_host(request.headers.get("host", ""))
    if host.is_sure or (host.bucket and _brings_a_file(request)):
        return True
    header, query = request.headers.get("authorization", ""), request.query
    if header.startswith("AWS ") or any(scope in header or scope in query for scope in _SCOPES):
        return True
    return is_signed_v2(query)


def _brings_a_file(request: HttpRequest) -> bool:
    """Whether a request may be a form for a bucket, signed by its fields: no other service takes such forms."""
    type_ = request.headers.get("content-type", "")
    return request.method == "POST" and request.path == "/" and type_[:19].lower() == "multipart/form-data"


def is_signed_v2(query: str) -> bool:
    """Whether a URL has a signature of version 2 for S3. The query protocol's own is beside an Action."""
    return "AWSAccessKeyId=" in query and "Action=" not in query


def may_be_bucket(path: str) -> bool:
    """Whether a path may be that of a bucket or of an object, and of nothing that begins with an API's version."""
    match = _BUCKET.fullmatch(path)
    return match is not None and _DATE.fullmatch(match[1]) is None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An operation with what its requests have: names of the query, with a value if one is fixed; the copy's source."""

    operation: OperationModel
    names: Mapping[str, str]
    is_copy: bool


class S3Table:
    """The operations of S3 by method and level: the service, a bucket, or an object."""

    def __init__(self, operations: Iterable[OperationModel]) -> None:
        self._plain: dict[tuple[str, int], OperationModel] = {}
        self._candidates: dict[tuple[str, int], list[_Candidate]] = {}
        self._literals: dict[tuple[str, str], OperationModel] = {}
        self._subresources: tuple[set[str], set[str], set[str]] = (set(), set(), {_UPLOAD})
        # What is deprecated, and directory buckets, have the same requests as another operation.
        ordered = sorted(operations, key=lambda one: (one.is_deprecated, one.name == "ListDirectoryBuckets"))
        for operation in ordered:
            self._add(operation)
        for candidates in self._candidates.values():
            candidates.sort(key=lambda one: (len(one.names), one.is_copy), reverse=True)

    def match(self, request: HttpRequest, *, is_signed: bool) -> tuple[OperationModel, dict[str, str]]:
        """The operation, with the bucket and the key. Errors: InvalidURI; MethodNotAllowed."""
        method, path, query = request.method, request.path, request.query
        host = s3_host(request.headers.get("host", ""))
        if host.bucket and (host.is_sure or is_signed):
            params = _params(host.bucket, path[1:])
        else:
            literal = self._literals.get((method, path))
            if literal is not None and "x-amz-request-route" in request.headers:
                return literal, {}
            bucket, _, key = path[1:].partition("/")
            params = _params(bucket, key)
        level = len(params)
        if level == 1 and method == "POST" and not query:
            return self._plain["PUT", 2], params  # A form; its key is a field.
        is_copy = COPY_SOURCE in request.headers
        if not query and not is_copy:
            operation = self._plain.get((method, level))
        else:
            operation = self._of_query(method, level, query, is_copy=is_copy)
        if operation is None:
            raise _not_allowed(method, level)
        return operation, params

    def _of_query(self, method: str, level: int, query: str, *, is_copy: bool) -> OperationModel | None:
        given = dict(parse_qsl(query, keep_blank_values=True))
        if level == 2 and COPY_SOURCE in given:
            is_copy = True
        for candidate in self._candidates.get((method, level), ()):
            if (is_copy or not candidate.is_copy) and _has(given, candidate.names):
                return candidate.operation
        # A sub-resource without such an operation: the bucket or object itself is not meant.
        return None if self._subresources[level] & given.keys() else self._plain.get((method, level))

    def _add(self, operation: OperationModel) -> None:
        path, _, query = operation.uri.partition("?")
        if _LITERAL.fullmatch(path):
            self._literals[operation.method, path] = operation
            return
        level = {"/": 0, "/{Bucket}": 1}.get(path, 2)
        fixed = dict(parse_qsl(query, keep_blank_values=True))
        names = fixed | dict.fromkeys(_required(operation, "querystring"), "")
        is_copy = COPY_SOURCE in _required(operation, "header")
        self._subresources[level].update(fixed)
        key = (operation.method, level)
        if not names and not is_copy:
            self._plain.setdefault(key, operation)
        else:
            self._candidates.setdefault(key, []).append(_Candidate(operation, names, is_copy))


def _required(operation: OperationModel, location: str) -> list[str]:
    shape = operation.input
    if shape is None:
        return []
    members = (shape.members[name] for name in shape.required)
    return [member.location_name.lower() if location == "header" else member.location_name
            for member in members if member.location == location]  # fmt: skip


def _has(given: Mapping[str, str], names: Mapping[str, str]) -> bool:
    return names.keys() <= given.keys() and all(value in ("", given[name]) for name, value in names.items())


def _params(bucket: str, key: str) -> dict[str, str]:
    if not key:
        return {"Bucket": _decoded(bucket)} if bucket else {}
    # Clients write a plus sign as %2B: a bare one is read as a blank, as in forms.
    return {"Bucket": _decoded(bucket), "Key": _decoded(key.replace("+", " "))}


def _decoded(text: str) -> str:
    """A part of the path, decoded once. The server has read each byte of the path as one character."""
    if "%" not in text and text.isascii():
        return text
    try:
        raw = text.encode("latin-1") if not text.isascii() else text
        return unquote_to_bytes(raw).decode()
    except UnicodeError:
        message = "Couldn't parse the specified URI."
        raise ServiceError("InvalidURI", message, http_status=400, members={"URI": text}) from None


def _not_allowed(method: str, level: int) -> ServiceError:
    kind = ("SERVICE", "BUCKET", "OBJECT")[level]
    message = "The specified method is not allowed against this resource."
    return ServiceError("MethodNotAllowed", message, http_status=405, members={"Method": method, "ResourceType": kind})
