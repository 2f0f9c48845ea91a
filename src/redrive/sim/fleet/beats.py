"""The three beats of a node. Each is reported to the checkers and written into the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from redrive.core.clock import Clock
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.http_call import HttpResult
from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus
from redrive.delivery.outside.reading import ReadingResult
from redrive.delivery.worker import Attempt
from redrive.engine.engine import Claimed
from redrive.sim.checkers.happenings import Happening, Settled, Took
from redrive.sim.fleet.nodes import Node
from redrive.sim.fleet.serving import Serving
from redrive.sim.trace import IDLE, Trace
from redrive.store.api import Step, Transaction
from redrive.store.tables.attempts import AttemptRecord

T = TypeVar("T")


class Beats:
    """The beats of nodes: claim, perform, settle."""

    def __init__(self, serving: Serving, clock: Clock, trace: Trace, observe: Callable[[Happening], None]) -> None:
        """`clock` shows the one true time. `observe` passes happenings to the checkers."""
        self._serving = serving
        self._clock = clock
        self._trace = trace
        self._observe = observe

    def claim(self, node: Node) -> Claimed:
        """First beat. Errors: Conflict, AnswerLost."""
        free, rounds = node.free, node.process.rounds

        def claimed_by(taken: object, inside: int) -> None:
            if isinstance(taken, Claimed):
                self._observe(Took(node.name, free.count, self._clock.now(), taken.attempts, inside))

        node.process.claimed = claimed_by
        node.is_claiming = True
        try:
            rounds.claim(free)
        finally:
            node.is_claiming = False
        claimed = rounds.latest
        for attempt in claimed.attempts:
            node.take(attempt)
        if claimed.progressed:
            names = ",".join(_short(attempt) for attempt in claimed.attempts)
            self._trace.write(self._clock.now(), "claimed", node=node.name, attempts=names)
        else:
            self._trace.write(self._clock.now(), IDLE, node=node.name)
        return claimed

    def perform(self, node: Node, attempt: Attempt) -> Result:
        """Second beat: run the function, or call the URL, now."""
        result = node.process.engine.perform(attempt)
        status = _status(result)
        self._trace.write(self._clock.now(), "performed", node=node.name, attempt=_short(attempt), status=status)
        return result

    def settle(self, node: Node, attempt: Attempt, result: Result) -> None:
        """Third beat. Errors: Conflict, AnswerLost."""
        process = node.process
        records: list[AttemptRecord] = []
        is_throttled = isinstance(result, InvocationResult) and result.status is InvocationStatus.THROTTLED

        def committed(_: object) -> None:
            self._observe(Settled(node.name, attempt, tuple(records), is_throttled))
            verdict = ",".join(record.verdict for record in records)
            self._trace.write(self._clock.now(), "settled", node=node.name, attempt=_short(attempt), verdict=verdict)

        def run(step: Step[T]) -> T:
            def watched(tx: Transaction) -> T:
                before = len(tx.attempts.of_delivery(attempt.key))
                answer = step(tx)
                records[:] = tx.attempts.of_delivery(attempt.key)[before:]
                return answer

            return self._serving.run(process, watched, committed=committed)

        process.engine_with(run).settle(attempt, result)


def _status(result: Result) -> str:
    match result:
        case HttpResult(ending):
            return ending.value
        case ReadingResult():
            return "read"
        case InvocationResult():
            return result.status.value


def _short(attempt: Attempt) -> str:
    return f"{attempt.worker}/{attempt.key[:8]}/{attempt.fence}"
