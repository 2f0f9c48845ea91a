"""AWS::SecretsManager::Secret, ResourcePolicy, RotationSchedule and SecretTargetAttachment.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_SecretsManager.html
"""

from __future__ import annotations

from redrive.core.documents import Document, dump_json, load_json
from redrive.services.cloudformation.types.resource import (
    Existing,
    Place,
    ResourceType,
    changed_keys,
    not_updatable,
    tag_changes,
)
from redrive.services.cloudformation.types.schema import (
    BOOLEAN,
    INTEGER,
    JSON,
    TAGS,
    TEXT,
    UNAVAILABLE,
    PropertyError,
    as_text,
    group,
    replacing,
    required,
)

_NAME_LENGTH_MAX = 512
_MISSING = frozenset({"ResourceNotFoundException"})
_PASSWORD_MEMBERS = (
    "ExcludeCharacters", "ExcludeLowercase", "ExcludeNumbers", "ExcludePunctuation", "ExcludeUppercase",
    "IncludeSpace", "PasswordLength", "RequireEachIncludedType",
)  # fmt: skip


def _create_secret(place: Place, properties: Document) -> Existing:
    name = place.name(properties.get("Name"), _NAME_LENGTH_MAX)
    made = place.call(
        "secretsmanager", "CreateSecret", Name=name, Description=properties.get("Description"),
        KmsKeyId=properties.get("KmsKeyId"), SecretString=_value(place, properties), Tags=properties.get("Tags"),
    )  # fmt: skip
    return Existing(made["ARN"], properties, {"Id": made["ARN"]})


def _value(place: Place, properties: Document) -> str | None:
    """Return the first value of a secret: the given one, a random one, or a JSON document with a random member."""
    generated = properties.get("GenerateSecretString")
    if generated is None:
        given = properties.get("SecretString")
        return None if given is None else str(given)
    if "SecretString" in properties:
        raise PropertyError("You can't specify both SecretString and GenerateSecretString.")
    wanted = {member: generated.get(member) for member in _PASSWORD_MEMBERS}
    password = str(place.call("secretsmanager", "GetRandomPassword", **wanted)["RandomPassword"])
    template, key = generated.get("SecretStringTemplate"), generated.get("GenerateStringKey")
    if template is None and key is None:
        return password
    if template is None or key is None:
        raise PropertyError("SecretStringTemplate and GenerateStringKey have to be given together.")
    try:
        document = load_json(template)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise PropertyError("SecretStringTemplate is not a JSON object.")
    return dump_json({**document, key: password})


def _update_secret(place: Place, existing: Existing, properties: Document) -> Existing:
    arn, changed = existing.physical_id, changed_keys(existing.properties, properties)
    if changed & {"Description", "KmsKeyId", "SecretString", "GenerateSecretString"}:
        makes_value = changed & {"SecretString", "GenerateSecretString"}
        place.call(
            "secretsmanager", "UpdateSecret", SecretId=arn, Description=properties.get("Description", ""),
            KmsKeyId=properties.get("KmsKeyId"), SecretString=_value(place, properties) if makes_value else None,
        )  # fmt: skip
    tags, removed = tag_changes(existing.properties, properties)
    if removed:
        place.call("secretsmanager", "UntagResource", SecretId=arn, TagKeys=removed)
    if tags:
        given = [{"Key": key, "Value": value} for key, value in tags.items()]
        place.call("secretsmanager", "TagResource", SecretId=arn, Tags=given)
    return Existing(arn, properties, existing.attributes)


def _delete_secret(place: Place, existing: Existing) -> None:
    place.call("secretsmanager", "DeleteSecret", SecretId=existing.physical_id, ForceDeleteWithoutRecovery=True)


def _put_policy(place: Place, properties: Document) -> Existing:
    made = place.call(
        "secretsmanager", "PutResourcePolicy", SecretId=properties["SecretId"],
        ResourcePolicy=as_text(properties["ResourcePolicy"]), BlockPublicPolicy=properties.get("BlockPublicPolicy"),
    )  # fmt: skip
    return Existing(made["ARN"], properties, {"Id": made["ARN"]})


def _update_policy(place: Place, existing: Existing, properties: Document) -> Existing:  # noqa: ARG001 - put anew.
    return _put_policy(place, properties)


def _delete_policy(place: Place, existing: Existing) -> None:
    place.call("secretsmanager", "DeleteResourcePolicy", SecretId=existing.physical_id)


def _rotate(place: Place, properties: Document) -> Existing:
    if "RotationLambdaARN" not in properties:
        raise PropertyError("redrive serves rotation by a function that RotationLambdaARN names.")
    made = place.call(
        "secretsmanager", "RotateSecret", SecretId=properties["SecretId"],
        RotationLambdaARN=properties["RotationLambdaARN"], RotationRules=properties.get("RotationRules"),
        RotateImmediately=properties.get("RotateImmediatelyOnUpdate"),
    )  # fmt: skip
    return Existing(made["ARN"], properties, {"Id": made["ARN"]})


def _update_rotation(place: Place, existing: Existing, properties: Document) -> Existing:  # noqa: ARG001 - as above.
    return _rotate(place, properties)


def _cancel_rotation(place: Place, existing: Existing) -> None:
    place.call("secretsmanager", "CancelRotateSecret", SecretId=existing.physical_id)


def _attach(place: Place, properties: Document) -> Existing:
    """Attach a secret to a database, which redrive does not have: its secret stays as it is."""
    made = place.call("secretsmanager", "DescribeSecret", SecretId=properties["SecretId"])
    return Existing(made["ARN"], properties, {"Id": made["ARN"]})


def _detach(place: Place, existing: Existing) -> None:
    """Do nothing: nothing was written."""


def _warn_of_attachment(properties: Document) -> str:
    return f"redrive does not serve {properties.get('TargetType')}: its address is not written to the secret."


SECRET = ResourceType(
    name="AWS::SecretsManager::Secret",
    properties={
        "Description": TEXT,
        "GenerateSecretString": group(
            ExcludeCharacters=TEXT, ExcludeLowercase=BOOLEAN, ExcludeNumbers=BOOLEAN, ExcludePunctuation=BOOLEAN,
            ExcludeUppercase=BOOLEAN, GenerateStringKey=TEXT, IncludeSpace=BOOLEAN, PasswordLength=INTEGER,
            RequireEachIncludedType=BOOLEAN, SecretStringTemplate=TEXT,
        ),
        "KmsKeyId": TEXT,
        "Name": replacing(TEXT),
        "ReplicaRegions": UNAVAILABLE,
        "SecretString": TEXT,
        "Tags": TAGS,
        "Type": UNAVAILABLE,
    },
    create=_create_secret,
    update=_update_secret,
    delete=_delete_secret,
    attributes=frozenset({"Id"}),
    name_property="Name",
    has_tags=True,
    missing=_MISSING,
)  # fmt: skip

SECRET_POLICY = ResourceType(
    name="AWS::SecretsManager::ResourcePolicy",
    properties={
        "BlockPublicPolicy": BOOLEAN,
        "ResourcePolicy": required(JSON),
        "SecretId": replacing(required(TEXT)),
    },
    create=_put_policy,
    update=_update_policy,
    delete=_delete_policy,
    attributes=frozenset({"Id"}),
    missing=_MISSING,
)

ROTATION_SCHEDULE = ResourceType(
    name="AWS::SecretsManager::RotationSchedule",
    properties={
        "ExternalSecretRotationMetadata": UNAVAILABLE,
        "ExternalSecretRotationRoleArn": UNAVAILABLE,
        "HostedRotationLambda": UNAVAILABLE,
        "RotateImmediatelyOnUpdate": BOOLEAN,
        "RotationLambdaARN": TEXT,
        "RotationRules": group(AutomaticallyAfterDays=INTEGER, Duration=TEXT, ScheduleExpression=TEXT),
        "SecretId": replacing(required(TEXT)),
    },
    create=_rotate,
    update=_update_rotation,
    delete=_cancel_rotation,
    attributes=frozenset({"Id"}),
    missing=_MISSING,
)

SECRET_TARGET_ATTACHMENT = ResourceType(
    name="AWS::SecretsManager::SecretTargetAttachment",
    properties={"SecretId": replacing(required(TEXT)), "TargetId": required(TEXT), "TargetType": required(TEXT)},
    create=_attach,
    update=not_updatable,
    delete=_detach,
    attributes=frozenset({"Id"}),
    missing=_MISSING,
    warn=_warn_of_attachment,
)
