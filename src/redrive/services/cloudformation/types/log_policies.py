"""AWS::Logs::Transformer and AccountPolicy.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_Logs.html
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.services.cloudformation.types.resource import Existing, Place, ResourceType
from redrive.services.cloudformation.types.schema import JSON, TEXT, listing, replacing, required

_MISSING = frozenset({"ResourceNotFoundException"})
_BOOLEANS = frozenset({"overwriteIfExists", "flatten"})


def _put_transformer(place: Place, properties: Document) -> Existing:
    group = str(properties["LogGroupIdentifier"])
    processors = [_as_called(one) for one in properties["TransformerConfig"]]
    place.call("logs", "PutTransformer", logGroupIdentifier=group, transformerConfig=processors)
    return Existing(group, properties, {})


def _update_transformer(place: Place, existing: Existing, properties: Document) -> Existing:
    return _put_transformer(place, {**properties, "LogGroupIdentifier": existing.physical_id})


def _delete_transformer(place: Place, existing: Existing) -> None:
    place.call("logs", "DeleteTransformer", logGroupIdentifier=existing.physical_id)


def _as_called(value: object, name: str = "") -> object:
    """What a template writes, under the names that the operation has for it: `AddKeys` is `addKeys`."""
    if isinstance(value, dict):
        named = {f"{key[:1].lower()}{key[1:]}": inner for key, inner in value.items()}
        return {key: _as_called(inner, key) for key, inner in named.items()}
    if isinstance(value, list):
        return [_as_called(one, name) for one in value]
    if name in _BOOLEANS and value in ("true", "false"):
        return value == "true"
    return value


def _put_policy(place: Place, properties: Document) -> Existing:
    name, kind = str(properties["PolicyName"]), str(properties["PolicyType"])
    place.call(
        "logs", "PutAccountPolicy", policyName=name, policyType=kind, policyDocument=properties["PolicyDocument"],
        scope=properties.get("Scope"), selectionCriteria=properties.get("SelectionCriteria"),
    )  # fmt: skip
    return Existing(f"{place.caller.account}|{kind}|{name}", properties, {"AccountId": place.caller.account})


def _update_policy(place: Place, existing: Existing, properties: Document) -> Existing:
    _, kind, name = existing.physical_id.split("|", 2)
    return _put_policy(place, {**properties, "PolicyName": name, "PolicyType": kind})


def _delete_policy(place: Place, existing: Existing) -> None:
    _, kind, name = existing.physical_id.split("|", 2)
    place.call("logs", "DeleteAccountPolicy", policyName=name, policyType=kind)


TRANSFORMER = ResourceType(
    name="AWS::Logs::Transformer",
    properties={"LogGroupIdentifier": replacing(required(TEXT)), "TransformerConfig": required(listing(JSON))},
    create=_put_transformer,
    update=_update_transformer,
    delete=_delete_transformer,
    missing=_MISSING,
)

ACCOUNT_POLICY = ResourceType(
    name="AWS::Logs::AccountPolicy",
    properties={
        "PolicyDocument": required(TEXT),
        "PolicyName": replacing(required(TEXT)),
        "PolicyType": replacing(required(TEXT)),
        "Scope": TEXT,
        "SelectionCriteria": TEXT,
    },
    create=_put_policy,
    update=_update_policy,
    delete=_delete_policy,
    attributes=frozenset({"AccountId"}),
    missing=_MISSING,
)
