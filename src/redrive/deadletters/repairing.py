"""Does repairs, and undoes them: each is said first, and written into the journal before and after.

A repair that was begun when the process ended is done again by the next run, and undone by an undo: both change nothing
that is already so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from botocore.exceptions import ClientError

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.deadletters.journal import Journal
from redrive.deadletters.repairs import (
    Kind,
    Repair,
    function_name,
    policy_text,
    principal_of,
    read_repair,
    schedule_of,
    statements,
)
from redrive.deadletters.sources import Client, rule_of, url_of_queue

_TOLD_ALONE = ("Arn", "CreationDate", "LastModificationDate", "ResponseMetadata")
"""What GetSchedule tells beside the settings that UpdateSchedule takes."""


def repair_all(
    repairs: Iterable[Repair], client: Client, journal: Journal, now: Callable[[], Instant], say: Callable[[str], None]
) -> None:
    """Do the repairs that the journal does not know to be done. Errors: UserError for what AWS refuses."""
    for repair in repairs:
        if journal.is_repaired(repair.document):
            continue
        say(f"Repair: {repair.deed}.")
        journal.repairing(repair.document, now())
        try:
            _do(client, repair)
        except ClientError as error:
            why = f"The repair was refused, and nothing was sent: {repair.deed}: {error}"
            raise UserError(why, next_step="Do it by hand, and take it out of `repairs` in the plan.") from error
        journal.repaired(repair.document, now())


def undo_all(client: Client, journal: Journal, now: Callable[[], Instant]) -> int:
    """Undo the repairs of a journal, the last first; answers how many. Errors: ClientError."""
    count = 0
    for document in reversed(journal.repairs):
        _undo(client, read_repair(document))
        journal.unrepaired(document, now())
        count += 1
    return count


def _do(client: Client, repair: Repair) -> None:
    match repair.kind:
        case Kind.ENABLE_MAPPING:
            client("lambda").update_event_source_mapping(UUID=repair.resource, Enabled=True)
        case Kind.ENABLE_SCHEDULE:
            _set_schedule(client("scheduler"), repair.resource, "ENABLED")
        case Kind.ENABLE_RULE:
            bus, name = rule_of(repair.resource)
            client("events").enable_rule(Name=name, EventBusName=bus)
        case Kind.LIFT_CONCURRENCY:
            client("lambda").delete_function_concurrency(FunctionName=function_name(repair.resource))
        case Kind.ALLOW_FUNCTION:
            _allow_function(client("lambda"), repair)
        case Kind.ALLOW_QUEUE | Kind.ALLOW_TOPIC:
            kept = [one for one in statements(client, repair) if one.get("Sid") != _sid(repair)]
            _write(client, repair, [*kept, _statement(repair)])


def _undo(client: Client, repair: Repair) -> None:
    match repair.kind:
        case Kind.ENABLE_MAPPING:
            client("lambda").update_event_source_mapping(UUID=repair.resource, Enabled=False)
        case Kind.ENABLE_SCHEDULE:
            _set_schedule(client("scheduler"), repair.resource, "DISABLED")
        case Kind.ENABLE_RULE:
            bus, name = rule_of(repair.resource)
            client("events").disable_rule(Name=name, EventBusName=bus)
        case Kind.LIFT_CONCURRENCY:
            client("lambda").put_function_concurrency(
                FunctionName=function_name(repair.resource), ReservedConcurrentExecutions=0
            )
        case Kind.ALLOW_FUNCTION:
            try:
                client("lambda").remove_permission(FunctionName=repair.resource, StatementId=_sid(repair))
            except ClientError as error:
                if error.response["Error"].get("Code") != "ResourceNotFoundException":
                    raise
        case Kind.ALLOW_QUEUE | Kind.ALLOW_TOPIC:
            found = statements(client, repair)
            kept = [one for one in found if one.get("Sid") != _sid(repair)]
            if len(kept) < len(found):
                _write(client, repair, kept)


def _set_schedule(scheduler: Any, arn: str, state: str) -> None:
    """UpdateSchedule replaces a schedule: all that GetSchedule tells of its settings is sent back."""
    told = scheduler.get_schedule(**schedule_of(arn))
    settings = {name: value for name, value in told.items() if name not in _TOLD_ALONE}
    scheduler.update_schedule(**settings | {"State": state})


def _allow_function(functions: Any, repair: Repair) -> None:
    try:
        functions.add_permission(
            FunctionName=repair.resource, StatementId=_sid(repair), Action="lambda:InvokeFunction",
            Principal=principal_of(repair), SourceArn=repair.source,
        )  # fmt: skip
    except ClientError as error:
        if error.response["Error"].get("Code") != "ResourceConflictException":
            raise  # A conflict: an earlier run has added it.


def _write(client: Client, repair: Repair, wanted: list[Document]) -> None:
    """Write the statements of a policy; the rest of the policy stays as it is."""
    text = policy_text(client, repair)
    policy = json.loads(text) if text else {"Version": "2012-10-17"}
    written = json.dumps(policy | {"Statement": wanted}) if wanted else ""
    if repair.kind is Kind.ALLOW_TOPIC:
        client("sns").set_topic_attributes(TopicArn=repair.resource, AttributeName="Policy", AttributeValue=written)
        return
    sqs = client("sqs")
    sqs.set_queue_attributes(QueueUrl=url_of_queue(sqs, repair.resource), Attributes={"Policy": written})


def _statement(repair: Repair) -> Document:
    action = "sqs:SendMessage" if repair.kind is Kind.ALLOW_QUEUE else "sns:Publish"
    return {
        "Sid": _sid(repair), "Effect": "Allow", "Principal": {"Service": principal_of(repair)}, "Action": action,
        "Resource": repair.resource, "Condition": {"ArnEquals": {"aws:SourceArn": repair.source}},
    }  # fmt: skip


def _sid(repair: Repair) -> str:
    """The id of the statement: the same for the same source, so that a second run adds nothing."""
    return f"redrive{hashlib.sha256(repair.source.encode()).hexdigest()[:16]}"
