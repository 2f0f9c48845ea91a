"""When the worker looks at a mapping: when messages arrive, when a pause ends, and when concurrency may be free again.

Each mapping has a timer for the next look. A mapping without a timer is not looked at, and costs nothing.
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.sources.watches import Reader, unwatch, watch
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.store.api import Transaction

LOOK_TIMER = "lambda.mapping"
STREAM_TIMER = "lambda.stream_mapping"
"""Mappings from streams have timers of their own, because another worker looks at them."""
PAUSE_TIMER = "lambda.mapping.pause"
"""No worker waits for these timers. They store until when a mapping must not poll, also if messages arrive."""


def timer_of(scope: Scope, mapping: EventSourceMapping) -> str:
    """Return the name of a mapping's timers."""
    return f"{scope}/{mapping.name}"


def look_timer(mapping: EventSourceMapping) -> str:
    """Return the kind of the timer for the next look at a mapping."""
    return LOOK_TIMER if mapping.stream is None else STREAM_TIMER


def reader_of(scope: Scope, mapping: EventSourceMapping) -> Reader:
    """Return the reader that arrivals at the mapping's source tell."""
    return Reader(look_timer(mapping), timer_of(scope, mapping))


def look_now(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Look at a mapping at the next claim: it is new or changed, or may have free concurrency.

    Also subscribe to arrivals.
    """
    reader = reader_of(scope, mapping)
    watch(tx, mapping.read_arn, reader)
    tx.timers.set(reader.kind, reader.timer, tx.now)
    tx.notify("due")


def look_at_mappings_of(tx: Transaction, scope: Scope, function_name: str) -> None:
    """Look at the mappings of a function at the next claim: it exists again, or its concurrency has changed."""
    for place, mapping in tx.resources.everywhere(EventSourceMapping):
        if place == scope and mapping.function_name == function_name:
            look_now(tx, scope, mapping)


def look_no_more(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Remove the timers and the subscription of a deleted mapping."""
    reader = reader_of(scope, mapping)
    unwatch(tx, mapping.read_arn, reader)
    tx.timers.clear(reader.kind, reader.timer)
    tx.timers.clear(PAUSE_TIMER, reader.timer)


def pause(tx: Transaction, scope: Scope, mapping: EventSourceMapping, pause_ms: int) -> None:
    """Stop a mapping from polling for `pause_ms`, also if messages arrive."""
    until = tx.now + pause_ms
    tx.timers.set(PAUSE_TIMER, timer_of(scope, mapping), until)
    tx.timers.set(look_timer(mapping), timer_of(scope, mapping), until)


def end_pause(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> None:
    """Delete a pause that is over."""
    tx.timers.clear(PAUSE_TIMER, timer_of(scope, mapping))


def paused_until(tx: Transaction, scope: Scope, mapping: EventSourceMapping) -> Instant:
    """Return when the mapping may poll again; an instant in the past if it may poll now."""
    return tx.timers.get(PAUSE_TIMER, timer_of(scope, mapping)) or 0
