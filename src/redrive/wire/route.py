"""Finds the service and the operation of a request.

In this order: the X-Amz-Target header; the Smithy-Protocol header with the path; the service in the signature's scope;
for unsigned requests S3's hosts and signatures, the Action of a form, then the path: S3's last, since any path may be
that of an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.model.shapes import OperationModel, ServiceModel
from redrive.wire.protocols.aws_cbor import MEDIA_TYPE, AwsCborCodec
from redrive.wire.protocols.aws_cbor import PROTOCOL as AWS_CBOR
from redrive.wire.protocols.cbor import PROTOCOL, PROTOCOL_HEADER, CborCodec
from redrive.wire.protocols.codec import Codec, ErrorWriter
from redrive.wire.protocols.json import JsonCodec
from redrive.wire.protocols.paths import PathTable
from redrive.wire.protocols.query import UNKNOWN_OPERATION, QueryCodec, form_of
from redrive.wire.protocols.query_json import QueryJsonCodec, wants_json
from redrive.wire.protocols.rest import RestJsonCodec
from redrive.wire.protocols.rest_xml import RestXmlCodec
from redrive.wire.s3_route import S3Table, is_marked, may_be_bucket
from redrive.wire.services import UNKNOWN_ACTION, ServiceSpec
from redrive.wire.signatures.sigv4 import credential_of
from redrive.wire.strangers import Asked, ErrorsOnly, asked_of, errors_for, errors_of, may_have_action, signed_for

_QUERY_JSON = "query-json"
_REST_XML = "rest-xml"
_PROTOCOLS: Mapping[str, Callable[[ServiceModel], Codec]] = MappingProxyType(
    {
        "aws-cbor": AwsCborCodec,
        "json": JsonCodec,
        "query": QueryCodec,
        _QUERY_JSON: QueryJsonCodec,
        "rest-json": RestJsonCodec,
        _REST_XML: RestXmlCodec,
        "smithy-rpc-v2-cbor": CborCodec,
    }
)
_RPC_PATH = re.compile(r"(?:/.*)?/service/([^/]+)/operation/([^/]+)")
_NO_PARAMS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Route:
    """The service and operation of a request. `path_params` are the decoded values in the path, for `codec.decode`.

    `fields` are those of the form that the operation was found by, for a codec that reads forms.
    """

    service: ServiceModel
    operation: OperationModel
    codec: Codec
    path_params: Mapping[str, str]
    fields: Mapping[str, str] | None = None

    def decode(self, request: HttpRequest) -> dict[str, Any]:
        """The parameters of the request. A form is not parsed again. Errors: those of `codec.decode`."""
        if self.fields is not None and isinstance(self.codec, QueryCodec):
            return self.codec.decode_form(self.operation, self.fields, self.path_params)
        return self.codec.decode(self.operation, request, self.path_params)


class Unroutable(ServiceError):
    """No operation is meant by this request. `codec` writes the answer in the protocol the caller seems to speak.

    `asked` is what was asked of a service that is not here, as far as that can be known without its model.
    """

    def __init__(self, codec: ErrorWriter, error: ServiceError, asked: Asked | None = None) -> None:
        super().__init__(
            error.code, error.message, http_status=error.http_status, fault=error.fault, members=error.members
        )
        self.codec = codec
        self.asked = asked


class Router:
    """Routes requests to the services of a table of models."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._codecs: dict[tuple[str, str], Codec] = {}
        self._paths: dict[str, PathTable] = {}
        self._s3_table: S3Table | None = None
        # Services with a root path of their own never come here: the server checks that path before it routes.
        specs = self._specs = [spec for spec in models.specs.values() if not spec.root]
        self._xml = next((spec for spec in specs if _REST_XML in spec.protocols), None)
        self._by_target = {spec.target_prefix: spec for spec in specs if spec.target_prefix}
        # Services that share a signing name are told apart by their target: here stands the one of that name.
        self._by_signing_name = {spec.signing_name: spec for spec in sorted(specs, key=lambda spec: not spec.signs_as)}

    def route(self, request: HttpRequest) -> Route:
        """The service, operation and codec of a request. Errors: Unroutable."""
        target = request.headers.get("x-amz-target")
        if target is not None:
            return self._by_target_header(request, target)
        if request.headers.get(PROTOCOL_HEADER) == PROTOCOL:
            return self._by_rpc_path(request)
        try:
            credential = credential_of(request)
        except ServiceError as error:
            may_be_s3 = is_marked(request) or ("X-Amz-" in request.query and may_be_bucket(request.path))
            if self._xml is not None and may_be_s3:
                return self._by_bucket(self._xml, request, is_signed=True)
            raise Unroutable(errors_for(request), error) from None
        if credential is None:
            return self._unsigned(request)
        spec = self._by_signing_name.get(credential.service)
        if spec is None:
            raise self._not_served(errors_for(request), request, "", 404)
        return self._of_service(spec, request)

    def codec(self, service: str, protocol: str) -> Codec:
        """The codec of a service for one of its protocols; cached by the router. Errors: KeyError."""
        found = self._codecs.get((service, protocol))
        if found is None:
            made = _PROTOCOLS[protocol](self._models.service(service))
            found = self._codecs.setdefault((service, protocol), made)
        return found

    def _by_target_header(self, request: HttpRequest, target: str) -> Route:
        prefix, _, name = target.rpartition(".")
        spec = self._by_target.get(prefix)
        if spec is None:
            raise self._not_served(errors_of("json"), request, prefix, 400)
        service = self._models.service(spec.name)
        is_cbor = spec.protocols[-1] == AWS_CBOR and request.headers.get("content-type", "").startswith(MEDIA_TYPE)
        codec = self.codec(spec.name, AWS_CBOR if is_cbor else "json")
        operation = service.operations.get(name)
        if operation is None:
            raise self._unknown(codec, f"The operation {name} does not exist.", 400)
        return Route(service, operation, codec, _NO_PARAMS)

    def _by_rpc_path(self, request: HttpRequest) -> Route:
        """Route by the path of Smithy's RPC v2; an endpoint may have a prefix of its own before that path."""
        match = _RPC_PATH.fullmatch(request.path)
        # Some SDKs write the name of the service's shape with its namespace.
        spec = None if match is None else self._by_target.get(match[1].rpartition(".")[2])
        if match is not None and spec is None:
            written = match[1].rpartition(".")[2]
            raise self._not_served(errors_of("smithy-rpc-v2-cbor"), request, written, 404)
        if match is None or spec is None or "smithy-rpc-v2-cbor" not in spec.protocols:
            message = f"Unable to find an operation for {request.method} {request.path}."
            raise self._unknown(errors_of("smithy-rpc-v2-cbor"), message, 404)
        service = self._models.service(spec.name)
        codec = self.codec(spec.name, "smithy-rpc-v2-cbor")
        operation = service.operations.get(match[2])
        if operation is None:
            raise self._unknown(codec, f"The operation {match[2]} does not exist.", 404)
        return Route(service, operation, codec, _NO_PARAMS)

    def _of_service(self, spec: ServiceSpec, request: HttpRequest) -> Route:
        if "rest-json" in spec.protocols:
            route = self._by_path(spec, request)
            if route is None:
                codec = self.codec(spec.name, "rest-json")
                raise self._unknown(codec, f"Unable to find an operation for {request.method} {request.path}.", 404)
            return route
        if "query" in spec.protocols:
            return self._by_action(spec, request, _fields(self._query_codec(spec.name, request), request))
        if _REST_XML in spec.protocols:
            return self._by_bucket(spec, request, is_signed=True)
        raise self._unknown(self.codec(spec.name, "json"), "The request has no X-Amz-Target header.", 400)

    def _unsigned(self, request: HttpRequest) -> Route:
        """Route an unsigned request by the version beside its Action, or by its path.

        AssumeRoleWithWebIdentity, for example, is never signed; nor is the request for an object that all may read.
        """
        if self._xml is not None and is_marked(request):
            return self._by_bucket(self._xml, request, is_signed=True)
        fields = _fields(errors_of("query"), request) if may_have_action(request) else {}
        if "Action" in fields:
            specs = [spec for spec in self._specs if "query" in spec.protocols]
            version = fields.get("Version")
            named = [spec for spec in specs if version == self._models.api_version(spec.name)]
            for spec in named or specs:
                if fields["Action"] in self._models.service(spec.name).operations:
                    return self._by_action(spec, request, fields)
            codec: ErrorWriter = self._query_codec(named[0].name, request) if named else errors_of("query")
            raise Unroutable(codec, _invalid_action(UNKNOWN_ACTION, fields["Action"], version or ""))
        for spec in self._specs:
            if _is_to_resource(spec, request):
                return self._by_action(spec, request, fields)
            if "rest-json" in spec.protocols:
                route = self._by_path(spec, request)
                if route is not None:
                    return route
        if self._xml is not None and may_be_bucket(request.path):
            return self._by_bucket(self._xml, request, is_signed=False)
        raise self._unknown(
            errors_for(request), f"Unable to find an operation for {request.method} {request.path}.", 404
        )

    def _query_codec(self, service: str, request: HttpRequest) -> Codec:
        return self.codec(service, _QUERY_JSON if wants_json(request) else "query")

    def _by_action(self, spec: ServiceSpec, request: HttpRequest, fields: Mapping[str, str]) -> Route:
        service = self._models.service(spec.name)
        codec = self._query_codec(spec.name, request)
        action = fields.get("Action")
        is_to_resource = _is_to_resource(spec, request)
        if action is None and is_to_resource:
            raise Unroutable(codec, ServiceError(UNKNOWN_OPERATION, "The request names no operation.", http_status=404))
        if action is None:
            message = "The request is missing an action or a required parameter."
            raise Unroutable(codec, ServiceError("MissingAction", message, http_status=400))
        version = fields.get("Version", service.api_version)
        operation = service.operations.get(action)
        if operation is None or (spec.checks_version and version != service.api_version):
            raise Unroutable(codec, _invalid_action(spec.unknown_action, action, version))
        params = _queue_url(request, operation) if is_to_resource else _NO_PARAMS
        if is_to_resource and not params:
            raise Unroutable(codec, _invalid_action(spec.unknown_action, action, version))
        return Route(service, operation, codec, params, fields)

    def _by_path(self, spec: ServiceSpec, request: HttpRequest) -> Route | None:
        service = self._models.service(spec.name)
        table = self._paths.get(spec.name)
        if table is None:
            table = self._paths[spec.name] = PathTable(service.operations.values())
        match = table.match(request.method, request.path, request.query)
        if match is None:
            return None
        operation, params = match
        return Route(service, operation, self.codec(spec.name, "rest-json"), params)

    def _by_bucket(self, spec: ServiceSpec, request: HttpRequest, *, is_signed: bool) -> Route:
        """Route a request to S3. `is_signed`: even a host that is S3's only perhaps names a bucket."""
        service = self._models.service(spec.name)
        codec = self.codec(spec.name, _REST_XML)
        if self._s3_table is None:
            self._s3_table = S3Table(service.operations.values())
        try:
            operation, params = self._s3_table.match(request, is_signed=is_signed)
        except ServiceError as error:
            raise Unroutable(codec, error) from None
        return Route(service, operation, codec, params)

    def _not_served(self, codec: ErrorWriter, request: HttpRequest, written: str, status: int) -> Unroutable:
        """The error of a service that is not here, by its signing name, else as it is written in the request."""
        served = ", ".join(sorted(self._models.specs))
        message = f"The service {signed_for(request) or written} is not served here. Served are: {served}."
        error = ServiceError("UnknownOperationException", message, http_status=status)
        return Unroutable(codec, error, asked_of(request))

    def _unknown(self, codec: ErrorWriter, message: str, status: int) -> Unroutable:
        return Unroutable(codec, ServiceError("UnknownOperationException", message, http_status=status))


def _is_to_resource(spec: ServiceSpec, request: HttpRequest) -> bool:
    """Whether the path of a request is a resource's, such as a queue's URL."""
    return bool(spec.resource_path) and re.fullmatch(spec.resource_path, request.path) is not None


def _fields(codec: ErrorWriter, request: HttpRequest) -> dict[str, str]:
    try:
        return dict(form_of(request))
    except ServiceError as error:
        raise Unroutable(codec, error) from None


def _invalid_action(text: str, action: str, version: str) -> ServiceError:
    return ServiceError("InvalidAction", text.format(action=action, version=version), http_status=400)


def _queue_url(request: HttpRequest, operation: OperationModel) -> Mapping[str, str]:
    """The QueueUrl parameter of a form that was posted to a queue's URL."""
    if operation.input is None or "QueueUrl" not in operation.input.members:
        return _NO_PARAMS
    scheme = request.headers.get("x-forwarded-proto", "http")
    return MappingProxyType({"QueueUrl": f"{scheme}://{request.headers.get('host', 'localhost')}{request.path}"})


def route_of_stranger(asked: Asked, errors: ErrorWriter) -> Route:
    """The route of a request to a service that is not here, which can be answered with an error only."""
    service = ServiceModel(ServiceSpec(name=asked.service, protocols=()), api_version="")
    operation = OperationModel(
        service=asked.service, name=asked.operation, method="POST", uri="/", success_status=200, input=None,
        output=None, errors=(), result_wrapper="", validation_code="",
    )  # fmt: skip
    return Route(service, operation, ErrorsOnly(errors), _NO_PARAMS)
