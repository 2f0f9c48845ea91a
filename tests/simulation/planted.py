"""Defects to plant in the engine, each the kind that a tired person writes. The simulation must find every one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.retry import Backoff, Failed, FailureKind, RetryPolicy, Verdict, decide
from redrive.core.scope import Caller, Scope
from redrive.delivery import deliver
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.outside.errand import Result
from redrive.delivery.sources import source as sources
from redrive.delivery.sources import targets
from redrive.delivery.sources.classify import classify
from redrive.delivery.sources.letters import Letter
from redrive.delivery.worker import Attempt, FreeSlots, Worker
from redrive.engine.engine import Claimed, Engine
from redrive.engine.services import BoundServices
from redrive.languages.letters import LAMBDA
from redrive.services.dynamodb.operations import items as dynamodb_items
from redrive.services.events import publish as publishing
from redrive.services.events import source as events_source
from redrive.services.events.matchers import BusRules
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.event import Event as BusEvent
from redrive.services.events.model.replay import Replay
from redrive.services.events.model.rule import Rule
from redrive.services.events.source import EventsSource
from redrive.services.events.workers import replays as replay_workers
from redrive.services.events.workers.replays import ReplayWorker
from redrive.services.lambda_ import source as lambda_source
from redrive.services.lambda_.workers import mappings as lambda_workers
from redrive.services.scheduler.model import metrics
from redrive.services.scheduler.model import occurrences as model_occurrences
from redrive.services.scheduler.model.occurrences import Occurrence, following, revise
from redrive.services.scheduler.model.schedule import Schedule, Settings
from redrive.services.scheduler.operations import schedules as api_schedules
from redrive.services.scheduler.workers import schedules as scheduler_workers
from redrive.sim.agenda import TIME_MOVES
from redrive.sim.checkers.buses import RuleRetries, RulesAndReplays
from redrive.sim.checkers.executions import Ends, Executions, Metrics
from redrive.sim.checkers.groups import GroupsInOrder
from redrive.sim.checkers.rules import Conservation, DeadLetters, EffectsOnce, Receives, Retries, Settlements, Slots
from redrive.sim.checkers.schedules import ScheduledInstants
from redrive.sim.checkers.tables import TablesFollowed
from redrive.sim.world import NO_DEFECTS, QUIET
from redrive.store.api import Step, Tables, Transaction
from redrive.store.group import GroupCommit
from redrive.store.sqlite import Batch, SqliteStore
from redrive.store.tables.dedup import DedupTable
from redrive.store.tables.deliveries import Delivery, DeliveryTable
from redrive.store.tables.messages import MessageTable, ReceivedMessage
from tests.simulation.planted_batches import holding_a_batch_that_has_failed, holding_a_throttled_batch_twice

Plant = Callable[[], AbstractContextManager[object]]

FENCES_MAX = 30
AHEAD_MS = 30_000


def settling_without_a_fence() -> AbstractContextManager[object]:
    """Whoever settles an attempt is believed, however old its lease."""
    original = DeliveryTable.held

    def held(table: DeliveryTable, id: str, fence: int) -> Delivery | None:
        return next((found for each in range(FENCES_MAX) if (found := original(table, id, each))), None)

    return patch.object(DeliveryTable, "held", held)


def settling_the_same_attempt_twice() -> AbstractContextManager[object]:
    """A settled lease passes for one that is still held."""
    original = DeliveryTable.held

    def held(table: DeliveryTable, id: str, fence: int) -> Delivery | None:
        found = original(table, id, fence)
        return None if found is None else found._replace(leases=max(1, found.leases))

    return patch.object(DeliveryTable, "held", held)


def next_occurrence_counted_from_now() -> AbstractContextManager[object]:
    """The next occurrence is looked for after now, in place of after the one that was fired."""

    def from_now(
        schedule: Schedule, scope: Scope, fired: Occurrence, age_ms_max: int, now: Instant
    ) -> tuple[Schedule, Occurrence | None]:
        return following(schedule, scope, Occurrence(now, now), age_ms_max, now)

    return patch.object(scheduler_workers, "following", from_now)


def claiming_more_than_can_start() -> AbstractContextManager[object]:
    """A claim takes whatever is due, whether there is room for it or not."""
    original = DeliveryTable.claim_outside

    def claim_outside(
        table: DeliveryTable, function: str, now: Instant, *, lease_ms: int, limit: int
    ) -> list[Delivery]:
        return original(table, function, now, lease_ms=lease_ms, limit=limit + 10)

    return patch.object(DeliveryTable, "claim_outside", claim_outside)


def removing_the_delivery_before_its_work_is_done() -> AbstractContextManager[object]:
    """A delivery is forgotten when it is claimed, in place of when it is settled."""
    original = DeliveryWorker.claim

    def claim(worker: DeliveryWorker, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        attempts = original(worker, tx, free=free)
        for attempt in attempts:
            tx.deliveries.delete(attempt.key, attempt.fence)
        return attempts

    return patch.object(DeliveryWorker, "claim", claim)


def ending_a_delivery_in_two_commits() -> AbstractContextManager[object]:
    """The last word on a delivery is one commit, its removal another."""
    original, delete = Engine.settle, DeliveryTable.delete

    def settle(engine: Engine, attempt: Attempt, result: Result) -> None:
        ended: list[tuple[str, int]] = []
        with patch.object(DeliveryTable, "delete", lambda _, *lease: ended.append(lease)):
            original(engine, attempt, result)
        for lease in ended:
            engine.run(partial(_delete, delete, lease))

    return patch.object(Engine, "settle", settle)


def receiving_without_hiding() -> AbstractContextManager[object]:
    """A received message stays visible."""
    original = MessageTable.claim_visible

    def claim_visible(
        table: MessageTable, queue: str, now: Instant, *, visible_at: Instant, receipt: str, limit: int
    ) -> list[ReceivedMessage]:
        return original(table, queue, now, visible_at=now, receipt=receipt, limit=limit)

    return patch.object(MessageTable, "claim_visible", claim_visible)


def one_retry_too_many() -> AbstractContextManager[object]:
    """The first failure is not counted."""

    def lenient(policy: RetryPolicy, **facts: Any) -> Verdict:
        return decide(policy, **{**facts, "failures": max(0, facts["failures"] - 1)})

    return patch.object(deliver, "decide", lenient)


def deleting_what_a_batch_reports_as_failed() -> AbstractContextManager[object]:
    """All messages of a batch are deleted, whatever the function answers."""
    return patch.object(lambda_workers, "messages_left", lambda *_, **__: frozenset())


def writing_without_asking_the_condition() -> AbstractContextManager[object]:
    """A conditional write is made in any case."""
    return patch.object(dynamodb_items, "holds", lambda *_: True)


def forgetting_what_was_sent() -> AbstractContextManager[object]:
    """A FIFO queue does not remember the deduplication ids of what it accepted."""
    return patch.object(DedupTable, "remember_send", lambda *_, **__: None)


def receiving_past_messages_in_flight() -> AbstractContextManager[object]:
    """A FIFO queue gives what is visible, though messages before it are in flight."""

    def claim_in_order(
        table: MessageTable, queue: str, now: Instant, *, visible_at: Instant, receipt: str, limit: int, taken: int = 0
    ) -> list[ReceivedMessage]:
        return table.claim_visible(queue, now, visible_at=visible_at, receipt=receipt, limit=limit)

    return patch.object(MessageTable, "claim_in_order", claim_in_order)


def dead_letters_without_a_reason() -> AbstractContextManager[object]:
    """Lambda's dead letters carry no attributes."""
    return patch.object(lambda_source, "dead_letter", lambda _, payload, __: Letter(LAMBDA, payload, {}))


def calling_a_target_with_what_makes_it_fail() -> AbstractContextManager[object]:
    """A schedule calls its queue with parameters of wrong types, at which the operation fails by a defect of ours."""
    return patch.object(targets, "request_params", lambda *_: {"QueueUrl": 5, "MessageBody": 5})


def firing_ahead_of_time() -> AbstractContextManager[object]:
    """A schedule is invoked a little before its scheduled time, as if windows opened to both sides."""
    return patch.object(model_occurrences, "window_offset_ms", lambda *_: -AHEAD_MS)


def changing_a_schedule_forgets_what_it_fired() -> AbstractContextManager[object]:
    """The next occurrence of a changed schedule is counted from now alone, by whichever clock."""

    def forgetful(schedule: Schedule, settings: Settings, now: Instant) -> Schedule:
        return revise(replace(schedule, passed_at=now - 1), settings, now)

    return patch.object(api_schedules, "revise", forgetful)


def changing_a_schedule_forgets_what_is_due() -> AbstractContextManager[object]:
    """An occurrence that is due when its schedule changes is not fired any more."""

    def forgetful(tx: Transaction, scope: Scope, schedule: Schedule) -> Schedule:
        return replace(schedule, passed_at=tx.now)

    return patch.object(api_schedules, "fire_what_is_due", forgetful)


def retrying_without_waiting() -> AbstractContextManager[object]:
    """A failed attempt is followed by the next at once."""
    return patch.object(Backoff, "wait_ms", lambda *_: 0)


def retrying_beyond_the_age() -> AbstractContextManager[object]:
    """Only the number of attempts ends them."""

    def patient(policy: RetryPolicy, **facts: Any) -> Verdict:
        return decide(replace(policy, age_ms_max=policy.age_ms_max + AHEAD_MS), **facts)

    return patch.object(deliver, "decide", patient)


def giving_up_when_throttled() -> AbstractContextManager[object]:
    """A target that throttles passes for one that refuses."""

    def impatient(error: ServiceError) -> Failed:
        failed = classify(error)
        return replace(failed, kind=FailureKind.PERMANENT) if failed.kind is FailureKind.THROTTLED else failed

    return patch.object(sources, "classify", impatient)


def losing_letters_of_exhausted_retries() -> AbstractContextManager[object]:
    """The dead letter of what ran out of retries is counted, and sent nowhere."""
    original = BoundServices.call

    def call(
        services: BoundServices, tx: Transaction, caller: Caller, service: str, operation: str, params: Any
    ) -> Any:
        is_lost = "EXHAUSTED_RETRY_CONDITION" in params.get("MessageAttributes", ())
        lost = {"MessageId": "a letter that nobody has"}
        return lost if is_lost else original(services, tx, caller, service, operation, params)

    return patch.object(BoundServices, "call", call)


def sending_letters_twice() -> AbstractContextManager[object]:
    """Each dead letter of a schedule is sent once more, to be on the safe side."""
    original = BoundServices.call

    def call(
        services: BoundServices, tx: Transaction, caller: Caller, service: str, operation: str, params: Any
    ) -> Any:
        if "ERROR_CODE" in params.get("MessageAttributes", ()):
            original(services, tx, caller, service, operation, params)
        return original(services, tx, caller, service, operation, params)

    return patch.object(BoundServices, "call", call)


def dropping_without_counting() -> AbstractContextManager[object]:
    """What is given up when its retries are exhausted is in no metric."""
    original = metrics.series_of

    def series_of(scope: Scope, group_name: str, *names: str) -> object:
        return original(scope, group_name, *(name for name in names if name != metrics.DROPPED))

    return patch.object(metrics, "series_of", series_of)


def remembering_what_was_undone() -> AbstractContextManager[object]:
    """What a step wrote stays in the caches of its store when it is undone."""
    return patch.object(Tables, "undone", lambda _: None)


def remembering_what_others_changed() -> AbstractContextManager[object]:
    """A store does not look whether others have committed, and goes on with what it has read before."""
    return patch.object(SqliteStore, "refresh", lambda _: None)


def answering_before_the_commit() -> AbstractContextManager[object]:
    """Whoever waits is told as soon as the steps of a batch have run."""
    original: Callable[[Any], Any] = vars(GroupCommit)["_take"]

    def take(group: Any) -> Any:
        batch = original(group)
        if batch is not None:
            for answer, result in zip(vars(group)["_answers"], batch.results, strict=False):
                answer(result)
            vars(group)["_answers"] = [lambda _: None] * len(vars(group)["_answers"])
        return batch

    return patch.object(GroupCommit, "_take", take)


def leaving_a_step_out_of_the_rerun() -> AbstractContextManager[object]:
    """When a batch runs again with savepoints, its first step keeps the answer that it had, and does not run."""
    original: Callable[..., None] = vars(SqliteStore)["_attempt_all"]
    answered: dict[str, list[object]] = {}

    def attempt_all(
        store: SqliteStore, steps: Sequence[Step[object]], batch: Batch, follow: object, *, guarded: bool
    ) -> None:  # fmt: skip
        if guarded and answered.get("first"):
            batch.results.append(answered["first"][0])
            steps = steps[1:]
        try:
            original(store, steps, batch, follow, guarded=guarded)
        finally:
            answered["first"] = batch.results[:1]

    return patch.object(SqliteStore, "_attempt_all", attempt_all)


def claiming_for_each_worker_what_is_for_all() -> AbstractContextManager[object]:
    """In a round of claims each worker is given all the free slots, also those that others have taken."""
    original: Callable[..., Claimed] = vars(Engine)["_round"]

    def of_one(engine: Engine, tx: Transaction, workers: Sequence[Worker], free: FreeSlots) -> Claimed:
        rounds = [original(engine, tx, [worker], free) for worker in workers]
        attempts = [attempt for one in rounds for attempt in one.attempts]
        return Claimed(attempts, progressed=True) if attempts else rounds[-1]

    return patch.object(Engine, "_round", of_one)


def claiming_more_deliveries_than_a_transaction_may_hold() -> AbstractContextManager[object]:
    """A claim takes all deliveries inside the store that are due, however many there are."""
    original = DeliveryTable.due

    def due(table: DeliveryTable, place: str, now: Instant, *, limit: int) -> list[Delivery]:
        return original(table, place, now, limit=1_000)

    return patch.object(DeliveryTable, "due", due)


def forgetting_a_worker_whose_timer_is_set_later() -> AbstractContextManager[object]:
    """A node looks once whose timers are set, and asks nobody else from then on."""
    original: Callable[..., Any] = vars(Engine)["_by_timers"]
    known: dict[Engine, Any] = {}

    def by_timers(engine: Engine, tx: Transaction) -> Any:
        if engine not in known:
            known[engine] = original(engine, tx)
        return known[engine]

    return patch.object(Engine, "_by_timers", by_timers)


def forgetting_the_upkeep() -> AbstractContextManager[object]:
    """Workers of the kind that sweeps and measures are not among those that have something due."""
    original: Callable[..., tuple[Instant | None, Sequence[Worker]]] = vars(Engine)["_look"]

    def look(engine: Engine, tx: Transaction, free: FreeSlots) -> tuple[Instant | None, Sequence[Worker]]:
        next_due, expected = original(engine, tx, free)
        left = [worker for worker in expected if not worker.upkeep]
        return (next_due, left) if left else (None, ())

    return patch.object(Engine, "_look", look)


def matching_twice() -> AbstractContextManager[object]:
    """An event that matches a rule is promised to its targets once for the rule and once for its pattern."""
    original: Callable[..., list[Delivery]] = vars(publishing)["_deliveries"]

    def deliveries(tx: Transaction, scope: Scope, rule: Rule, arn: str, event: BusEvent, text: str) -> list[Delivery]:
        again = event._replace(key=f"{event.key}-again")
        return [*original(tx, scope, rule, arn, event, text), *original(tx, scope, rule, arn, again, text)]

    return patch.object(publishing, "_deliveries", deliveries)


def losing_a_rule_that_is_changed() -> AbstractContextManager[object]:
    """A rule that gets another pattern leaves the matcher, and comes back when the matcher is made anew."""
    original = BusRules.with_rule

    def with_rule(rules: BusRules, rule: Rule) -> BusRules:
        is_known = rule.rule_name in rules.rules
        return rules.without(rule.rule_name) if is_known else original(rules, rule)

    return patch.object(BusRules, "with_rule", with_rule)


def matching_by_the_former_pattern() -> AbstractContextManager[object]:
    """The matcher of a bus is not told of changes of its rules until it is made anew."""
    return patch.object(BusRules, "with_rule", lambda rules, _: rules)


def telling_attempts_as_retries() -> AbstractContextManager[object]:
    """The dead letter of a rule counts the first attempt as a retry."""
    return patch.object(events_source, "retries_made", lambda delivery, _: delivery.attempts)


def giving_up_before_the_retries_are_used() -> AbstractContextManager[object]:
    """A target of a rule that is out of order for a moment counts as one that refuses for ever."""

    def failure(source: EventsSource, error: ServiceError) -> Failed:
        return replace(classify(error), kind=FailureKind.PERMANENT)

    return patch.object(EventsSource, "failure", failure)


def noting_a_replays_progress_before_its_events() -> AbstractContextManager[object]:
    """A node notes how far a replay has come, and publishes the events with its next claim, or never if it crashes.

    By worker, not by the `id` of one: a later node may get the `id` of a crashed one, and would publish its events.
    """
    original: Callable[..., Replay] = vars(ReplayWorker)["_moved"]
    kept: WeakKeyDictionary[ReplayWorker, list[tuple[BusReference, list[BusEvent], Any]]] = WeakKeyDictionary()

    def moved(worker: ReplayWorker, tx: Transaction, scope: Scope, replay: Replay) -> Replay:
        waiting = kept.setdefault(worker, [])
        for bus, events, chosen in waiting:
            publishing.publish(tx, bus, events, chosen=chosen)
        waiting.clear()

        def publish(_: Transaction, bus: BusReference, events: list[BusEvent], *, chosen: Any) -> None:
            waiting.append((bus, events, chosen))

        with patch.object(replay_workers, "publish", publish):
            after = original(worker, tx, scope, replay)
        for bus, events, chosen in [] if after.is_active else waiting:
            publishing.publish(tx, bus, events, chosen=chosen)
        return after

    return patch.object(ReplayWorker, "_moved", moved)


def noting_a_replays_progress_in_memory() -> AbstractContextManager[object]:
    """A node remembers how far a replay has come, and writes it down when the replay ends."""
    original: Callable[..., Replay] = vars(ReplayWorker)["_moved"]
    known: WeakKeyDictionary[ReplayWorker, dict[str, Replay]] = WeakKeyDictionary()

    def moved(worker: ReplayWorker, tx: Transaction, scope: Scope, replay: Replay) -> Replay:
        own = known.setdefault(worker, {})
        after = original(worker, tx, scope, own.get(replay.uid, replay))
        own[replay.uid] = after
        return replay if after.is_active else after

    return patch.object(ReplayWorker, "_moved", moved)


def _delete(delete: Callable[[DeliveryTable, str, int], None], lease: tuple[str, int], tx: Transaction) -> None:
    delete(tx.deliveries, *lease)


PLANTS: Mapping[Plant, str] = {
    settling_without_a_fence: Settlements.rule,
    settling_the_same_attempt_twice: Settlements.rule,
    ending_a_delivery_in_two_commits: Settlements.rule,
    next_occurrence_counted_from_now: Executions.rule,
    claiming_more_than_can_start: Slots.rule,
    removing_the_delivery_before_its_work_is_done: Conservation.rule,
    receiving_without_hiding: Receives.rule,
    receiving_past_messages_in_flight: GroupsInOrder.rule,
    forgetting_what_was_sent: GroupsInOrder.rule,
    one_retry_too_many: Retries.rule,
    deleting_what_a_batch_reports_as_failed: Conservation.rule,
    holding_a_throttled_batch_twice: Receives.rule,
    holding_a_batch_that_has_failed: Receives.rule,
    writing_without_asking_the_condition: EffectsOnce.rule,
    dead_letters_without_a_reason: DeadLetters.rule,
    calling_a_target_with_what_makes_it_fail: NO_DEFECTS,
    firing_ahead_of_time: Ends.rule,
    changing_a_schedule_forgets_what_it_fired: Ends.rule,
    changing_a_schedule_forgets_what_is_due: Executions.rule,
    retrying_without_waiting: Executions.rule,
    retrying_beyond_the_age: Executions.rule,
    giving_up_when_throttled: Executions.rule,
    losing_letters_of_exhausted_retries: Ends.rule,
    sending_letters_twice: ScheduledInstants.rule,
    dropping_without_counting: Metrics.rule,
    remembering_what_was_undone: Ends.rule,
    remembering_what_others_changed: Ends.rule,
    # A node that is told of a claim before its commit goes on to the next one, and both fill the same slots.
    answering_before_the_commit: Slots.rule,
    leaving_a_step_out_of_the_rerun: Receives.rule,
    claiming_for_each_worker_what_is_for_all: Slots.rule,
    claiming_more_deliveries_than_a_transaction_may_hold: Slots.rule,
    forgetting_a_worker_whose_timer_is_set_later: TIME_MOVES,
    forgetting_the_upkeep: Metrics.rule,
    matching_twice: RulesAndReplays.rule,
    losing_a_rule_that_is_changed: RulesAndReplays.rule,
    matching_by_the_former_pattern: RulesAndReplays.rule,
    telling_attempts_as_retries: RuleRetries.rule,
    giving_up_before_the_retries_are_used: RuleRetries.rule,
    noting_a_replays_progress_before_its_events: RulesAndReplays.rule,
    noting_a_replays_progress_in_memory: RulesAndReplays.rule,
}
"""Each defect, and the rule that it breaks."""

ALSO_BROKEN: Mapping[Plant, tuple[str, ...]] = {
    # An occurrence that fires twice is one too many to each of three checkers: which sees it first depends on the seed.
    changing_a_schedule_forgets_what_it_fired: (ScheduledInstants.rule, Executions.rule),
    # A step that did not run may have been any: a settlement, a receive, a write of an item.
    leaving_a_step_out_of_the_rerun: (Settlements.rule, TablesFollowed.rule),
    # A node that takes a timer for set that another has cleared finds it due for ever, or never.
    remembering_what_others_changed: (TIME_MOVES, QUIET),
    # Letters of rules are lost with those of schedules.
    losing_letters_of_exhausted_retries: (RuleRetries.rule, RulesAndReplays.rule),
    # A message is told as received, or an event as published, and the commit then fails.
    answering_before_the_commit: (RulesAndReplays.rule, Ends.rule),
    # An event that is replayed twice is one delivery, which is attempted again after it has ended.
    noting_a_replays_progress_in_memory: (RuleRetries.rule,),
}
"""Rules that a defect breaks as well, perhaps before the one above."""

FOUND_BY: Mapping[Plant, int] = {
    settling_without_a_fence: 4,
    changing_a_schedule_forgets_what_it_fired: 36,
    retrying_beyond_the_age: 15,
    settling_the_same_attempt_twice: 23,
    receiving_past_messages_in_flight: 22,
    forgetting_what_was_sent: 2,
    holding_a_throttled_batch_twice: 3,
    holding_a_batch_that_has_failed: 2,
    leaving_a_step_out_of_the_rerun: 4,
}
"""The first seeds do not find these defects, or find them late; these seeds are tried before."""
