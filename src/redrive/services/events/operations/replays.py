"""The operations on replays. The worker in `workers/replays.py` publishes the events."""

from __future__ import annotations

import re
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.services.events import limits
from redrive.services.events.listing import Asked, listed
from redrive.services.events.model.archive import archive_arn
from redrive.services.events.model.bus import reference_of
from redrive.services.events.model.replay import CANCELLABLE, Replay, ReplayState, replay_arn
from redrive.services.events.model.requests import exists_already, invalid, limit_exceeded, no_such_bus, not_found
from redrive.services.events.model.timers import REPLAY_TIMER, timer_name
from redrive.services.events.operations.archives import find_archive
from redrive.services.events.operations.buses import find_bus
from redrive.store.api import Transaction
from redrive.store.tables.archives import minute_of

_BUS_ARN = re.compile(r"arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/[/._A-Za-z0-9-]+")


@operation("StartReplay")
def start_replay(
    tx: Transaction, caller: Caller, *, replay_name: str, event_source_arn: str, event_start_time: Instant,
    event_end_time: Instant, destination: Document, description: str | None = None,
) -> Document:  # fmt: skip
    """Start to send the events of an archive to its bus again: those whose time is in the range, to all or some rules.

    Errors: ValidationException (the archive, another bus than the archive's, the range); ResourceNotFoundException (the
    bus); ResourceAlreadyExistsException; LimitExceededException (10 replays have not ended).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_StartReplay.html
    """
    scope, arn = caller.scope, replay_arn(caller.scope, replay_name)
    tx.services.authorize(tx, caller, "events:StartReplay", arn)
    if _BUS_ARN.fullmatch(destination["Arn"]) is None:
        raise invalid("Parameter Destination.Arn is not valid. Reason: Provided Arn is not in correct format.")
    bus = reference_of(scope, destination["Arn"])
    if bus.scope != scope or find_bus(tx, bus) is None:
        raise no_such_bus(bus.name)
    archive_name = event_source_arn.rsplit("/", 1)[-1]
    archive = find_archive(tx, scope, archive_name)
    if archive is None or archive.arn(scope) != event_source_arn:
        raise invalid(f"Parameter EventSourceArn is not valid. Reason: Archive {archive_name} does not exist.")
    if archive.bus_name != bus.name:
        raise invalid("Parameter Destination.Arn is not valid. Reason: Cross event bus replay is not permitted.")
    if event_end_time <= event_start_time:
        raise invalid("Parameter EventEndTime is not valid. Reason: EventStartTime must be before EventEndTime.")
    # No event is on its way into the archive when its last one is noted, and no other replay begins meanwhile.
    tx.be_alone()
    if tx.resources.get(Replay, scope, replay_name) is not None:
        raise exists_already("Replay", replay_name)
    if tx.services.limits is Limits.STRICT and _active(tx, scope) >= limits.REPLAYS_MAX:
        raise limit_exceeded()
    replay = Replay(
        replay_name, new_uuid(tx.entropy), archive_name, archive.id, destination, event_start_time, event_end_time,
        seq_last=tx.archives.last_seq(), started_at=tx.now, minute=minute_of(event_start_time),
        description=description,
    )  # fmt: skip
    tx.resources.put(scope, replay)
    _wake(tx, scope, replay)
    return {"ReplayArn": arn, "State": replay.state.value, "ReplayStartTime": replay.started_at}


@operation("CancelReplay")
def cancel_replay(tx: Transaction, caller: Caller, *, replay_name: str) -> Document:
    """Stop a replay. Events that were replayed before are delivered.

    Errors: ResourceNotFoundException; IllegalStatusException (the replay has ended or is being cancelled).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CancelReplay.html
    """
    arn = replay_arn(caller.scope, replay_name)
    tx.services.authorize(tx, caller, "events:CancelReplay", arn)
    replay = _the_replay(tx, caller.scope, replay_name)
    if replay.state not in CANCELLABLE:
        message = f"Replay {replay_name} is not in a valid state for this operation."
        raise ServiceError("IllegalStatusException", message)
    cancelled = replace(replay, state=ReplayState.CANCELLING)
    tx.resources.put(caller.scope, cancelled)
    _wake(tx, caller.scope, cancelled)
    return {"ReplayArn": arn, "State": cancelled.state.value}


@operation("DescribeReplay")
def describe_replay(tx: Transaction, caller: Caller, *, replay_name: str) -> Document:
    """Show a replay and its progress.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DescribeReplay.html
    """
    arn = replay_arn(caller.scope, replay_name)
    tx.services.authorize(tx, caller, "events:DescribeReplay", arn)
    replay = _the_replay(tx, caller.scope, replay_name)
    shown = _overview(caller.scope, replay)
    return {**shown, "ReplayArn": arn, "Description": replay.description, "Destination": replay.destination}


@operation("ListReplays")
def list_replays(
    tx: Transaction, caller: Caller, *, name_prefix: str | None = None, state: str | None = None,
    event_source_arn: str | None = None, next_token: str | None = None, limit: int | None = None,
) -> Document:  # fmt: skip
    """List replays sorted by name: all, or those of one filter.

    Errors: ValidationException (several filters; an invalid NextToken).
    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListReplays.html
    """
    tx.services.authorize(tx, caller, "events:ListReplays", replay_arn(caller.scope, "*"))
    asked = Asked("ListReplays", name_prefix, (event_source_arn, state), next_token, limit)
    asked.check_one_filter()
    page, token = listed(
        tx, Replay, caller.scope, asked,
        lambda replay: event_source_arn in (None, archive_arn(caller.scope, replay.archive_name))
        and state in (None, replay.state.value),
    )  # fmt: skip
    return {"Replays": [_overview(caller.scope, replay) for replay in page], "NextToken": token}


def _the_replay(tx: Transaction, scope: Scope, name: str) -> Replay:
    replay = tx.resources.get(Replay, scope, name)
    if replay is None:
        raise not_found(f"Replay {name} does not exist.")
    return replay


def _active(tx: Transaction, scope: Scope) -> int:
    return sum(replay.is_active for replay in tx.resources.list(Replay, scope))


def _wake(tx: Transaction, scope: Scope, replay: Replay) -> None:
    tx.timers.set(REPLAY_TIMER, timer_name(scope, replay.name), tx.now)
    tx.notify("due")


def _overview(scope: Scope, replay: Replay) -> Document:
    return {
        "ReplayName": replay.name, "EventSourceArn": archive_arn(scope, replay.archive_name),
        "State": replay.state.value, "StateReason": replay.reason, "EventStartTime": replay.start_at,
        "EventEndTime": replay.end_at, "EventLastReplayedTime": replay.replayed_to,
        "ReplayStartTime": replay.started_at, "ReplayEndTime": replay.ended_at,
    }  # fmt: skip
