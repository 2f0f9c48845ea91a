"""Keeps environments ready for provisioned concurrency: which ones, and which of them could not be started.

Source: https://docs.aws.amazon.com/lambda/latest/dg/provisioned-concurrency.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redrive.core.clock import MINUTE_MS
from redrive.core.log import Log
from redrive.delivery.outside.invocation import Invocation, Provision
from redrive.invoke.sandbox.environment import Sandbox
from redrive.invoke.sandbox.pool import Pool, PoolKey

FAILED_PAUSE_MS = 1 * MINUTE_MS
"""How long a function is left alone whose environment could not be made ready."""

Begin = Callable[[PoolKey, Invocation], str]
"""Starts an environment and puts it into the pool; returns why it could not, or nothing."""


class Provisioned:
    """The environments that are kept ready. One thread calls `provide`; any thread may call `keys`."""

    def __init__(
        self, pool: Pool[Sandbox], begin: Begin, key_of: Callable[[Invocation], PoolKey], *,
        count_max: int, monotonic: Callable[[], float], log: Log,
    ) -> None:  # fmt: skip
        """`count_max`: how many environments are kept ready in all. What is asked for beyond is started on demand."""
        self._pool = pool
        self._begin = begin
        self._key_of = key_of
        self._count_max = count_max
        self._monotonic = monotonic
        self._log = log
        self._arns: frozenset[str] = frozenset()
        self._paused_until: dict[PoolKey, float] = {}
        self._told: frozenset[str] = frozenset()

    def keys(self, invocation: Invocation) -> tuple[PoolKey, ...]:
        """The key of the environments that are kept ready for this run; none if there are none."""
        return (self._key_of(invocation),) if invocation.function_arn in self._arns else ()

    def provide(self, wanted: Sequence[Provision]) -> None:
        """See Provisioner."""
        invocations = {self._key_of(one.invocation): one.invocation for one in wanted}
        counts = self._bounded(wanted)
        now = self._monotonic()
        self._paused_until = {key: until for key, until in self._paused_until.items() if until > now and key in counts}
        self._arns = frozenset(key.provisioned for key in counts)
        for key in self._pool.keep(counts):
            if key in self._paused_until:
                continue
            failure = "" if self._pool.is_closed else self._begin(key, invocations[key])
            if failure:
                self._paused_until[key] = self._monotonic() + FAILED_PAUSE_MS
                self._log.warning("environment not provided", function_arn=key.provisioned, reason=failure)

    def _bounded(self, wanted: Sequence[Provision]) -> Mapping[PoolKey, int]:
        """How many environments each key gets."""
        counts: dict[PoolKey, int] = {}
        left = self._count_max
        cut: set[str] = set()
        for one in wanted:
            number = min(one.count, left)
            left -= number
            if number < one.count:
                cut.add(one.invocation.function_arn)
            if number:
                counts[self._key_of(one.invocation)] = number
        for arn in sorted(cut - self._told):
            reason = f"at most {self._count_max} are kept ready in all; calls beyond start environments on demand"
            self._log.warning("environments not provided", function_arn=arn, reason=reason)
        self._told = frozenset(cut)
        return counts
