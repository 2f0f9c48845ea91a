"""Ledgers that can lock a whole record while they change it. Subclasses implement one method, `_change`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from redrive.handler import payloads, transitions
from redrive.handler.clock import Clock, now_ms
from redrive.handler.entropy import NewNonce, new_nonce
from redrive.handler.ledger import (
    KEEP_S_DEFAULT,
    LEASE_S_DEFAULT,
    Attempt,
    Began,
    EffectRecord,
    Record,
    Status,
    Token,
)

T = TypeVar("T")
Change = Callable[[Record | None], tuple[Record | None, T]]


class RecordLedger(ABC):
    """A ledger whose records change by `transitions`."""

    def __init__(self, *, clock: Clock = now_ms, nonce: NewNonce = new_nonce) -> None:
        self._clock = clock
        self._nonce = nonce

    @abstractmethod
    def _change(self, key: str, change: Change[T]) -> T:
        """Change a record atomically and return the answer."""

    def begin(
        self,
        key: str,
        payload_hash: str | None = None,
        lease_s: float = LEASE_S_DEFAULT,
        *,
        keep_s: float = KEEP_S_DEFAULT,
        message_id: str | None = None,
        source: str | None = None,
        function_name: str | None = None,
    ) -> Began:
        """See `Ledger.begin`."""
        claim = transitions.Claim(key, payload_hash, lease_s, keep_s, message_id, source, function_name).checked()
        return self._change(key, lambda old: transitions.begin(old, claim, self._clock(), self._nonce()))

    def finish(self, token: Token, result: object) -> bool:
        """See `Ledger.finish`."""
        text = payloads.encode(result)
        return self._change(token.key, lambda old: transitions.finish(old, token, text, self._clock()))

    def fail(self, token: Token, error: str) -> bool:
        """See `Ledger.fail`."""
        text = error[: payloads.ERROR_CHARS_MAX]
        return self._change(token.key, lambda old: transitions.fail(old, token, text, self._clock()))

    def note_effect(self, token: Token, effect: EffectRecord) -> bool:
        """See `Ledger.note_effect`."""
        return self._change(token.key, lambda old: transitions.note_effect(old, token, effect, self._clock()))

    def read(self, key: str) -> Record | None:
        """See `Ledger.read`."""
        return self._change(key, lambda old: (old, old))


def record_to_text(record: Record) -> str:
    """A record as JSON text."""
    document = record._asdict() | {
        "attempts": [attempt._asdict() for attempt in record.attempts],
        "message_ids": sorted(record.message_ids),
        "effects": [effect._asdict() for effect in record.effects],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def record_from_text(text: str) -> Record:
    """A record from its JSON text."""
    document = json.loads(text)
    attempts = (Attempt(**attempt | {"outcome": Status(attempt["outcome"])}) for attempt in document.pop("attempts"))
    effects = (EffectRecord(**effect) for effect in document.pop("effects"))
    return Record(
        status=Status(document.pop("status")),
        attempts=tuple(attempts),
        message_ids=frozenset(document.pop("message_ids")),
        effects=tuple(effects),
        **document,
    )
