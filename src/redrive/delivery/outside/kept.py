"""Answers that could not be settled because of a defect in redrive: they are kept, so that no errand runs twice.

The answer is a document, and a timer says when to try to settle it again. Until then the delivery is in the place
`KEPT`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from redrive.core.clock import Instant
from redrive.core.documents import dump_dataclass, load_dataclass
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.http_call import HttpCall, HttpResult
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.delivery.outside.reading import Reading, ReadingResult
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

KEPT = "kept"
"""The place of deliveries whose answer is kept. Nobody claims from this place. Also the kind of their timers."""

KEPT_PER_CLAIM_MAX = 20

_Part = Invocation | InvocationResult | HttpCall | HttpResult
_KINDS: Mapping[str, type[_Part]] = {
    kind.__name__: kind for kind in (Invocation, InvocationResult, HttpCall, HttpResult)
}


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An errand that was performed (without its input) and its result, each as its kind and JSON text."""

    KIND: ClassVar[str] = "delivery.kept_answer"
    IS_STATE: ClassVar[bool] = True

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
    """Keep the answer to an attempt until it can be settled again at `until`."""
    if isinstance(errand, Reading) or isinstance(result, ReadingResult):
        raise Bug("a delivery reads nothing")
    asked = replace(errand, payload=b"") if isinstance(errand, Invocation) else replace(errand, body=b"")
    tx.resources.put(delivery.scope, KeptAnswer(delivery.id, delivery.fence, _packed(asked), _packed(result)))
    tx.timers.set(KEPT, _timer(delivery.scope, delivery.id), until)
    tx.deliveries.move(delivery, place=KEPT)


def put_off_again(tx: Transaction, delivery: Delivery, *, until: Instant) -> None:
    """Keep the answer longer, because settling it failed again."""
    tx.timers.set(KEPT, _timer(delivery.scope, delivery.id), until)


def forget_answer(tx: Transaction, delivery: Delivery) -> None:
    """Delete a kept answer and its timer."""
    tx.resources.delete(KeptAnswer, delivery.scope, delivery.id)
    tx.timers.clear(KEPT, _timer(delivery.scope, delivery.id))


def due_answers(tx: Transaction) -> list[tuple[Delivery, Errand, Result]]:
    """The kept answers to settle now, with their deliveries and errands."""
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
    """Pack into three strings: the kind, the bytes in base64, and the other fields as JSON, which has no bytes."""
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
