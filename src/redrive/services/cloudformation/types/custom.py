"""AWS::CloudFormation::CustomResource and Custom::NAME: resources that a function creates, changes and deletes.

The function is invoked asynchronously with a request, and answers with a PUT to the request's ResponseURL.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
"""

from __future__ import annotations

import re
from functools import lru_cache

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.languages.template import Node
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.answers import Awaited, answer_url, awaited_name
from redrive.services.cloudformation.types.resource import Existing, Place, ProgressFailure, ResourceType
from redrive.services.cloudformation.types.schema import INTEGER, TEXT, Kind, PropertyError, replacing, required, scalar

_NAME = re.compile(r"AWS::CloudFormation::CustomResource|Custom::[A-Za-z0-9_@-]{1,60}")
_ID_LENGTH_MAX = 128
_TYPES_KEPT = 256
_FUNCTION = re.compile(r"arn:aws:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9_$-]+)?")


def is_custom(type_name: str) -> bool:
    """Whether a function named in the template creates resources of this type."""
    return _NAME.fullmatch(type_name) is not None


@lru_cache(maxsize=_TYPES_KEPT)
def custom_type(type_name: str) -> ResourceType:
    """The type of a custom resource."""

    def create(place: Place, properties: Document) -> Existing:
        # A default physical id, in case the provider sends none: the deletion request needs an id.
        _ask(place, type_name, "Create", properties, {})
        return Existing(place.name(None, _ID_LENGTH_MAX), properties, {})

    def update(place: Place, existing: Existing, properties: Document) -> Existing:
        old = {
            "PhysicalResourceId": existing.physical_id, "OldResourceProperties": as_texts(dict(existing.properties))
        }  # fmt: skip
        _ask(place, type_name, "Update", properties, old)
        return Existing(existing.physical_id, properties, existing.attributes)

    def delete(place: Place, existing: Existing) -> None:
        _ask(place, type_name, "Delete", existing.properties, {"PhysicalResourceId": existing.physical_id})

    return ResourceType(
        name=type_name, properties=_PROPERTIES, create=create, update=update, delete=delete, is_open=True,
        progress=_progress,
    )  # fmt: skip


_PROPERTIES = {"ServiceTimeout": INTEGER, "ServiceToken": replacing(required(TEXT))}


def as_texts(value: Node) -> Node:
    """Convert properties for a provider: numbers and booleans become texts."""
    match value:
        case dict():
            return {name: as_texts(each) for name, each in value.items()}
        case list():
            return [as_texts(each) for each in value]
        case None | str():
            return value
        case _:
            return str(scalar("", "", Kind.TEXT, value))


def _ask(place: Place, type_name: str, operation: str, properties: Document, more: Document) -> None:
    """Invoke the provider, and start to wait for its answer. Errors: PropertyError, ServiceError."""
    token = properties.get("ServiceToken")
    if not isinstance(token, str) or not _FUNCTION.fullmatch(token):
        raise PropertyError(f"Invalid service token: {token}. redrive serves custom resources that functions back.")
    request_id = new_uuid(place.tx.entropy)
    until = place.tx.now + _timeout_s(place, properties) * SECOND_MS
    request = {
        "RequestType": operation,
        "ServiceToken": token,
        "ResponseURL": answer_url(
            place.tx, place.caller.host, place.caller.scope, place.stack_uid, place.logical_id, request_id, until
        ),
        "StackId": place.stack_id,
        "RequestId": request_id,
        "LogicalResourceId": place.logical_id,
        "ResourceType": type_name,
        "ResourceProperties": as_texts(dict(properties)),
        **more,
    }  # fmt: skip
    place.call(
        "lambda", "Invoke", FunctionName=token, InvocationType="Event", Payload=dump_json(request).encode()
    )  # fmt: skip
    awaited = Awaited(place.stack_uid, place.stack_name, place.logical_id, request_id, operation, until)
    place.tx.resources.put(place.caller.scope, awaited)


def _timeout_s(place: Place, properties: Document) -> int:
    given = properties.get("ServiceTimeout", limits.SERVICE_TIMEOUT_S_MAX)
    seconds = scalar(f"{place.logical_id}: ", "#/ServiceTimeout", Kind.INTEGER, given)
    if not isinstance(seconds, int) or not 1 <= seconds <= limits.SERVICE_TIMEOUT_S_MAX:
        raise PropertyError(f"ServiceTimeout must be between 1 and {limits.SERVICE_TIMEOUT_S_MAX} seconds.")
    return seconds


def _progress(place: Place, existing: Existing) -> Existing | None:
    """Return the resource after its provider has answered, None before. Errors: ProgressFailure."""
    scope, name = place.caller.scope, awaited_name(place.stack_uid, place.logical_id)
    awaited = place.tx.resources.get(Awaited, scope, name)
    if awaited is None:
        return existing
    if awaited.answer is None and place.tx.now < awaited.until:
        return None
    place.tx.resources.delete(Awaited, scope, name)
    if awaited.answer is None:
        raise ProgressFailure(
            "CloudFormation did not receive a response from your Custom Resource. Please check your logs for "
            f"requestId [{awaited.request_id}]. If you are using the Python cfn-response module, you may need to "
            "update your Lambda function code so that CloudFormation can attach the updated version.",
            existing.physical_id,
        )
    return _answered(awaited, awaited.answer, existing)


def _answered(awaited: Awaited, answer: Document, existing: Existing) -> Existing:
    physical_id = str(answer.get("PhysicalResourceId") or existing.physical_id)
    if answer.get("Status") != "SUCCESS":
        status, reason = answer.get("Status"), answer.get("Reason", "")
        raise ProgressFailure(
            f"Received response status [{status}] from custom resource. Message returned: {reason} "
            f"(RequestId: {awaited.request_id})",
            physical_id,
        )
    data = answer.get("Data")
    return Existing(physical_id, existing.properties, _flat(data) if isinstance(data, dict) else {})


def _flat(data: Document) -> Document:
    """Return the attributes by the names that Fn::GetAtt uses, with dots for nested members."""
    flat: Document = {}
    for name, value in data.items():
        flat[name] = value
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": each for inner, each in _flat(value).items()}
    return flat
