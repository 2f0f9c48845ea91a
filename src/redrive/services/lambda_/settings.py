"""Build a function's configuration from a request, and check its role, queue and layers."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.iam import passed_to
from redrive.services.lambda_.code import layers_of
from redrive.services.lambda_.model.code import check_environment, check_runtime, check_sizes
from redrive.services.lambda_.model.function import Function, invalid_parameter
from redrive.services.lambda_.queues import authorize_on_queue
from redrive.services.lambda_.runs import PRINCIPAL, assume_function_role
from redrive.services.lambda_.topics import authorize_on_topic
from redrive.store.api import Transaction


class Beginning(TypedDict):
    """The fields of a function that each creation and each update set."""

    modified_at: Instant
    passage_at: Instant
    is_first_passage: bool
    revision: str
    settled_revision: str


def beginning(tx: Transaction) -> Beginning:
    """Return the fields for a creation or update that starts now: its revision, and the revision after its end."""
    return {
        "modified_at": tx.now,
        "passage_at": tx.now,
        "is_first_passage": False,
        "revision": new_uuid(tx.entropy),
        "settled_revision": new_uuid(tx.entropy),
    }


def configured(
    tx: Transaction, caller: Caller, function: Function, *,
    role: str | None, handler: str | None, runtime: str | None, description: str | None, timeout: int | None,
    memory_size: int | None, vpc_config: Document | None, environment: Document | None,
    dead_letter_config: Document | None, kms_key_arn: str | None, tracing_config: Document | None,
    ephemeral_storage: Document | None, snap_start: Document | None, logging_config: Document | None,
    layers: list[str] | None,
) -> Function:  # fmt: skip
    """Return the function with a new revision and the given parts of its configuration, all checked."""
    given_logging = logging_config or {}
    updated = replace(
        function,
        role=role or function.role,
        handler=handler or function.handler,
        runtime=runtime or function.runtime,
        description=function.description if description is None else description,
        timeout_s=timeout or function.timeout_s,
        memory_mb=memory_size or function.memory_mb,
        ephemeral_mb=(ephemeral_storage or {}).get("Size", function.ephemeral_mb),
        vpc_config=function.vpc_config if vpc_config is None else vpc_config,
        environment=function.environment if environment is None else dict(environment.get("Variables") or {}),
        dead_letter_arn=(dead_letter_config or {}).get("TargetArn", function.dead_letter_arn),
        kms_key_arn=function.kms_key_arn if kms_key_arn is None else kms_key_arn,
        tracing=(tracing_config or {}).get("Mode", function.tracing),
        snap_start=(snap_start or {}).get("ApplyOn", function.snap_start),
        log_group=str(given_logging.get("LogGroup") or function.log_group),
        logging=function.logging.changed(given_logging),
        layers=function.layers if layers is None else layers_of(tx, caller, layers),
        **beginning(tx),
    )
    check_sizes(timeout_s=updated.timeout_s, memory_mb=updated.memory_mb, ephemeral_mb=updated.ephemeral_mb)
    check_runtime(updated.runtime)
    check_environment(updated.environment or {})
    if role is not None:
        tx.services.authorize(tx, caller, "iam:PassRole", role, context=passed_to(PRINCIPAL, function.arn))
    if role is not None or dead_letter_config is not None:
        _check_role(tx, caller, updated)
    return updated


def _check_role(tx: Transaction, caller: Caller, function: Function) -> None:
    """Check that Lambda may assume the role, and that the role may write the function's dead letters."""
    try:
        session = assume_function_role(
            tx,
            role_arn=function.role,
            function_arn=function.arn,
            function_name=function.name,
            request_id=caller.request_id,
        )
    except ServiceError:
        raise invalid_parameter("The role defined for the function cannot be assumed by Lambda.") from None
    if not function.dead_letter_arn:
        return
    service = Arn.parse(function.dead_letter_arn).service
    try:
        if service == "sqs":
            authorize_on_queue(tx, session, "sqs:SendMessage", function.dead_letter_arn)
        else:
            authorize_on_topic(tx, session, "sns:Publish", function.dead_letter_arn)
    except ServiceError:
        verb, name = ("SendMessage", "SQS") if service == "sqs" else ("Publish", "SNS")
        raise invalid_parameter(
            f"The provided execution role does not have permissions to call {verb} on {name}"
        ) from None
