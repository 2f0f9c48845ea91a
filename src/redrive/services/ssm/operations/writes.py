"""The operations that write parameters: values, labels, deletions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import request_tags
from redrive.services.ssm import limits
from redrive.services.ssm.finding import authorize, existing, version_of
from redrive.services.ssm.model.names import asked, check_new, is_label, key_of, parameter_arn
from redrive.services.ssm.model.parameter import (
    DEFAULT_KEY,
    SECURE_STRING,
    STANDARD,
    STRING_LIST,
    Parameter,
    Version,
    version_key,
)
from redrive.services.ssm.model.requests import invalid, no_such_version
from redrive.services.ssm.model.tags import merged_tags
from redrive.services.ssm.model.values import (
    TEXT,
    check_data_type,
    check_pattern,
    check_policies,
    check_value,
    chosen_tier,
)
from redrive.services.ssm.secure import encrypted
from redrive.store.api import Transaction

_CHANGE = "Parameter Store Change"


@operation("PutParameter")
def put_parameter(
    tx: Transaction, caller: Caller, *, name: str, value: str, description: str | None = None,
    type: str | None = None, key_id: str | None = None, overwrite: bool | None = None,
    allowed_pattern: str | None = None, tags: Sequence[Document] | None = None, tier: str | None = None,
    policies: str | None = None, data_type: str | None = None,
) -> Document:  # fmt: skip
    """Create a parameter, or a new version of it. What an overwriting request does not send stays as it is.

    Errors: ParameterAlreadyExists; ValidationException (name, value, tier, tags with overwrite);
    HierarchyTypeMismatchException; ParameterPatternMismatchException; InvalidAllowedPatternException; InvalidKeyId;
    ParameterMaxVersionLimitExceeded (the oldest of 100 versions has a label); ParameterLimitExceeded.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
    """
    if name.startswith("arn:"):
        name = asked(caller.scope, name).key
    key = key_of(name)
    added = {str(tag["Key"]): str(tag["Value"]) for tag in tags or ()}
    arn = parameter_arn(caller.scope, key)
    context = {**request_tags(added), "ssm:Overwrite": ("true" if overwrite else "false",)}
    tx.services.authorize(tx, caller, "ssm:PutParameter", arn, context=context)
    check_new(caller.scope, name)
    check_value(value)
    present = tx.resources.get(Parameter, caller.scope, key)
    if overwrite and tags:
        raise invalid(
            "Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please "
            "remove overwrite flag. To update tags for an existing parameter, please use AddTagsToResource or "
            "RemoveTagsFromResource."
        )
    if present is not None and not overwrite:
        raise ServiceError(
            "ParameterAlreadyExists",
            "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.",
        )
    changed = _changed(tx, caller, present, name, value, {
        "type": type, "description": description, "key_id": key_id, "allowed_pattern": allowed_pattern,
        "tier": tier, "policies": policies, "data_type": data_type,
    })  # fmt: skip
    if present is None:
        changed = replace(changed, tags=merged_tags({}, tags or ()))
    _store(tx, caller, changed, value)
    _publish(tx, caller, "Create" if present is None else "Update", changed)
    return {"Version": changed.version, "Tier": changed.tier}


def _changed(
    tx: Transaction, caller: Caller, present: Parameter | None, name: str, value: str, given: dict[str, str | None]
) -> Parameter:
    """Return the parameter after a request. Errors: as of PutParameter."""
    kind = given["type"] or (present.type if present is not None else None)
    if kind is None:
        raise invalid("A parameter type is required when you create a parameter.")
    if present is not None and kind != present.type and SECURE_STRING in (kind, present.type):
        raise ServiceError(
            "HierarchyTypeMismatchException",
            f"The type of the parameter {name} cannot change from {present.type} to {kind}: delete it first.",
        )
    if given["key_id"] is not None and kind != SECURE_STRING:
        raise invalid("KeyId is required for SecureString type parameter only.")
    before = present or Parameter(name, kind, 0, STANDARD, TEXT)
    kept = {part: getattr(before, part) if given[part] is None else given[part] for part in _KEPT}
    check_pattern(kept["allowed_pattern"], value)
    if kind == STRING_LIST and "" in value.split(","):
        raise invalid("A StringList cannot have an empty member.")
    data_type = given["data_type"] or before.data_type
    check_data_type(data_type, value)
    check_policies(kept["policies"])
    present_tier = None if present is None else present.tier
    tier = chosen_tier(given["tier"], present_tier, value, kept["policies"])
    is_counted = present is None and tx.services.limits is Limits.STRICT and tier == STANDARD
    if is_counted and tx.resources.count(Parameter, caller.scope) >= limits.STANDARD_PARAMETERS_MAX:
        raise ServiceError("ParameterLimitExceeded", "You have exceeded the number of parameters for this account.")
    key_id = (kept["key_id"] or DEFAULT_KEY) if kind == SECURE_STRING else None
    return replace(
        before, type=kind, version=before.version + 1, tier=tier, data_type=data_type, key_id=key_id,
        description=kept["description"], allowed_pattern=kept["allowed_pattern"], policies=kept["policies"],
    )  # fmt: skip


_KEPT = ("description", "allowed_pattern", "key_id", "policies")


def _store(tx: Transaction, caller: Caller, parameter: Parameter, value: str) -> None:
    """Store the newest version of a parameter, and drop the oldest one where there are too many."""
    is_sealed = False
    if parameter.type == SECURE_STRING:
        key_id = parameter.key_id or DEFAULT_KEY
        value, is_sealed = encrypted(tx, caller, parameter.name, key_id, parameter.tier, value)
    oldest = parameter.version - limits.VERSIONS_MAX
    if oldest > 0:
        if parameter.labels_of(oldest):
            raise ServiceError(
                "ParameterMaxVersionLimitExceeded",
                f"You attempted to create a new version of {parameter.shown_name} by calling the PutParameter API with "
                f"the overwrite flag. Version {oldest}, the oldest version, can't be deleted because it has a label "
                "associated with it. Move the label to another version of the parameter, and try again.",
            )
        tx.resources.delete(Version, caller.scope, version_key(parameter.name, oldest))
    version = Version(
        parameter.name, parameter.version, value, parameter.type, tx.now, caller.principal_arn, parameter.tier,
        parameter.data_type, parameter.description, parameter.allowed_pattern, parameter.key_id, parameter.policies,
        is_sealed,
    )  # fmt: skip
    tx.resources.put(caller.scope, version)
    tx.resources.put(caller.scope, parameter)


@operation("DeleteParameter")
def delete_parameter(tx: Transaction, caller: Caller, *, name: str) -> Document:
    """Delete a parameter with all its versions.

    Errors: ParameterNotFound.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DeleteParameter.html
    """
    wanted = asked(caller.scope, name)
    authorize(tx, caller, "DeleteParameter", wanted.key)
    _delete(tx, caller, existing(tx, caller, wanted))
    return {}


@operation("DeleteParameters")
def delete_parameters(tx: Transaction, caller: Caller, *, names: Sequence[str]) -> Document:
    """Delete up to 10 parameters; unknown ones are named in the answer.

    Errors: ValidationException.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DeleteParameters.html
    """
    deleted: list[str] = []
    unknown: list[str] = []
    for name in names:
        wanted = asked(caller.scope, name)
        authorize(tx, caller, "DeleteParameters", wanted.key)
        parameter = tx.resources.get(Parameter, caller.scope, wanted.key)
        if parameter is None:
            unknown.append(name)
            continue
        _delete(tx, caller, parameter)
        deleted.append(name)
    return {"DeletedParameters": deleted, "InvalidParameters": unknown}


def _delete(tx: Transaction, caller: Caller, parameter: Parameter) -> None:
    for version in tx.resources.list(Version, caller.scope, prefix=f"{parameter.name}:"):
        tx.resources.delete(Version, caller.scope, version.name)
    tx.resources.delete(Parameter, caller.scope, parameter.name)
    _publish(tx, caller, "Delete", parameter)


@operation("LabelParameterVersion")
def label_parameter_version(
    tx: Transaction, caller: Caller, *, name: str, labels: Sequence[str], parameter_version: int | None = None
) -> Document:
    """Give a version labels. A label that another version has moves.

    Errors: ParameterNotFound; ParameterVersionNotFound; ParameterVersionLabelLimitExceeded (10 labels of a version).
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_LabelParameterVersion.html
    """
    wanted = asked(caller.scope, name)
    authorize(tx, caller, "LabelParameterVersion", wanted.key)
    parameter = existing(tx, caller, wanted)
    number = version_of(tx, caller, parameter, "" if parameter_version is None else str(parameter_version)).number
    valid = [label for label in labels if is_label(label)]
    after = {**parameter.labels, **dict.fromkeys(valid, number)}
    if sum(of == number for of in after.values()) > limits.LABELS_PER_VERSION_MAX:
        raise ServiceError(
            "ParameterVersionLabelLimitExceeded",
            f"A parameter version can have a maximum of {limits.LABELS_PER_VERSION_MAX} labels."
            "Move one or more labels to another version and try again.",
        )
    changed = replace(parameter, labels=after)
    tx.resources.put(caller.scope, changed)
    if valid:
        _publish(tx, caller, "LabelParameterVersion", changed)
    return {"InvalidLabels": [label for label in labels if label not in valid], "ParameterVersion": number}


@operation("UnlabelParameterVersion")
def unlabel_parameter_version(
    tx: Transaction, caller: Caller, *, name: str, parameter_version: int, labels: Sequence[str]
) -> Document:
    """Take labels from a version; those that it does not have are named in the answer.

    Errors: ParameterNotFound; ParameterVersionNotFound.
    Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_UnlabelParameterVersion.html
    """
    wanted = asked(caller.scope, name)
    authorize(tx, caller, "UnlabelParameterVersion", wanted.key)
    parameter = existing(tx, caller, wanted)
    if parameter_version > parameter.version:
        raise no_such_version(parameter.shown_name, str(parameter_version))
    number = version_of(tx, caller, parameter, str(parameter_version)).number
    removed = [label for label in labels if parameter.labels.get(label) == number]
    left = {label: of for label, of in parameter.labels.items() if label not in removed}
    tx.resources.put(caller.scope, replace(parameter, labels=left))
    return {"RemovedLabels": removed, "InvalidLabels": [label for label in labels if label not in removed]}


def _publish(tx: Transaction, caller: Caller, what: str, parameter: Parameter) -> None:
    """Tell the default bus that a parameter has changed. The event has no value.

    Source: https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-paramstore-cwe.html
    """
    detail = {"operation": what, "name": parameter.shown_name, "type": parameter.type}
    if parameter.description:
        detail["description"] = parameter.description
    arn = parameter.arn(caller.scope)
    tx.services.publish_event(tx, caller.scope, lambda: OwnEvent("aws.ssm", _CHANGE, detail, (arn,)))
