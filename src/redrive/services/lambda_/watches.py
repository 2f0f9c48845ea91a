"""When a mapping is looked at: at what arrives where it reads, at the end of a pause, and when it may have room again.

A timer of each mapping says when it is looked at next; a mapping without one is not looked at, and costs nothing.
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.sources.watches import Reader, unwatch, watch
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.store.api import Transaction

LOOK_TIMER = "lambda.mapping"
PAUSE_TIMER = "lambda.mapping.pause"
"""Nobody waits for these: they say until when a mapping is not to poll, whatever arrives."""


def timer_of(scope: Scope, mapping: EventSourceMapping) -> str:
    """The name of a mapping's timers."""
    return f"{scope}/{mapping.name}"


def look_now(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Have a mapping looked at: it is new, or was changed, or may have room again. From now on, arrivals are told."""
    timer = timer_of(scope, mapping)
    watch(tx, mapping.source_arn, Reader(LOOK_TIMER, timer))
    tx.timers.set(LOOK_TIMER, timer, tx.now)
    tx.notify("due")


def look_at_mappings_of(tx: Transaction, scope: Scope, function_name: str) -> None:
    """Have the mappings to a function looked at: it is there again, or has another concurrency."""
    for place, mapping in tx.resources.everywhere(EventSourceMapping):
        if place == scope and mapping.function_name == function_name:
            look_now(tx, scope, mapping)


def look_no_more(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """The mapping is deleted."""
    timer = timer_of(scope, mapping)
    unwatch(tx, mapping.source_arn, Reader(LOOK_TIMER, timer))
    tx.timers.clear(LOOK_TIMER, timer)
    tx.timers.clear(PAUSE_TIMER, timer)


def pause(tx: Transaction, scope: Scope, mapping: EventSourceMapping, pause_ms: int) -> None:
    """Let a mapping poll nothing for so long, whatever arrives."""
    until = tx.now + pause_ms
    tx.timers.set(PAUSE_TIMER, timer_of(scope, mapping), until)
    tx.timers.set(LOOK_TIMER, timer_of(scope, mapping), until)


def end_pause(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Forget a pause that is over."""
    tx.timers.clear(PAUSE_TIMER, timer_of(scope, mapping))


def paused_until(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> Instant:
    """When the mapping may poll again: an instant in the past if it may now."""
    return tx.timers.get(PAUSE_TIMER, timer_of(scope, mapping)) or 0
