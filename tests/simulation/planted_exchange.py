"""Defects to plant that an exchange alone shows: targets of all kinds, rules that come and go, cancelled replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from redrive.core.clock import HOUR_MS, Instant
from redrive.core.errors import ServiceError
from redrive.core.retry import Failed, FailureKind, RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.sources import at_once
from redrive.delivery.sources.classify import classify
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.events import forwarding
from redrive.services.events import publish as publishing
from redrive.services.events.matchers import BusRules
from redrive.services.events.model import http_answer
from redrive.services.events.model.event import Event as BusEvent
from redrive.services.events.model.replay import Replay, ReplayState
from redrive.services.events.model.rule import Rule
from redrive.services.events.model.schedules import planned
from redrive.services.events.source import EventsSource
from redrive.services.events.workers import schedules as rule_workers
from redrive.services.events.workers.replays import ReplayWorker
from redrive.services.events.workers.schedules import RuleScheduleWorker
from redrive.sim.checkers.bells import RuleInstants
from redrive.sim.checkers.buses import RuleRetries, RulesAndReplays
from redrive.sim.checkers.event_order import PublishedInOrder
from redrive.sim.checkers.replays import STOPS
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery
from tests.simulation.planted import Plant


def keeping_rules_that_are_deleted() -> AbstractContextManager[object]:
    """The matcher of a bus keeps a deleted rule with its targets, until the matcher is made anew."""
    original = BusRules.with_rule

    def with_rule(rules: BusRules, rule: Rule) -> BusRules:
        return original(rules, rule) if rule.targets or rule.rule_name not in rules.rules else rules

    stack = ExitStack()
    stack.enter_context(patch.object(BusRules, "with_rule", with_rule))
    stack.enter_context(patch.object(BusRules, "without", lambda rules, _: rules))
    return stack


def matching_rules_that_are_disabled() -> AbstractContextManager[object]:
    """A rule that is disabled stays in the matcher of its bus, until the matcher is made anew."""
    original = BusRules.with_rule

    def with_rule(rules: BusRules, rule: Rule) -> BusRules:
        return original(rules, rule) if rule.is_enabled else rules

    return patch.object(BusRules, "with_rule", with_rule)


def replaying_on_after_a_cancellation() -> AbstractContextManager[object]:
    """A replay that is being cancelled goes on, and is completed."""
    original: Callable[..., Replay] = vars(ReplayWorker)["_moved"]

    def moved(worker: ReplayWorker, tx: Transaction, scope: Scope, replay: Replay) -> Replay:
        return original(worker, tx, scope, replace(replay, state=ReplayState.RUNNING))

    return patch.object(ReplayWorker, "_moved", moved)


def publishing_once_more_before_a_replay_is_cancelled() -> AbstractContextManager[object]:
    """A replay that is being cancelled sends its next piece before it ends."""
    original: Callable[..., Replay] = vars(ReplayWorker)["_moved"]

    def moved(worker: ReplayWorker, tx: Transaction, scope: Scope, replay: Replay) -> Replay:
        if replay.state is ReplayState.CANCELLING:
            after = original(worker, tx, scope, replace(replay, state=ReplayState.RUNNING))
            return replace(after, state=ReplayState.CANCELLED, ended_at=tx.now)
        return original(worker, tx, scope, replay)

    return patch.object(ReplayWorker, "_moved", moved)


def filling_a_fifo_queue_backwards() -> AbstractContextManager[object]:
    """The events of a call are sent to a FIFO queue with the last one first."""
    original: Callable[..., list[list[Delivery]]] = vars(at_once)["_groups"]
    return patch.object(at_once, "_groups", lambda deliveries, *rest: original(list(reversed(deliveries)), *rest))


def setting_the_timer_of_a_rule_in_a_second_commit() -> AbstractContextManager[object]:
    """A rule on a schedule fires in one commit. Its next time is noted by the next claim, unless the node crashes."""
    original = RuleScheduleWorker.claim
    fired: WeakKeyDictionary[RuleScheduleWorker, set[tuple[str, Instant | None]]] = WeakKeyDictionary()

    def claim(worker: RuleScheduleWorker, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        known = fired.setdefault(worker, set())

        def moved(rule: Rule, after: Instant) -> Rule:
            place = (rule.rule_name, rule.next_at)
            if place in known:
                return planned(rule, after)
            known.add(place)
            return rule

        def trigger(tx: Transaction, scope: Scope, rule: Rule, event: BusEvent) -> None:
            if (rule.rule_name, rule.next_at) not in known:
                publishing.trigger(tx, scope, rule, event)

        with patch.object(rule_workers, "planned", moved), patch.object(rule_workers, "trigger", trigger):
            return original(worker, tx, free=free)

    return patch.object(RuleScheduleWorker, "claim", claim)


def catching_up_rules_on_schedules_never() -> AbstractContextManager[object]:
    """A rule on a schedule that fires leaves its next instant out."""
    return patch.object(rule_workers, "planned", lambda rule, after: planned(planned(rule, after), after + HOUR_MS))


def giving_up_buses_at_once() -> AbstractContextManager[object]:
    """What a bus as target does not take at once is dead-lettered: the retry policy is read for other targets alone."""
    original: Callable[[dict[str, Any]], RetryPolicy] = vars(publishing)["retry_policy"]

    def policy(target: dict[str, Any]) -> RetryPolicy:
        found = original(target)
        return replace(found, retries_max=0) if ":event-bus/" in target["Arn"] else found

    return patch.object(publishing, "retry_policy", policy)


def giving_up_sites_that_are_busy() -> AbstractContextManager[object]:
    """A web site that answers 429 passes for one that refuses."""
    return patch.object(http_answer, "_kind_of", lambda _: FailureKind.PERMANENT)


def retrying_a_queue_that_is_gone() -> AbstractContextManager[object]:
    """A target that does not exist is called again until the retries are exhausted."""

    def failure(source: EventsSource, error: ServiceError) -> Failed:
        return replace(classify(error), kind=FailureKind.TRANSIENT)

    return patch.object(EventsSource, "failure", failure)


def losing_what_buses_forward() -> AbstractContextManager[object]:
    """An event that a bus sends to another one is accepted there, and matched by no rule."""
    return patch.object(forwarding, "publish", lambda *_: None)


EXCHANGE_PLANTS: Mapping[Plant, str] = {
    keeping_rules_that_are_deleted: RulesAndReplays.rule,
    matching_rules_that_are_disabled: RulesAndReplays.rule,
    replaying_on_after_a_cancellation: STOPS,
    publishing_once_more_before_a_replay_is_cancelled: STOPS,
    filling_a_fifo_queue_backwards: PublishedInOrder.rule,
    setting_the_timer_of_a_rule_in_a_second_commit: RuleInstants.rule,
    catching_up_rules_on_schedules_never: RuleInstants.rule,
    giving_up_buses_at_once: RuleRetries.rule,
    giving_up_sites_that_are_busy: RuleRetries.rule,
    retrying_a_queue_that_is_gone: RuleRetries.rule,
    losing_what_buses_forward: RulesAndReplays.rule,
}
"""Defects that an exchange alone shows: most seeds have none, so they are looked for where everyone has one."""
