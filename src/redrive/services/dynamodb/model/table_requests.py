"""Check and parse the parameters of CreateTable and UpdateTable. Pure: the instant and the key's ARN are arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypedDict

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.billing import Billing, BillingMode
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.table import invalid, invalid_parameter


class KeySchemaElement(TypedDict):
    """A member of KeySchema."""

    AttributeName: str
    KeyType: str


class AttributeDefinition(TypedDict):
    """A member of AttributeDefinitions."""

    AttributeName: str
    AttributeType: str


class Throughput(TypedDict):
    """ProvisionedThroughput."""

    ReadCapacityUnits: int
    WriteCapacityUnits: int


class Encryption(TypedDict, total=False):
    """SSESpecification."""

    Enabled: bool
    SSEType: str
    KMSMasterKeyId: str


@dataclasses.dataclass(frozen=True, slots=True)
class Keys:
    """The primary key of a table and the types of its attributes."""

    attributes: Mapping[str, str]
    hash_key: str
    range_key: str | None


_WRONG_COUNT = (
    "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
)


def read_keys(schema: Sequence[KeySchemaElement] | None, definitions: Sequence[AttributeDefinition] | None) -> Keys:
    """Return the primary key that a request defines. Errors: ValidationException."""
    if schema is None or definitions is None:
        raise _absent({"attributeDefinitions": definitions, "keySchema": schema})
    attributes = read_definitions(definitions)
    names = [element["AttributeName"] for element in schema]
    check_schema(schema)
    if len(names) > len(attributes):
        raise invalid("Invalid KeySchema: Some index key attribute have no definition")
    check_defined(names, attributes)
    return Keys(attributes, names[0], names[1] if len(names) > 1 else None)


def check_defined(names: Sequence[str], attributes: Mapping[str, str]) -> None:
    """Refuse a key with an attribute that is not defined. Errors: ValidationException."""
    if not set(names) <= attributes.keys():
        raise invalid_parameter(
            "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(attributes)}]"
        )


def check_all_used(keys: Keys, indexes: Sequence[Index]) -> None:
    """Refuse definitions that neither the table nor an index uses. Errors: ValidationException."""
    used = dict.fromkeys([keys.hash_key, *([] if keys.range_key is None else [keys.range_key])])
    used |= dict.fromkeys(name for index in indexes for name in index.key_names)
    if used.keys() >= keys.attributes.keys():
        return
    if not indexes:
        raise invalid_parameter(_WRONG_COUNT)
    raise invalid_parameter(
        f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(keys.attributes)}], "
        f"keys used: [{', '.join(used)}]"
    )


def read_definitions(definitions: Sequence[AttributeDefinition]) -> dict[str, str]:
    """Return attribute types by name. Errors: ValidationException for a repeated name."""
    attributes = {each["AttributeName"]: each["AttributeType"] for each in definitions}
    if len(attributes) != len(definitions):
        raise invalid_parameter("Cannot have two attributes with the same name in AttributeDefinitions")
    return attributes


def new_billing(mode: str | None, throughput: Throughput | None, now: Instant) -> Billing:
    """Return the throughput settings of a new table. Errors: ValidationException."""
    return change_billing(Billing(), mode or BillingMode.PROVISIONED.value, throughput, now)


def change_billing(
    billing: Billing, mode: str | None, throughput: Throughput | None, now: Instant, *, of: str = "table"
) -> Billing:
    """Return the settings after a change of the mode, the throughput, or both. `of` names the owner in messages.

    Errors: ValidationException.
    """
    changed = BillingMode(mode) if mode is not None else billing.mode
    if changed is BillingMode.PAY_PER_REQUEST:
        if throughput is not None:
            raise invalid_parameter(
                "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
            )
        if billing.mode is changed:
            return billing
        return dataclasses.replace(billing, mode=changed, read_units=0, write_units=0, on_demand_since=now)
    if throughput is None:
        if billing.mode is changed and billing.read_units:
            return billing
        raise invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    return _provisioned(billing, throughput, now, of)


def limit_on_demand(billing: Billing, units: Mapping[str, int] | None) -> Billing:
    """Return the settings with limits on on-demand throughput; -1 removes a limit. Errors: ValidationException."""
    if units is None:
        return billing
    if billing.mode is not BillingMode.PAY_PER_REQUEST:
        raise invalid_parameter("OnDemandThroughput can only be specified when BillingMode is PAY_PER_REQUEST")
    for name, value in units.items():
        if value < 1 and value != -1:
            raise invalid_parameter(f"Given value {value} for {name} is out of bounds")
    return dataclasses.replace(billing, on_demand_max={**billing.on_demand_max, **units})


def warm_up(billing: Billing, units: Mapping[str, int] | None) -> Billing:
    """Return the settings with a warm throughput, which can only grow. Errors: ValidationException."""
    if units is None:
        return billing
    for name, value in units.items():
        if value < max(1, billing.warm.get(name, 1)):
            raise invalid_parameter(f"Given value {value} for {name} is out of bounds")
    return dataclasses.replace(billing, warm={**billing.warm, **units})


def encryption_key(scope: Scope, encryption: Encryption | None, managed_key_id: str) -> str | None:
    """Return the ARN of the requested KMS key, None for the key that DynamoDB owns.

    `managed_key_id` is the account's DynamoDB key, for requests without a key of their own.
    Errors: ValidationException.
    """
    key = (encryption or {}).get("KMSMasterKeyId")
    if encryption is None or not encryption.get("Enabled", False):
        if key is not None:
            raise invalid_parameter("KMSMasterKeyId can only be specified when server-side encryption is enabled")
        return None
    if encryption.get("SSEType", "KMS") != "KMS":
        raise invalid_parameter("SSEType AES256 is not supported; it must be KMS")
    if key is not None and key.startswith("arn:"):
        return key
    resource = key if key is not None and key.startswith("alias/") else f"key/{key or managed_key_id}"
    return f"arn:aws:kms:{scope.region}:{scope.account}:{resource}"


def refuse_unsupported(**asked: object) -> None:
    """Refuse unsupported parameters, with AWS's names; absent parameters are None. Errors: ValidationException."""
    for member, value in asked.items():
        if value == []:
            raise invalid_parameter(f"List of {member} is empty")
        if value is not None:
            raise invalid_parameter(f"{member} is not supported yet")


def _provisioned(billing: Billing, throughput: Throughput, now: Instant, of: str) -> Billing:
    read, write = throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]
    for name, value in throughput.items():
        if isinstance(value, int) and value > limits.THROUGHPUT_UNITS_MAX:
            raise invalid(f"Given value {value} for {name} is out of bounds")
    is_new = billing.mode is BillingMode.PAY_PER_REQUEST or not billing.read_units
    if is_new:
        return dataclasses.replace(
            billing, mode=BillingMode.PROVISIONED, read_units=read, write_units=write, on_demand_max={}
        )
    if (read, write) == (billing.read_units, billing.write_units):
        raise invalid(
            f"The provisioned throughput for the {of} will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the {of.split(maxsplit=1)[0]}: {read}. "
            f"Requested ReadCapacityUnits: {read}. "
            f"Current WriteCapacityUnits provisioned for the {of.split(maxsplit=1)[0]}: {write}. "
            f"Requested WriteCapacityUnits: {write}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    changed = dataclasses.replace(billing, read_units=read, write_units=write)
    if read > billing.read_units or write > billing.write_units:
        changed = dataclasses.replace(changed, increased_at=now)
    if read < billing.read_units or write < billing.write_units:
        changed = dataclasses.replace(changed, decreased_at=now, decreases=billing.decreases_today(now) + 1)
    return changed


def check_schema(schema: Sequence[KeySchemaElement]) -> None:
    """Refuse a key that is not one hash key and at most one range key, in this order. Errors: ValidationException."""
    if len(schema) > limits.KEY_ELEMENTS_MAX:
        raise invalid(
            f"1 validation error detected: Value at 'keySchema' failed to satisfy constraint: "
            f"Member must have length less than or equal to {limits.KEY_ELEMENTS_MAX}"
        )
    if schema[0]["KeyType"] != "HASH":
        raise invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(schema) > 1 and schema[0]["AttributeName"] == schema[1]["AttributeName"]:
        raise invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    if len(schema) > 1 and schema[1]["KeyType"] != "RANGE":
        raise invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")


def _absent(members: Mapping[str, object]) -> ServiceError:
    problems = [
        f"Value null at '{name}' failed to satisfy constraint: Member must not be null"
        for name, value in members.items()
        if value is None
    ]
    noun = "error" if len(problems) == 1 else "errors"
    return invalid(f"{len(problems)} validation {noun} detected: {'; '.join(problems)}")
