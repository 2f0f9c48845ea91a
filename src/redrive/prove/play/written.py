"""Requests as botocore writes them, without a signature; a request that was written before is known."""

from __future__ import annotations

import base64
import functools
import hashlib
import marshal
from collections.abc import Mapping
from urllib.parse import urlencode

import botocore.model
import botocore.serialize
from botocore.httpchecksum import Crc32Checksum, Sha1Checksum, Sha256Checksum

from redrive.gateway.botocore_http import body_of
from redrive.prove.calls.absent import served_params
from redrive.prove.calls.calls import Params
from redrive.prove.play.asked import HOST, Asked
from redrive.prove.play.reading import plain_text, protocol_of
from redrive.prove.stage.stage import SCOPE
from redrive.wire.message import HttpRequest

_CHECKSUMS = {"crc32": Crc32Checksum, "sha1": Sha1Checksum, "sha256": Sha256Checksum}
_KEPT_MAX = 4_096
"""Most histories repeat requests of others."""


def prepared(asked: Asked) -> HttpRequest:
    """The request as botocore would send it, but unsigned: only the signer's name is read."""
    params = served_params(asked.call)
    text = plain_text(params)
    return _written(asked.operation, params) if text is None else _known_request(asked.operation, text)


@functools.lru_cache(_KEPT_MAX)
def _known_request(model: botocore.model.OperationModel, params: bytes) -> HttpRequest:
    return _written(model, marshal.loads(params))  # noqa: S302 - this process has written it.


def _written(model: botocore.model.OperationModel, params: Params) -> HttpRequest:
    service = model.service_model
    made = _serializer(protocol_of(service)).serialize_to_request(params, model)
    credential = f"{SCOPE.account}/20250101/{SCOPE.region}/{service.signing_name}/aws4_request"
    headers = {name.lower(): str(value) for name, value in made["headers"].items()}
    headers |= {
        "authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=in-process",
        "host": HOST, "x-amz-date": "20250101T000000Z",
    }  # fmt: skip
    body = made["body"]
    if isinstance(body, dict):
        body = urlencode(body, doseq=True)
        headers.setdefault("content-type", "application/x-www-form-urlencoded; charset=utf-8")
    path, _, fixed = made["url_path"].partition("?")  # The fixed query of an operation: `?uploads`.
    query = "&".join(filter(None, (fixed, urlencode(made["query_string"] or {}, doseq=True))))
    if "authPath" in model.http:
        # Clients of S3 take the bucket out of the paths of their model, to write it into the host.
        path = f"/{params['Bucket']}{'' if path == '/' else path}"
    content = body_of(body)
    if model.http_checksum_required or (getattr(model, "http_checksum", None) or {}).get("requestChecksumRequired"):
        digest = hashlib.md5(content, usedforsecurity=False).digest()
        headers["content-md5"] = base64.b64encode(digest).decode()
    headers |= _checksum(model, params, content, headers)
    return HttpRequest(made["method"], path, query, headers, content)


def _checksum(
    model: botocore.model.OperationModel, params: Params, content: bytes, headers: Mapping[str, str]
) -> dict[str, str]:  # fmt: skip
    """The checksum that botocore adds to a body for the algorithm that is asked for, unless it is given."""
    named = (getattr(model, "http_checksum", None) or {}).get("requestAlgorithmMember")
    algorithm = str(params.get(named, "")).lower() if named else ""
    kind = _CHECKSUMS.get(algorithm)
    header = f"x-amz-checksum-{algorithm}"
    return {} if kind is None or header in headers else {header: kind().handle(content)}


@functools.cache
def _serializer(protocol: str) -> botocore.serialize.Serializer:
    return botocore.serialize.create_serializer(protocol, include_validation=False)
