"""Events of executions in a log group, as the machine's logging configuration asks for them.

A machine without logging costs a look into its configuration. What cannot be written is lost, as on AWS.
Source: https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from redrive.core.documents import Document, dump_json
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.stepfunctions.model.execution import MachineExecution
from redrive.services.stepfunctions.model.history import KeptEvent
from redrive.services.stepfunctions.model.logging import is_logged, log_group_of, record_of
from redrive.services.stepfunctions.model.machine import Revision
from redrive.store.api import Transaction


def write_events(
    tx: Transaction, execution: MachineExecution, revision: Revision, events: Sequence[KeptEvent], redrives: int
) -> None:
    """Write the events that the level asks for into the machine's stream of this hour."""
    if not revision.logging:
        return
    group = log_group_of(revision.logging)
    wanted = [event for event in events if is_logged(revision.logging, event)]
    if not group or not wanted:
        return
    with_data = bool(revision.logging.get("includeExecutionData"))
    records = [record_of(event, execution.arn, redrives, with_data=with_data) for event in wanted]
    hour = datetime.fromtimestamp(tx.now // 1000, UTC)
    name = execution.machine_name.replace("/", "_")
    stream = f"states/{name}/{hour:%Y-%m-%d-%H-00}/{revision.id.partition('-')[0]}"
    messages = [{"timestamp": tx.now, "message": dump_json(record)} for record in records]
    caller = Caller(execution.scope, new_uuid(tx.entropy))
    params: Document = {"logGroupName": group, "logStreamName": stream, "logEvents": messages}
    try:
        _put(tx, caller, params)
    except ServiceError:
        return  # The group is gone.


def _put(tx: Transaction, caller: Caller, params: Document) -> None:
    try:
        tx.services.call(tx, caller, "logs", "PutLogEvents", params)
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        made = {name: params[name] for name in ("logGroupName", "logStreamName")}
        tx.services.call(tx, caller, "logs", "CreateLogStream", made)
        tx.services.call(tx, caller, "logs", "PutLogEvents", params)
