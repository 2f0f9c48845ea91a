"""The worker of replays: publishes archived events again, minute by minute, in pieces.

The events of a piece, the promises of their deliveries and the replay's progress share a transaction. So a replay that
was interrupted goes on where it was: no event is lost, and none is replayed twice.
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-replay-archived-event.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.core.errors import Bug
from redrive.core.knobs import PRODUCTION
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.upkeep.worker import will_age
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.events.archiving import RETENTION
from redrive.services.events.limits import REPLAYS_KEPT_MS, REPLAYS_PER_CLAIM_MAX
from redrive.services.events.model.archive import Archive
from redrive.services.events.model.bus import DEFAULT_BUS, BusReference, EventBus
from redrive.services.events.model.event import Event, replayed
from redrive.services.events.model.replay import Replay, ReplayState
from redrive.services.events.model.rule import rule_arn
from redrive.services.events.model.timers import REPLAY_TIMER, scope_and_name
from redrive.services.events.publish import publish
from redrive.store.api import Transaction
from redrive.store.tables.archives import ArchivedEvent, Place

_DIGITS = 16
"""The digits of a number in a key, so that keys sort as the numbers do."""


class ReplayWorker:
    """Continues each replay by a bounded number of events in each transaction."""

    name = "replays"
    timer = REPLAY_TIMER
    upkeep = False

    def __init__(self, *, per_claim: int = PRODUCTION.events_replayed_per_claim) -> None:
        """`per_claim`: how many events of a replay one transaction publishes."""
        self._per_claim = per_claim

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(REPLAY_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for timer, _ in tx.timers.due(REPLAY_TIMER, tx.now, REPLAYS_PER_CLAIM_MAX):
            scope, name = scope_and_name(timer)
            replay = tx.resources.get(Replay, scope, name)
            if replay is None or not replay.is_active:
                tx.timers.clear(REPLAY_TIMER, timer)
                continue
            moved = self._moved(tx, scope, replay)
            tx.resources.put(scope, moved)
            if not moved.is_active:
                tx.timers.clear(REPLAY_TIMER, timer)
                will_age(tx, RETENTION, tx.now + REPLAYS_KEPT_MS)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("replays make no attempts")

    def _moved(self, tx: Transaction, scope: Scope, replay: Replay) -> Replay:
        """The replay after its next step."""
        if replay.state is ReplayState.CANCELLING:
            return _ended(tx, replay, ReplayState.CANCELLED)
        archive = tx.resources.get(Archive, scope, replay.archive_name)
        if archive is None or archive.id != replay.archive_id:
            return _ended(tx, replay, ReplayState.FAILED, f"Archive {replay.archive_name} does not exist.")
        bus = BusReference(scope, archive.bus_name)
        if bus.name != DEFAULT_BUS and tx.resources.get(EventBus, scope, bus.name) is None:
            return _ended(tx, replay, ReplayState.FAILED, f"Event bus {bus.name} does not exist.")
        found = tx.archives.page(
            archive.id, Place(replay.minute, replay.seq), start=replay.start_at, end=replay.end_at,
            seq_last=replay.seq_last, limit=self._per_claim,
        )  # fmt: skip
        if found:
            publish(tx, bus, [_event(replay, one) for one in found], chosen=_chosen(bus, replay))
            last = found[-1]
            replayed_to = max(last.at, replay.replayed_to or last.at)
            replay = replace(
                replay, state=ReplayState.RUNNING, minute=last.minute, seq=last.seq, replayed_to=replayed_to
            )  # fmt: skip
        return replay if len(found) == self._per_claim else _ended(tx, replay, ReplayState.COMPLETED)


def _event(replay: Replay, archived: ArchivedEvent) -> Event:
    """An archived event under its own id.

    The key tells its deliveries from those of the first time. Deliveries that are due at one instant go out in the
    order of their keys.
    """
    key = f"{replay.uid}.{archived.minute:0{_DIGITS}}.{archived.seq:0{_DIGITS}}"
    return Event(key, replayed(load_json(archived.event), replay.name))


def _chosen(bus: BusReference, replay: Replay) -> frozenset[str] | None:
    """The names of the rules of a bus that get the events; None for all rules."""
    if replay.rule_arns is None:
        return None
    prefix = rule_arn(bus.scope, bus.name, "")
    return frozenset(arn.removeprefix(prefix) for arn in replay.rule_arns if arn.startswith(prefix))


def _ended(tx: Transaction, replay: Replay, state: ReplayState, reason: str | None = None) -> Replay:
    return replace(replay, state=state, reason=reason, ended_at=tx.now)
