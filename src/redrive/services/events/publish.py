"""The one way onto a bus: events are kept by archives, matched by rules, and promised to the rules' targets.

PutEvents, buses as targets, and replays call `publish`; schedules of rules call `trigger`. All promises of an event are
in the transaction that accepts the event; PutEvents keeps some of them at once (at_once.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from redrive.core.scope import Scope
from redrive.services.events.archiving import keep_events
from redrive.services.events.bus_logs import log_matched
from redrive.services.events.invocation_rate import admitted
from redrive.services.events.matchers import rules_of
from redrive.services.events.model import metrics
from redrive.services.events.model.bus import BusReference
from redrive.services.events.model.event import Event
from redrive.services.events.model.lineage import times_run
from redrive.services.events.model.rule import SOURCE, Rule, retry_policy
from redrive.services.events.model.targets import place_of
from redrive.services.events.tailing import is_tailed, show_to_tails
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

Promise = Callable[[Transaction, Sequence[Delivery]], None]
"""Takes over the deliveries of events: stores them, or makes them."""


def store_promises(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Store deliveries, for the delivery worker."""
    for delivery in deliveries:
        tx.deliveries.put(delivery)
    if deliveries:
        tx.notify("due")


def publish(
    tx: Transaction, bus: BusReference, events: Sequence[Event], *, chosen: Collection[str] | None = None,
    promise: Promise = store_promises,
) -> None:  # fmt: skip
    """Accept events on a bus that exists. `chosen`: the names of the only rules that get them; None for all rules."""
    keep_events(tx, bus, events)
    match(tx, bus, events, chosen=chosen, promise=promise)


def match(
    tx: Transaction, bus: BusReference, events: Sequence[Event], *, chosen: Collection[str] | None = None,
    promise: Promise = store_promises,
) -> None:  # fmt: skip
    """Promise events to the targets of the rules that match them; archives do not get them."""
    active = rules_of(tx, bus)
    has_tails = is_tailed(tx)
    if active is None:
        for event in events if has_tails else ():
            show_to_tails(tx, bus, event, {}, ())
        log_matched(tx, bus, [(event, ()) for event in events], ())
        return
    triggered: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    arns: dict[str, str] = {}
    promised: list[Delivery] = []
    matched: list[tuple[Event, Sequence[Rule]]] = []
    for event in events:
        names = active.matcher.matching(event.document)
        if chosen is not None:
            names = names.intersection(chosen)
        if has_tails:
            show_to_tails(tx, bus, event, active.rules, names)
        rules = [active.rules[name] for name in sorted(names)]
        matched.append((event, rules))
        if rules:
            sources[event.source] += 1
            triggered.update(names)
            text = event.text
            for rule in rules:
                arn = arns.get(rule.rule_name) or arns.setdefault(rule.rule_name, rule.arn(bus.scope))
                promised += _deliveries(tx, bus.scope, rule, arn, event, text)
    for source, times in sources.items():
        tx.metrics.count(metrics.of_bus(bus.scope, bus.name, source, metrics.MATCHED), tx.now, times=times)
    for name, times in triggered.items():
        _count(tx, bus.scope, active.rules[name], times)
    due = admitted(tx, bus.scope, promised)
    log_matched(tx, bus, matched, due)
    promise(tx, due)


def trigger(tx: Transaction, scope: Scope, rule: Rule, event: Event) -> None:
    """Promise an event to all targets of a rule, due at once."""
    if is_tailed(tx):
        show_to_tails(tx, BusReference(scope, rule.bus_name), event, {rule.rule_name: rule}, (rule.rule_name,))
    due = admitted(tx, scope, _deliveries(tx, scope, rule, rule.arn(scope), event, event.text))
    log_matched(tx, BusReference(scope, rule.bus_name), [(event, (rule,))], due)
    store_promises(tx, due)
    _count(tx, scope, rule, 1)


def _deliveries(tx: Transaction, scope: Scope, rule: Rule, arn: str, event: Event, text: str) -> list[Delivery]:
    """The deliveries of an event to the targets of a rule, due at once. `arn` is that of the rule."""
    loops = times_run(event.trace, arn) if event.trace else 0
    return [
        Delivery(
            id=f"{event.key}/{rule.rule_name}/{target['Id']}", scope=scope, source=SOURCE, source_arn=arn,
            target_arn=target["Arn"], document=_document(tx, event, text, target, loops), policy=retry_policy(target),
            place=place_of(target["Arn"]), due_at=tx.now, first_at=tx.now,
        )
        for target in rule.targets
    ]  # fmt: skip


def _count(tx: Transaction, scope: Scope, rule: Rule, times: int) -> None:
    """Count how often a rule was triggered, and what that has promised."""
    tx.metrics.count(
        metrics.of_rule(scope, rule.bus_name, rule.rule_name, metrics.TRIGGERED), tx.now, times=times
    )  # fmt: skip
    if rule.targets:
        created = metrics.of_rule(scope, rule.bus_name, rule.rule_name, metrics.CREATED)
        tx.metrics.count(created, tx.now, times=times * len(rule.targets))


def _document(
    tx: Transaction, event: Event, text: str, target: dict[str, object], loops: int
) -> dict[str, object]:  # fmt: skip
    """What the delivery keeps: the event and the target as they are now, and how often the rule led to the event."""
    document: dict[str, object] = {"event": text, "target": target}
    if event.hops:
        document["hops"] = event.hops
    if event.trace:
        document["trace"] = event.trace
    if loops:
        document["loops"] = loops
    if tx.cause is not None:
        document |= {"execution": tx.cause.execution_id, "cause": tx.cause.delivery_id}
    return document
