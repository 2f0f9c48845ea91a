"""The execution that this code is part of: what `idempotent` opened, and effects and transactions belong to."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from contextvars import Token as Before

from redrive.handler.errors import LeaseLost, OutsideExecution
from redrive.handler.ledger import EffectRecord, Ledger, Token


class Execution:
    """One run of an execution, from its beginning until it is settled.

    Inside `with execution:`, `current_execution` answers it.
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
        """Which run of the execution this is, from 1."""
        return self.token.attempt

    def finish(self, result: object) -> None:
        """Record success now, as a part of `ledger.transaction()`.

        The function then returns the same result. Errors: LeaseLost, which undoes the transaction it is raised in.
        """
        if not self.ledger.finish(self.token, result):
            raise LeaseLost(self.key)

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


# Belongs to the run, not to the module: each thread and each coroutine has its own.
_CURRENT: ContextVar[Execution | None] = ContextVar("redrive_execution", default=None)


def current_execution() -> Execution:
    """The execution that is going on. Errors: OutsideExecution."""
    execution = _CURRENT.get()
    if execution is None:
        raise OutsideExecution(
            "no execution is going on here: decorate the function that does the work with idempotent"
        )
    return execution
