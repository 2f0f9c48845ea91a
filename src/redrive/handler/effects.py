"""`effect`: an action on the outside world, at most once for each execution if the downstream supports that.

No ledger can tell whether a call was made if its answer is lost. Repeating the call is safe if the downstream
deduplicates by an idempotency key, but the downstream forgets the key: after a day, or after half an hour. A message
may wait in a dead-letter queue for two weeks. So an effect is recorded before the call, its key is reused only while
the downstream is known to remember it, and after that the downstream is asked first.

    no record                              record the intent, call
    intended, within the key's memory      call again, with the same key
    intended, past the key's memory        look up: found → its result; not found → call, with a new memory
    intended, past it, without a lookup    EffectUncertain: a person has to check
    done                                   the recorded result; no call
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar, cast

from redrive.handler import payloads
from redrive.handler.clock import Clock, now_ms
from redrive.handler.errors import EffectRepeated, EffectUncertain
from redrive.handler.execution import Execution, current_execution
from redrive.handler.functions import is_async, is_method, name_of, refuse_unrun
from redrive.handler.ledger import EffectRecord

if TYPE_CHECKING:
    from datetime import timedelta

    from redrive.handler.signatures import Lookup

P = ParamSpec("P")
R = TypeVar("R")

IDEMPOTENCY_KEY_CHARS_MAX = 255  # The limit of Stripe's header, and of most others.


def effect(
    name: str,
    *,
    key_memory: timedelta | None,
    lookup: Lookup | None = None,
    clock: Clock = now_ms,
) -> Callable[[Callable[Concatenate[str, P], R]], Effect[P, R]]:
    """Make a function that has an effect, plain or async, safe to repeat within an execution.

        @effect("charge", key_memory=timedelta(hours=24), lookup=find_charge)
        def charge(idempotency_key, order): ...

        charge(order)  # inside a function decorated with idempotent

    The function takes the idempotency key first; callers leave it out. `key_memory` is how long the downstream
    remembers a key, according to its documentation: None is for ever, as with a conditional write under the key; zero
    means that the downstream has no keys. `lookup` takes the same arguments and returns the effect's result from the
    downstream, or None.

    A call that raised may be repeated in the same run, as `retry` does: it is the same effect, under the same key.

    Errors (of the call): OutsideExecution, EffectRepeated, RecordFull, EffectUncertain, LeaseLost, ResultNotStorable,
    the function's own. After any but the first three the effect may have happened. TypeError at once for a method.
    """

    def decorate(function: Callable[Concatenate[str, P], R]) -> Effect[P, R]:
        if is_method(function):
            raise TypeError(
                f"{name_of(function)} is a method, and an effect takes the idempotency key first: make it a function "
                "that is given the object, or whatever it needs of it"
            )
        return Effect(name, function, key_memory, lookup, clock)

    return decorate


class Effect(Generic[P, R]):
    """A function whose effect is recorded. Callers leave out the idempotency key; the object adds it."""

    def __init__(
        self,
        name: str,
        function: Callable[Concatenate[str, P], R],
        key_memory: timedelta | None,
        lookup: Lookup | None,
        clock: Clock,
    ) -> None:
        self.name = name
        self.__wrapped__ = function
        self.__doc__ = function.__doc__
        self.key_memory = key_memory
        self._lookup = lookup
        self._clock = clock

    def part(self, part: str) -> Effect[P, R]:
        """The effect for one of several things in an execution: `charge.part(line.id)(line)`."""
        return Effect(f"{self.name}:{part}", self.__wrapped__, self.key_memory, self._lookup, self._clock)

    @property
    def is_async(self) -> bool:
        """Whether a call returns a coroutine; `retry` and batches ask."""
        return is_async(self.__wrapped__)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        execution = current_execution()
        self._count_call(execution)
        if is_async(self.__wrapped__):
            return cast("R", self._run_async(execution, *args, **kwargs))
        with self._uncounted_if_it_fails(execution):
            return cast("R", self._run(execution, *args, **kwargs))

    def _run(self, execution: Execution, *args: P.args, **kwargs: P.kwargs) -> object:
        record = self._recorded_or_new(execution)
        if record.done_at is not None:
            return payloads.decode(record.result)
        execution.make_room_for(record)
        key = record.idempotency_key
        if self._must_look_up(execution, record):
            lookup = self._lookup_of(record)
            found = lookup(key, *args, **kwargs)
            refuse_unrun(found, lookup)
            if found is not None:
                return self._done(execution, record, found)
            record = record._replace(first_at=self._clock())
        execution.note_effect(record)
        result = self.__wrapped__(key, *args, **kwargs)
        refuse_unrun(result, self.__wrapped__)
        return self._done(execution, record, result)

    async def _run_async(self, execution: Execution, *args: P.args, **kwargs: P.kwargs) -> object:
        with self._uncounted_if_it_fails(execution):
            return await self._run_in_turns(execution, *args, **kwargs)

    async def _run_in_turns(self, execution: Execution, *args: P.args, **kwargs: P.kwargs) -> object:
        """The same steps as `_run`, with the ledger in a thread."""
        from asyncio import to_thread

        record = self._recorded_or_new(execution)
        if record.done_at is not None:
            return payloads.decode(record.result)
        execution.make_room_for(record)
        key = record.idempotency_key
        if self._must_look_up(execution, record):
            lookup = self._lookup_of(record)
            found = lookup(key, *args, **kwargs)
            found = await found if isinstance(found, Awaitable) else found
            refuse_unrun(found, lookup)
            if found is not None:
                return await to_thread(self._done, execution, record, found)
            record = record._replace(first_at=self._clock())
        await to_thread(execution.note_effect, record)
        result = await cast("Awaitable[object]", self.__wrapped__(key, *args, **kwargs))
        refuse_unrun(result, self.__wrapped__)
        return await to_thread(self._done, execution, record, result)

    def _count_call(self, execution: Execution) -> None:
        if self.name in execution.effects_called:
            raise EffectRepeated(
                f"execution {execution.key!r} calls the effect {self.name!r} a second time, and would get the first "
                f"call's result: name what it is done to, as in {self.name}.part(item_id)(…)"
            )
        execution.effects_called.add(self.name)

    @contextmanager
    def _uncounted_if_it_fails(self, execution: Execution) -> Iterator[None]:
        """A call that failed may be made again: the next call continues from the effect's record."""
        try:
            yield
        except BaseException:
            execution.effects_called.discard(self.name)
            raise

    def _recorded_or_new(self, execution: Execution) -> EffectRecord:
        known = execution.effects.get(self.name)
        if known is not None:
            return known
        return EffectRecord(self.name, _idempotency_key(execution.key, self.name), first_at=self._clock())

    def _must_look_up(self, execution: Execution, record: EffectRecord) -> bool:
        """Whether the effect was begun so long ago that the downstream may have forgotten the key.

        The memory is counted from the first intent: the downstream cannot have received the key before it.
        """
        if self.key_memory is None or self.name not in execution.effects:
            return False
        return self._clock() >= record.first_at + int(self.key_memory.total_seconds() * 1000)

    def _lookup_of(self, record: EffectRecord) -> Lookup:
        if self._lookup is None:
            raise EffectUncertain(
                f"the effect {self.name!r} was begun at {record.first_at} under the key {record.idempotency_key!r}, "
                f"nobody knows how it ended, and after {self.key_memory} the downstream has forgotten the key: look "
                "there whether it happened, or give the effect a lookup that does"
            )
        return self._lookup

    def _done(self, execution: Execution, record: EffectRecord, result: object) -> object:
        text = payloads.encode(result, bytes_max=payloads.EFFECT_RESULT_BYTES_MAX)
        execution.note_effect(record._replace(done_at=self._clock(), result=text))
        return result


def _idempotency_key(execution_key: str, name: str) -> str:
    """A key that fits into a header: the readable key, or its hash if that is too long."""
    key = f"{execution_key}/{name}"
    if len(key) <= IDEMPOTENCY_KEY_CHARS_MAX and key.isascii() and key.isprintable():
        return key
    import hashlib

    return hashlib.sha256(key.encode()).hexdigest()
