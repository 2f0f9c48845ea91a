"""AWS::StepFunctions::StateMachine, its versions and aliases, and AWS::StepFunctions::Activity.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_StepFunctions.html
"""

from __future__ import annotations

import re

from redrive.core.documents import Document, dump_json
from redrive.delivery.objects import ObjectTooLarge, object_content
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    not_updatable,
    read,
    tag_changes,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    PropertyError,
    group,
    listing,
    mapping,
    replacing,
    required,
)

# https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
_NAME_LENGTH_MAX = 80
_DEFINITION_BYTES_MAX = 1_048_576
_SUBSTITUTION = re.compile(r"\$\{([a-zA-Z0-9_]+)\}")
_MISSING = frozenset({"StateMachineDoesNotExist", "ActivityDoesNotExist", "ResourceNotFound"})
_ENCRYPTION = group(KmsDataKeyReusePeriodSeconds=INTEGER, KmsKeyId=TEXT, Type=required(TEXT))


def _create_machine(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("StateMachineName"), _NAME_LENGTH_MAX)
    made = place.call(
        "stepfunctions", "CreateStateMachine", name=name, type=properties.get("StateMachineType"),
        tags=_tags(properties), **_settings(place, properties),
    )  # fmt: skip
    return _existing_machine(place, str(made["stateMachineArn"]), properties)


def _update_machine(place: Place, existing: Existing, properties: Document) -> Existing:
    arn = existing.physical_id
    if changed_keys(existing.properties, properties) - {"Tags"}:
        place.call("stepfunctions", "UpdateStateMachine", stateMachineArn=arn, **_settings(place, properties))
    _retag(place, arn, existing.properties, properties)
    return _existing_machine(place, arn, properties)


def _delete_machine(place: Place, existing: Existing) -> None:
    place.call("stepfunctions", "DeleteStateMachine", stateMachineArn=existing.physical_id)


def _found_machine(place: Place, name: str) -> Document | None:
    arn = f"arn:aws:states:{place.caller.region}:{place.caller.account}:stateMachine:{name}"
    found = read(place, _MISSING, "stepfunctions", "DescribeStateMachine", stateMachineArn=arn)
    return None if found is None else _attributes(found)


def _existing_machine(place: Place, arn: str, properties: Document) -> Existing:
    shown = place.call("stepfunctions", "DescribeStateMachine", stateMachineArn=arn)
    return Existing(arn, properties, _attributes(shown))


def _attributes(shown: Document) -> Document:
    revision = shown.get("revisionId", "INITIAL")
    return {"Arn": shown["stateMachineArn"], "Name": shown["name"], "StateMachineRevisionId": revision}


def _settings(place: Place, properties: Document) -> Document:
    """All that an update can change, as parameters of the operations."""
    return {
        "definition": _definition(place, properties), "roleArn": properties["RoleArn"],
        "loggingConfiguration": _lowered(properties.get("LoggingConfiguration")),
        "tracingConfiguration": _lowered(properties.get("TracingConfiguration")),
        "encryptionConfiguration": _lowered(properties.get("EncryptionConfiguration")),
    }  # fmt: skip


def _definition(place: Place, properties: Document) -> str:
    """The definition with its substitutions. Errors: PropertyError (none is given); ServiceError (of S3)."""
    if "DefinitionString" in properties:
        text = str(properties["DefinitionString"])
    elif "Definition" in properties:
        text = dump_json(properties["Definition"])
    elif "DefinitionS3Location" in properties:
        text = _stored_definition(place, properties["DefinitionS3Location"])
    else:
        raise PropertyError("One of DefinitionString, Definition and DefinitionS3Location is required.")
    substitutions = properties.get("DefinitionSubstitutions") or {}
    return _SUBSTITUTION.sub(lambda found: str(substitutions.get(found[1], found[0])), text)


def _stored_definition(place: Place, location: Document) -> str:
    bucket, key, version = location["Bucket"], location["Key"], location.get("Version")
    try:
        body = object_content(place.tx, place.caller, bucket, key, version, bytes_max=_DEFINITION_BYTES_MAX)
        return body.decode()
    except ObjectTooLarge as error:
        raise PropertyError(str(error)) from error
    except UnicodeDecodeError as error:
        raise PropertyError(f"The definition at {bucket}/{key} is not text in UTF-8.") from error


def _lowered(value: object) -> Document | None:
    """An object of a template with the names that the API has: `LogGroupArn` is logGroupArn there."""
    if not isinstance(value, dict):
        return None
    return {name[:1].lower() + name[1:]: _lowered_value(one) for name, one in value.items()}


def _lowered_value(value: object) -> object:
    if isinstance(value, list):
        return [_lowered_value(one) for one in value]
    return _lowered(value) if isinstance(value, dict) else value


def _tags(properties: Document) -> list[Document] | None:
    given = properties.get("Tags")
    return None if given is None else [{"key": tag["Key"], "value": tag["Value"]} for tag in given]


def _retag(place: Place, arn: str, old: Document, new: Document) -> None:
    added, removed = tag_changes(old, new)
    if removed:
        place.call("stepfunctions", "UntagResource", resourceArn=arn, tagKeys=removed)
    if added:
        tags = [{"key": key, "value": value} for key, value in added.items()]
        place.call("stepfunctions", "TagResource", resourceArn=arn, tags=tags)


def _create_activity(place: Place, properties: Document) -> Existing:
    made = place.call(
        "stepfunctions", "CreateActivity", name=properties["Name"], tags=_tags(properties),
        encryptionConfiguration=_lowered(properties.get("EncryptionConfiguration")),
    )  # fmt: skip
    arn = str(made["activityArn"])
    return Existing(arn, properties, {"Arn": arn, "Name": properties["Name"]})


def _update_activity(place: Place, existing: Existing, properties: Document) -> Existing:
    _retag(place, existing.physical_id, existing.properties, properties)
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_activity(place: Place, existing: Existing) -> None:
    place.call("stepfunctions", "DeleteActivity", activityArn=existing.physical_id)


def _create_version(place: Place, properties: Document) -> Existing:
    revision = properties.get("StateMachineRevisionId")
    made = place.call(
        "stepfunctions", "PublishStateMachineVersion", stateMachineArn=properties["StateMachineArn"],
        revisionId=revision, description=properties.get("Description"),
    )  # fmt: skip
    arn = str(made["stateMachineVersionArn"])
    return Existing(arn, properties, {"Arn": arn})


def _delete_version(place: Place, existing: Existing) -> None:
    place.call("stepfunctions", "DeleteStateMachineVersion", stateMachineVersionArn=existing.physical_id)


def _routes(properties: Document) -> list[Document]:
    preference = properties.get("DeploymentPreference")
    if preference is not None:
        return [{"stateMachineVersionArn": preference["StateMachineVersionArn"], "weight": 100}]
    routes = properties.get("RoutingConfiguration") or []
    return [
        {"stateMachineVersionArn": one["StateMachineVersionArn"], "weight": int(one["Weight"])} for one in routes
    ]  # fmt: skip


def _create_alias(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    made = place.call(
        "stepfunctions", "CreateStateMachineAlias", name=name, description=properties.get("Description"),
        routingConfiguration=_routes(properties),
    )  # fmt: skip
    arn = str(made["stateMachineAliasArn"])
    return Existing(arn, properties, {"Arn": arn})


def _update_alias(place: Place, existing: Existing, properties: Document) -> Existing:
    place.call(
        "stepfunctions", "UpdateStateMachineAlias", stateMachineAliasArn=existing.physical_id,
        description=properties.get("Description", ""), routingConfiguration=_routes(properties),
    )  # fmt: skip
    return Existing(existing.physical_id, properties, existing.attributes)


def _delete_alias(place: Place, existing: Existing) -> None:
    place.call("stepfunctions", "DeleteStateMachineAlias", stateMachineAliasArn=existing.physical_id)


STATE_MACHINE = ResourceType(
    name="AWS::StepFunctions::StateMachine",
    properties={
        "Definition": JSON,
        "DefinitionS3Location": group(Bucket=required(TEXT), Key=required(TEXT), Version=TEXT),
        "DefinitionString": TEXT,
        "DefinitionSubstitutions": mapping(),
        "EncryptionConfiguration": _ENCRYPTION,
        "LoggingConfiguration": group(
            Destinations=listing(group(CloudWatchLogsLogGroup=group(LogGroupArn=TEXT))),
            IncludeExecutionData=BOOLEAN,
            Level=TEXT,
        ),
        "RoleArn": required(TEXT),
        "StateMachineName": replacing(TEXT),
        "StateMachineType": replacing(TEXT),
        "Tags": TAGS,
        "TracingConfiguration": group(Enabled=BOOLEAN),
    },
    create=_create_machine,
    update=_update_machine,
    delete=_delete_machine,
    attributes=frozenset({"Arn", "Name", "StateMachineRevisionId"}),
    name_property="StateMachineName",
    has_tags=True,
    found=_found_machine,
    missing=_MISSING,
)

STATE_MACHINE_VERSION = ResourceType(
    name="AWS::StepFunctions::StateMachineVersion",
    properties={
        "Description": replacing(TEXT),
        "StateMachineArn": replacing(required(TEXT)),
        "StateMachineRevisionId": replacing(TEXT),
    },
    create=_create_version,
    update=not_updatable,
    delete=_delete_version,
    attributes=frozenset({"Arn"}),
    missing=_MISSING,
)

STATE_MACHINE_ALIAS = ResourceType(
    name="AWS::StepFunctions::StateMachineAlias",
    properties={
        "DeploymentPreference": group(
            Alarms=listing(TEXT), Interval=INTEGER, Percentage=INTEGER, StateMachineVersionArn=required(TEXT),
            Type=required(TEXT),
        ),
        "Description": TEXT,
        "Name": replacing(TEXT),
        "RoutingConfiguration": listing(group(StateMachineVersionArn=required(TEXT), Weight=required(INTEGER))),
        "StateMachineArn": TEXT,
    },
    create=_create_alias,
    update=_update_alias,
    delete=_delete_alias,
    attributes=frozenset({"Arn"}),
    name_property="Name",
    missing=_MISSING,
)  # fmt: skip

ACTIVITY = ResourceType(
    name="AWS::StepFunctions::Activity",
    properties={
        "EncryptionConfiguration": replacing(_ENCRYPTION),
        "Name": replacing(required(TEXT)),
        "Tags": TAGS,
    },
    create=_create_activity,
    update=_update_activity,
    delete=_delete_activity,
    attributes=frozenset({"Arn", "Name"}),
    name_property="Name",
    has_tags=True,
    missing=_MISSING,
)
