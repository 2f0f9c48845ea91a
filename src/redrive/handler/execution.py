"""The execution of the current code: `idempotent` opens it, and effects and transactions belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from contextvars import Token as Before

from redrive.handler import payloads
from redrive.handler.errors import LeaseLost, OutsideExecution, RecordFull
from redrive.handler.ledger import EffectRecord, Ledger, Token

EFFECT_BYTES = 100  # The bytes of an effect's instants and of its attributes' names.


class Execution:
    """One run of an execution, from its beginning until it is settled.

    Inside `with execution:`, `current_execution` returns it.
    """

    def __init__(self, ledger: Ledger, token: Token, effects: Mapping[str, EffectRecord]) -> None:
        self.ledger = ledger
        self.token = token
        self.effects = dict(effects)
        self.effects_called: set[str] = set()
        self._before: Before[Execution | None] | None = None

    @property
    def key(self) -> str:
        """The execution's key."""
        return self.token.key

    @property
    def attempt(self) -> int:
        """The number of this run of the execution, from 1."""
        return self.token.attempt

    def finish(self, result: object) -> None:
        """Record success now, as a part of `ledger.transaction()`.

        The function then must return the same result. Errors: LeaseLost, which rolls back the transaction.
        """
        if not self.record_success(result):
            raise LeaseLost(self.key)

    def record_success(self, result: object) -> bool:
        """Record success. False if another run has taken over. Errors: ResultNotStorable; the ledger's."""
        if self.effects:
            payloads.encode(result, bytes_max=self._result_bytes_max())
        return self.ledger.finish(self.token, result)

    def make_room_for(self, effect: EffectRecord) -> None:
        """Check, before an effect happens, that the record has room for its result. Errors: RecordFull."""
        others = self._effects_bytes() - _bytes_of(self.effects.get(effect.name))
        needed = _bytes_of(effect) + payloads.EFFECT_RESULT_BYTES_MAX
        if others + needed > payloads.EFFECTS_BYTES_MAX:
            raise RecordFull(
                f"the record of execution {self.key!r} holds {len(self.effects)} effects of {others:,} bytes, and the "
                f"effect {effect.name!r} may need {needed:,} more of the {payloads.EFFECTS_BYTES_MAX:,} that it keeps: "
                "return less from each effect, or give parts of the work executions of their own"
            )

    def _result_bytes_max(self) -> int:
        return min(payloads.RESULT_BYTES_MAX, payloads.EFFECTS_AND_RESULT_BYTES_MAX - self._effects_bytes())

    def _effects_bytes(self) -> int:
        return sum(map(_bytes_of, tuple(self.effects.values())))  # A copy: other threads note effects meanwhile.

    def note_effect(self, effect: EffectRecord) -> None:
        """Record an effect of this run. Errors: LeaseLost."""
        if not self.ledger.note_effect(self.token, effect):
            raise LeaseLost(self.key)
        self.effects[effect.name] = effect

    def __enter__(self) -> None:
        self._before = _CURRENT.set(self)

    def __exit__(self, *_: object) -> None:
        assert self._before is not None, "an execution is entered before it is left"
        _CURRENT.reset(self._before)


def _bytes_of(effect: EffectRecord | None) -> int:
    """The most bytes that an effect takes in a record: its texts, and its instants with all names."""
    if effect is None:
        return 0
    texts = effect.name + effect.idempotency_key + (effect.result or "")
    return EFFECT_BYTES + (len(texts) if texts.isascii() else len(texts.encode()))


# A context variable belongs to the run, not to the module: each thread and each coroutine has its own.
_CURRENT: ContextVar[Execution | None] = ContextVar("redrive_execution", default=None)


def current_execution() -> Execution:
    """The current execution. Errors: OutsideExecution."""
    execution = _CURRENT.get()
    if execution is None:
        raise OutsideExecution(
            "no execution is going on here: decorate the function that does the work with idempotent"
        )
    return execution
