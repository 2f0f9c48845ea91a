"""The worker of move tasks: each step moves some messages and counts them, in one transaction.

After a crash the whole step has happened or none of it, so no message is lost, moved twice or counted wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.arn import Arn
from redrive.core.clock import SECOND_MS, Instant
from redrive.core.entropy import new_row_id
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.sources.watches import arrived
from redrive.delivery.upkeep.worker import will_age
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.sqs import limits
from redrive.services.sqs.model.move_tasks import (
    QUEUE_GONE,
    SOURCE_UNKNOWN,
    TOO_LONG,
    MoveStatus,
    MoveTask,
    movable,
    next_move_at,
)
from redrive.services.sqs.model.queue import Queue, dedup_scope
from redrive.services.sqs.retention import RETENTION
from redrive.store.api import Transaction
from redrive.store.tables.messages import NewMessage, ReceivedMessage
from redrive.store.tables.runs import Move

MOVES = "sqs.moves"
"""The kind of the tasks' timers, and the name of their worker."""


MOVE_TASK = "move task"
"""The kind of the recorded moves that a task made."""


def begin_task(tx: Transaction, scope: Scope, task: MoveTask) -> None:
    """Store a new task and start it."""
    tx.resources.put(scope, task)
    tx.timers.set(MOVES, f"{scope}/{task.name}", tx.now)
    tx.notify("due")


def end_task(tx: Transaction, scope: Scope, task: MoveTask, status: MoveStatus, reason: str = "") -> None:
    """Store the final state of a task, which then moves no more messages."""
    tx.resources.put(scope, dataclasses.replace(task, status=status, failure_reason=reason))
    tx.timers.clear(MOVES, f"{scope}/{task.name}")


class MoveTaskWorker:
    """Moves the messages of running tasks, each task at its rate."""

    name = timer = MOVES
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(MOVES)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        tx.be_alone()  # Between reading a message and moving it, nobody may receive it.
        for name, _ in tx.timers.due(MOVES, tx.now, limits.TASKS_PER_CLAIM_MAX):
            account, region, task_name = name.split("/", 2)
            scope = Scope(account, region)
            task = tx.resources.get(MoveTask, scope, task_name)
            if task is None or not task.is_active:
                raise Bug(f"a timer is set for {name}, which does not run")
            _go_on(tx, scope, task)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("move tasks make no attempts")


def _go_on(tx: Transaction, scope: Scope, task: MoveTask) -> None:
    """Move the messages that the rate allows by now, or end the task."""
    source = tx.resources.get(Queue, scope, Arn.parse(task.source_arn).resource)
    if source is None or source.id != task.queue_id:
        end_task(tx, scope, task, MoveStatus.FAILED, QUEUE_GONE)
        return
    if tx.now - task.started_at >= limits.TASK_MS_MAX:
        end_task(tx, scope, task, MoveStatus.FAILED, TOO_LONG)
        return
    limit = movable(task, tx.now)
    list_visible = tx.messages.visible_in_order if source.is_fifo else tx.messages.visible
    messages = list_visible(source.contents, tx.now, limit=limit)
    for message in messages:
        arn = task.destination_arn or message.source_queue_arn
        target = None if arn is None else _find(tx, arn)
        if target is None or target.is_fifo != source.is_fifo:
            end_task(tx, scope, task, MoveStatus.FAILED, SOURCE_UNKNOWN if arn is None else QUEUE_GONE)
            return
        _move(tx, source, target, message)
        task = dataclasses.replace(task, moved=task.moved + 1)
    if task.moved >= task.to_move or (limit > 0 and not messages):
        end_task(tx, scope, task, MoveStatus.COMPLETED)
        return
    tx.resources.put(scope, task)
    tx.timers.set(MOVES, f"{scope}/{task.name}", next_move_at(task, tx.now))


def _move(tx: Transaction, source: Queue, target: Queue, message: ReceivedMessage) -> None:
    """Move a message to another queue, with the present time as its time of sending."""
    message_id = new_row_id(tx.entropy, tx.now)
    settings = target.attributes
    moved = NewMessage(
        queue=target.contents, message_id=message_id, body=message.body, body_md5=message.body_md5,
        attributes=message.attributes, system_attributes=message.system_attributes, sender_id=message.sender_id,
        group_id=message.group_id, sent_at=tx.now, visible_at=tx.now + settings.delay_s * SECOND_MS,
        expires_at=tx.now + settings.retention_ms, deduplication_id=message_id if target.is_fifo else None,
        cause=message.execution_id,
    )  # fmt: skip
    if target.is_fifo:
        assert message.group_id is not None
        tx.messages.take_out_in_order(source.contents, message.seq, message.group_id)
        tx.messages.put_in_order(moved, remembered_by=target.contents, scope=dedup_scope(target, message.group_id))
    else:
        tx.messages.take_out(message.seq)
        tx.messages.put_many((moved,))
    move = Move(
        tx.now, message.execution_id, MOVE_TASK, source.arn, target.arn, message.message_id, message_id,
        message.receive_count,
    )  # fmt: skip
    tx.runs.move([move])
    will_age(tx, RETENTION, moved.expires_at)
    tx.notify(target.topic)
    arrived(tx, target.arn, moved.visible_at)


def _find(tx: Transaction, arn: str) -> Queue | None:
    place = Arn.parse(arn)
    return tx.resources.get(Queue, Scope(place.account, place.region), place.resource)
