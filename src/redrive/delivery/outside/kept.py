"""Answers that could not be settled because of a defect of ours, kept until they can be: nothing is run again for them.

The answer is a document, and a timer says when to settle it again. The delivery waits meanwhile in a place of its own.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from redrive.core.clock import Instant
from redrive.core.documents import dump_dataclass, load_dataclass
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

KEPT = "kept"
"""The place of deliveries whose answer is kept: nobody claims there. Also the kind of their timers."""

KEPT_PER_CLAIM_MAX = 20

_Part = Invocation | InvocationResult | HttpCall | HttpResult
_KINDS: Mapping[str, type[_Part]] = {
    kind.__name__: kind for kind in (Invocation, InvocationResult, HttpCall, HttpResult)
}


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An errand that was performed, without what it was given, and its result; each as a kind and a JSON text."""

    KIND: ClassVar[str] = "delivery.kept_answer"

    delivery_id: str
    fence: int
    errand: tuple[str, ...]
    result: tuple[str, ...]

    @property
    def name(self) -> str:
        """The delivery's id."""
        return self.delivery_id

    def unpacked(self) -> tuple[Errand, Result]:
        """The errand and its result."""
        return cast(Errand, _unpacked(self.errand)), cast(Result, _unpacked(self.result))


def keep_answer(tx: Transaction, delivery: Delivery, errand: Errand, result: Result, *, until: Instant) -> None:
    """Keep the answer to an attempt; the delivery waits for it to be settled again."""
    asked = replace(errand, payload=b"") if isinstance(errand, Invocation) else replace(errand, body=b"")
    tx.resources.put(delivery.scope, KeptAnswer(delivery.id, delivery.fence, _packed(asked), _packed(result)))
    tx.timers.set(KEPT, _timer(delivery.scope, delivery.id), until)
    tx.deliveries.move(delivery, place=KEPT)


def put_off_again(tx: Transaction, delivery: Delivery, *, until: Instant) -> None:
    """It could not be settled now either."""
    tx.timers.set(KEPT, _timer(delivery.scope, delivery.id), until)


def forget_answer(tx: Transaction, delivery: Delivery) -> None:
    """The answer is settled, or nobody waits for it any more."""
    tx.resources.delete(KeptAnswer, delivery.scope, delivery.id)
    tx.timers.clear(KEPT, _timer(delivery.scope, delivery.id))


def due_answers(tx: Transaction) -> list[tuple[Delivery, Errand, Result]]:
    """The answers that are to be settled again now, with their deliveries."""
    due_at = tx.timers.next(KEPT)
    if due_at is None or due_at > tx.now:
        return []
    found: list[tuple[Delivery, Errand, Result]] = []
    for timer, _ in tx.timers.due(KEPT, tx.now, KEPT_PER_CLAIM_MAX):
        account, region, delivery_id = timer.split("/", 2)
        kept = tx.resources.get(KeptAnswer, Scope(account, region), delivery_id)
        delivery = None if kept is None else tx.deliveries.held(delivery_id, kept.fence)
        if kept is None or delivery is None:
            tx.timers.clear(KEPT, timer)
        else:
            found.append((delivery, *kept.unpacked()))
    return found


def _timer(scope: Scope, delivery_id: str) -> str:
    return f"{scope}/{delivery_id}"


def _packed(part: _Part) -> tuple[str, ...]:
    """Its kind, its bytes in base64, and the rest of it as JSON, which knows no bytes."""
    if isinstance(part, Invocation | InvocationResult):
        content, rest = part.payload, dump_dataclass(replace(part, payload=cast(bytes, "")))
    else:
        content, rest = part.body, dump_dataclass(replace(part, body=cast(bytes, "")))
    return type(part).__name__, base64.b64encode(content).decode(), rest


def _unpacked(packed: tuple[str, ...]) -> _Part:
    kind, content, rest = packed
    part: _Part = load_dataclass(_KINDS[kind], rest)
    if isinstance(part, Invocation | InvocationResult):
        return replace(part, payload=base64.b64decode(content))
    return replace(part, body=base64.b64decode(content))
