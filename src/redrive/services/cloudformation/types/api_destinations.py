"""AWS::Events::Connection and AWS::Events::ApiDestination.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Events.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    TEXT,
    UNAVAILABLE,
    group,
    listing,
    replacing,
    required,
)

# https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateConnection.html
_NAME_LENGTH_MAX = 64
_MISSING = frozenset({"ResourceNotFoundException"})

_PARAMETERS = listing(group(Key=required(TEXT), Value=required(TEXT), IsValueSecret=BOOLEAN))
_HTTP_PARAMETERS = group(
    HeaderParameters=_PARAMETERS, QueryStringParameters=_PARAMETERS, BodyParameters=_PARAMETERS
)  # fmt: skip
_AUTH_PARAMETERS = group(
    ApiKeyAuthParameters=group(ApiKeyName=required(TEXT), ApiKeyValue=required(TEXT)),
    BasicAuthParameters=group(Username=required(TEXT), Password=required(TEXT)),
    ConnectivityParameters=UNAVAILABLE,
    InvocationHttpParameters=_HTTP_PARAMETERS,
    OAuthParameters=group(
        AuthorizationEndpoint=required(TEXT),
        ClientParameters=required(group(ClientID=required(TEXT), ClientSecret=required(TEXT))),
        HttpMethod=required(TEXT),
        OAuthHttpParameters=_HTTP_PARAMETERS,
    ),
)


def _for_policy(arn: str) -> str:
    """The ARN without its last part, as policies name the resource."""
    return arn.rpartition("/")[0]


def _create_connection(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    place.call("events", "CreateConnection", **{**properties, "Name": name})
    return _read_connection(place, name, properties)


def _read_connection(place: Place, name: str, properties: Document) -> Existing:
    read = place.call("events", "DescribeConnection", Name=name)
    arn = str(read["ConnectionArn"])
    return Existing(name, properties, {"Arn": arn, "ArnForPolicy": _for_policy(arn), "SecretArn": read["SecretArn"]})


def _update_connection(place: Place, existing: Existing, properties: Document) -> Existing:
    given = {"Description": "", **properties, "Name": existing.physical_id}
    place.call("events", "UpdateConnection", **given)
    return _read_connection(place, existing.physical_id, properties)


def _delete_connection(place: Place, existing: Existing) -> None:
    place.call("events", "DeleteConnection", Name=existing.physical_id)


def _is_authorizing(place: Place, existing: Existing) -> bool:
    try:
        state = place.call("events", "DescribeConnection", Name=existing.physical_id)["ConnectionState"]
    except ServiceError as error:
        if error.code in _MISSING:
            return False
        raise
    return bool(state == "AUTHORIZING")


def _create_destination(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    created = place.call("events", "CreateApiDestination", **{**properties, "Name": name})
    arn = str(created["ApiDestinationArn"])
    return Existing(name, properties, {"Arn": arn, "ArnForPolicy": _for_policy(arn)})


def _update_destination(place: Place, existing: Existing, properties: Document) -> Existing:
    defaults = {"Description": "", "InvocationRateLimitPerSecond": _CALLS_PER_S_DEFAULT}
    place.call("events", "UpdateApiDestination", **{**defaults, **properties, "Name": existing.physical_id})
    return Existing(existing.physical_id, properties, existing.attributes)


_CALLS_PER_S_DEFAULT = 300
"""Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"""


def _delete_destination(place: Place, existing: Existing) -> None:
    place.call("events", "DeleteApiDestination", Name=existing.physical_id)


CONNECTION = ResourceType(
    name="AWS::Events::Connection",
    properties={
        "AuthParameters": required(_AUTH_PARAMETERS),
        "AuthorizationType": required(TEXT),
        "Description": TEXT,
        "InvocationConnectivityParameters": UNAVAILABLE,
        "KmsKeyIdentifier": TEXT,
        "Name": replacing(TEXT),
    },
    create=_create_connection,
    update=_update_connection,
    delete=_delete_connection,
    attributes=frozenset({"Arn", "ArnForPolicy", "SecretArn"}),
    name_property="Name",
    missing=_MISSING,
    is_pending=_is_authorizing,
)

API_DESTINATION = ResourceType(
    name="AWS::Events::ApiDestination",
    properties={
        "ConnectionArn": required(TEXT),
        "Description": TEXT,
        "HttpMethod": required(TEXT),
        "InvocationEndpoint": required(TEXT),
        "InvocationRateLimitPerSecond": INTEGER,
        "Name": replacing(TEXT),
    },
    create=_create_destination,
    update=_update_destination,
    delete=_delete_destination,
    attributes=frozenset({"Arn", "ArnForPolicy"}),
    name_property="Name",
    missing=_MISSING,
)
