"""The steps of rotations: how a rotation begins, goes on and ends.

A step calls the secret's function as Secrets Manager, whom the function's policy has to allow.
Source: https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotate-secrets_lambda-functions.html
"""

from __future__ import annotations

from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import dump_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.finding import Found
from redrive.services.secretsmanager.model.requests import invalid_request
from redrive.services.secretsmanager.model.schedules import next_rotation
from redrive.services.secretsmanager.model.secret import (
    CURRENT,
    PENDING,
    ROTATION_TIMER,
    Rotation,
    Secret,
    Version,
    staged,
    timer_name,
)
from redrive.store.api import Transaction

STEPS = ("createSecret", "setSecret", "testSecret", "finishSecret")
_TEST = STEPS.index("testSecret")
_SERVICE = "secretsmanager.amazonaws.com"


def check_invocable(tx: Transaction, found: Found, function: str) -> None:
    """Refuse a function that is not there, or that Secrets Manager may not call. Errors: AccessDeniedException."""
    try:
        params = {"FunctionName": function, "InvocationType": "DryRun"}
        tx.services.call(tx, as_service(tx, found), "lambda", "Invoke", params)
    except ServiceError:
        raise ServiceError(
            "AccessDeniedException",
            "Secrets Manager cannot invoke the specified Lambda function. Ensure that the function policy grants "
            "access to the principal secretsmanager.amazonaws.com.",
        ) from None


def as_service(tx: Transaction, found: Found) -> Caller:
    """Return Secrets Manager as the caller of a function, for one secret."""
    return Caller(found.scope, new_uuid(tx.entropy), service=_SERVICE, source_arn=found.arn)


def begin(tx: Transaction, found: Found, token: str | None, *, only_test: bool = False) -> tuple[Found, str]:
    """Begin a rotation, or go on with the version that an earlier one has left. Returns the id of the version.

    Errors: InvalidRequestException (a rotation is under way, or has left its version pending).
    """
    secret = found.secret
    left = secret.with_stage(PENDING)
    is_left = left is not None and CURRENT not in left.stages
    if token is not None and (secret.rotation is not None or is_left):
        raise invalid_request("A previous rotation isn't complete. That rotation will be reattempted.")
    version_id = left.id if left is not None and is_left else token or new_uuid(tx.entropy)
    versions = secret.versions
    if secret.version(version_id) is None:
        versions = (*versions, Version(version_id, tx.now, (), has_value=False))
    rotation = Rotation(version_id, _TEST if only_test else 0, only_test=only_test)
    changed = replace(secret, versions=staged(versions, version_id, (PENDING,)), rotation=rotation)
    return _put(tx, found, changed, tx.now), version_id


def event_of(found: Found, rotation: Rotation) -> bytes:
    """Return the event of a step."""
    event = {"Step": STEPS[rotation.step], "SecretId": found.arn, "ClientRequestToken": rotation.token}
    return dump_json(event).encode()


def succeeded(tx: Transaction, found: Found, rotation: Rotation) -> None:
    """Go on after a step: to the next one, or to the end of the rotation."""
    if rotation.only_test:
        _end_test(tx, found, rotation)
        return
    if rotation.step + 1 < len(STEPS):
        following = replace(rotation, step=rotation.step + 1, failures=0)
        _put(tx, found, replace(found.secret, rotation=following), tx.now)
        return
    version = found.secret.version(rotation.token)
    is_current = version is not None and CURRENT in version.stages
    ended = replace(found.secret, rotation=None, rotated_at=tx.now if is_current else found.secret.rotated_at)
    planned(tx, replace_secret(found, ended))


def failed(tx: Transaction, found: Found, rotation: Rotation) -> None:
    """Call a step again a while later; after the last time, the version stays pending until the next rotation."""
    if rotation.failures < len(limits.STEP_WAITS_MS):
        wait_ms = limits.STEP_WAITS_MS[rotation.failures]
        again = replace(found.secret, rotation=replace(rotation, failures=rotation.failures + 1))
        _put(tx, found, again, tx.now + wait_ms)
    elif rotation.only_test:
        _end_test(tx, found, rotation)
    else:
        planned(tx, replace_secret(found, replace(found.secret, rotation=None)))


def planned(tx: Transaction, found: Found) -> Found:
    """Store a secret with the time of its next rotation."""
    secret = found.secret
    rotates_at = next_rotation(secret.rotation_rules, tx.now) if secret.rotation_enabled else None
    return _put(tx, found, replace(secret, rotates_at=rotates_at), rotates_at)


def replace_secret(found: Found, secret: Secret) -> Found:
    """Return the same place with another state of the secret."""
    return Found(found.scope, secret)


def _end_test(tx: Transaction, found: Found, rotation: Rotation) -> None:
    """End the test of a function: the version that it was shown goes, unless the function has stored a value."""
    versions = tuple(one for one in found.secret.versions if one.id != rotation.token or one.has_value)
    planned(tx, replace_secret(found, replace(found.secret, versions=versions, rotation=None)))


def _put(tx: Transaction, found: Found, secret: Secret, due_at: Instant | None) -> Found:
    tx.resources.put(found.scope, secret)
    timer = timer_name(found.scope, secret.name)
    if due_at is None:
        tx.timers.clear(ROTATION_TIMER, timer)
    else:
        tx.timers.set(ROTATION_TIMER, timer, due_at)
        tx.notify("due")
    return Found(found.scope, secret)
