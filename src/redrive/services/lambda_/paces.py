"""The pace of mappings from queues: kept while a queue is full or a function fails, forgotten once it is empty."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.services.lambda_.limits import MAPPING_CONCURRENCY_MIN
from redrive.services.lambda_.model.function import Function
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.model.pace import QueuePace, allowed, bounds_of, set_back
from redrive.store.api import Transaction

NAME = "lambda.mapping"
"""The source of batches under way, in the table of deliveries."""


def is_full(tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function) -> bool:
    """Whether as many batches of a mapping run as may run now."""
    bounds = bounds_of(mapping, function)
    running = tx.deliveries.count_of_source(NAME, mapping.arn)
    if running < min(MAPPING_CONCURRENCY_MIN, bounds.most):
        return False  # Whatever the pace is. Most mappings end here.
    return running >= allowed(tx.resources.get(QueuePace, scope, mapping.name), bounds, tx.now)


def may_grow(tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function) -> bool:
    """Whether a full mapping has more room as time passes."""
    bounds = bounds_of(mapping, function)
    return allowed(tx.resources.get(QueuePace, scope, mapping.name), bounds, tx.now) < bounds.most


def grow(tx: Transaction, scope: Scope, mapping: EventSourceMapping, function: Function) -> Instant:
    """Let a full mapping, for which messages wait, have more room. Returns when it has."""
    bounds = bounds_of(mapping, function)
    if tx.resources.get(QueuePace, scope, mapping.name) is None:
        tx.resources.put(scope, QueuePace(mapping.name, bounds.first, tx.now))
    return tx.now + bounds.step_ms


def slow_down(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Take room from a mapping whose function has failed."""
    function = tx.resources.get(Function, scope, mapping.function_name)
    if function is not None:
        pace = tx.resources.get(QueuePace, scope, mapping.name)
        tx.resources.put(scope, set_back(mapping.name, pace, bounds_of(mapping, function), tx.now))


def calm(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Forget the pace of a mapping whose queue is empty, and of a deleted one."""
    if tx.resources.get(QueuePace, scope, mapping.name) is not None:
        tx.resources.delete(QueuePace, scope, mapping.name)
