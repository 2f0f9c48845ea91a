"""The operations on the rotation of a secret. The worker in `workers/rotations.py` does the steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.secretsmanager.finding import Found, find
from redrive.services.secretsmanager.model.requests import invalid_request
from redrive.services.secretsmanager.model.schedules import check_rules, next_rotation
from redrive.services.secretsmanager.model.secret import PENDING, ROTATION_TIMER, timer_name
from redrive.services.secretsmanager.rotating import begin, check_invocable, planned
from redrive.store.api import Transaction


@operation("RotateSecret")
def rotate_secret(
    tx: Transaction, caller: Caller, *, secret_id: str, client_request_token: str | None = None,
    rotation_lambda_arn: str | None = None, rotation_rules: Document | None = None,
    external_secret_rotation_metadata: Sequence[Document] | None = None,
    external_secret_rotation_role_arn: str | None = None, rotate_immediately: bool | None = None,
) -> Document:  # fmt: skip
    """Set how a secret is rotated, and rotate it at once or only test its function.

    Errors: ResourceNotFoundException; InvalidRequestException (no function; a rotation is under way; deleted);
    InvalidParameterException (rules); AccessDeniedException (the function cannot be called).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_RotateSecret.html
    """
    more = {} if rotation_lambda_arn is None else {"secretsmanager:RotationLambdaARN": (rotation_lambda_arn,)}
    found = find(tx, caller, "RotateSecret", secret_id, more=more)
    if external_secret_rotation_metadata or external_secret_rotation_role_arn:
        raise invalid_request("redrive serves no secrets that partners manage.")
    secret = found.secret
    function = rotation_lambda_arn or secret.rotation_function
    if function is None:
        raise invalid_request("No Lambda rotation function ARN is associated with this secret.")
    if rotation_rules is not None:
        check_rules(rotation_rules)
    check_invocable(tx, found, function)
    rules = secret.rotation_rules if rotation_rules is None else rotation_rules
    changed = replace(
        secret, rotation_enabled=True, rotation_function=function, rotation_rules=rules, changed_at=tx.now,
        rotates_at=next_rotation(rules, tx.now),
    )  # fmt: skip
    token = client_request_token or new_uuid(tx.entropy)
    _, version_id = begin(tx, Found(found.scope, changed), token, only_test=rotate_immediately is False)
    answer = {"ARN": found.arn, "Name": secret.name}
    return answer if rotate_immediately is False else {**answer, "VersionId": version_id}


@operation("CancelRotateSecret")
def cancel_rotate_secret(tx: Transaction, caller: Caller, *, secret_id: str) -> Document:
    """Rotate a secret no more. What a rotation under way has made stays pending.

    Errors: ResourceNotFoundException; InvalidRequestException (deleted).
    Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CancelRotateSecret.html
    """
    found = find(tx, caller, "CancelRotateSecret", secret_id)
    secret = found.secret
    pending = secret.with_stage(PENDING)
    planned(tx, Found(found.scope, replace(secret, rotation_enabled=False, rotation=None, fence=secret.fence + 1)))
    tx.timers.clear(ROTATION_TIMER, timer_name(found.scope, secret.name))
    answer = {"ARN": found.arn, "Name": secret.name}
    return answer if pending is None else {**answer, "VersionId": pending.id}
