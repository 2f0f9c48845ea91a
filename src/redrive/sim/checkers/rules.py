"""The rules that hold in any weather. Each is a checker.

A checker observes happenings, and reads the remaining messages at the end. It raises RuleBroken at the first violation.
For each checker, a test plants a defect to show that the checker can fail.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.delivery.outside.invocation import Invocation
from redrive.delivery.worker import Attempt
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import (
    Accepted,
    Handled,
    Happening,
    LeftMessage,
    Received,
    Recorded,
    Settled,
    Took,
    Tried,
)
from redrive.store.tables.attempts import RunState


class Checker(Protocol):
    """One rule."""

    def observe(self, happening: Happening) -> None:
        """Observe a happening. Errors: RuleBroken."""
        ...

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Called at the end, with the messages that queues still hold. Errors: RuleBroken."""
        ...


def key_of(text: str) -> str | None:
    """The key of the work in a message's body or an event; None if there is none."""
    document = load_json(text)
    key = document.get("key") if isinstance(document, dict) else None
    return None if key is None else str(key)


def name_of(attempt: Attempt) -> str:
    """The name of an attempt's function; empty for a call of a URL."""
    return attempt.errand.function_name if isinstance(attempt.errand, Invocation) else ""


def event_of(attempt: Attempt) -> Document:
    """The event that an attempt's function gets; empty for a call of a URL."""
    event: Document = load_json(attempt.errand.payload) if isinstance(attempt.errand, Invocation) else {}
    return event


def messages_of(attempt: Attempt) -> Sequence[Document]:
    """The messages of a queue that an attempt's function gets. Records of streams are none."""
    return [record for record in event_of(attempt).get("Records", ()) if "messageId" in record]


class Conservation:
    """Accepted work is handled, or dead-lettered, or still in a queue."""

    rule = "accepted work does not vanish"

    def __init__(self) -> None:
        self._accepted: dict[str, None] = {}
        self._handled: set[str] = set()

    def observe(self, happening: Happening) -> None:
        match happening:
            case Accepted(key):
                self._accepted[key] = None
            case Handled(key):
                self._handled.add(key)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        there = {key_of(message.body) for message in left}
        vanished = [key for key in self._accepted if key not in self._handled and key not in there]
        if vanished:
            raise RuleBroken(self.rule, f"{vanished} was neither handled, nor is it in any queue")


class Drained:
    """Queues with consumers are empty at the end."""

    rule = "in good weather queues are worked off"

    def __init__(self, queues: Sequence[str]) -> None:
        """`queues` by name; the sequence may grow."""
        self._queues = queues

    def observe(self, happening: Happening) -> None:
        """Nothing to do: queues are read at the end."""

    def finish(self, left: Sequence[LeftMessage]) -> None:
        stuck = [f"{message.message_id} in {message.queue}" for message in left if message.queue in self._queues]
        if stuck:
            raise RuleBroken(self.rule, f"{stuck} is still there")


class NothingInvented:
    """Work that is handled, or remains in a queue, was submitted before."""

    rule = "no work comes from nowhere"

    def __init__(self) -> None:
        self._tried: set[str] = set()

    def observe(self, happening: Happening) -> None:
        match happening:
            case Tried(key):
                self._tried.add(key)
            case Handled(key) | Accepted(key):
                self._expect(key)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for message in left:
            key = key_of(message.body)
            if key is not None:
                self._expect(key)

    def _expect(self, key: str) -> None:
        if key not in self._tried:
            raise RuleBroken(self.rule, f"{key} was handed in by nobody")


class Slots:
    """A node takes no more attempts than it can start now, and no more deliveries than one transaction may hold."""

    rule = "a node claims no more than it can start"

    def __init__(self, *, inside_max: int) -> None:
        """`inside_max`: the maximum number of deliveries inside the store in one claim."""
        self._inside_max = inside_max

    def observe(self, happening: Happening) -> None:
        if not isinstance(happening, Took):
            return
        if len(happening.attempts) > happening.free:
            raise RuleBroken(
                self.rule, f"{happening.node} took {len(happening.attempts)} attempts into {happening.free} slots"
            )
        if happening.inside > self._inside_max:
            what = f"{happening.node} took {happening.inside} deliveries inside, {self._inside_max} at most"
            raise RuleBroken(self.rule, what)

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: slots are checked at each claim."""


class Settlements:
    """An attempt is settled at most once, by the holder of the latest lease. A delivery ends once."""

    rule = "only the latest lease settles, and once"

    def __init__(self) -> None:
        self._fences: dict[str, int] = {}
        self._settled: set[tuple[str, int]] = set()
        self._ended: set[str] = set()

    def observe(self, happening: Happening) -> None:
        match happening:
            case Took(attempts=attempts):
                for attempt in attempts:
                    self._fences[attempt.key] = max(attempt.fence, self._fences.get(attempt.key, 0))
            case Settled(node, attempt, records) if records:
                self._settles(node, attempt, [record.state for record in records])
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: settlements are checked when they happen."""

    def _settles(self, node: str, attempt: Attempt, states: Sequence[RunState]) -> None:
        name = f"{node} settled fence {attempt.fence} of {attempt.key} ({', '.join(state.word for state in states)})"
        if attempt.fence < self._fences.get(attempt.key, 0):
            raise RuleBroken(self.rule, f"{name} after fence {self._fences[attempt.key]} was claimed")
        if (attempt.key, attempt.fence) in self._settled:
            raise RuleBroken(self.rule, f"{name} twice")
        if attempt.key in self._ended:
            raise RuleBroken(self.rule, f"{name} after the delivery had ended")
        self._settled.add((attempt.key, attempt.fence))
        if any(state is not RunState.RETRYING for state in states):
            self._ended.add(attempt.key)


class Retries:
    """A function's error is retried as often as its policy says, and never after the event is too old."""

    rule = "retries stay within the policy"

    def __init__(
        self, *, retries_max: Mapping[str, int], age_ms_max: Mapping[str, int], disagreement_ms: int = 0
    ) -> None:  # fmt: skip
        """The mappings are by function name. `disagreement_ms`: how far the clocks of two nodes may differ."""
        self._disagreement_ms = disagreement_ms
        self._retries_max = retries_max
        self._age_ms_max = age_ms_max
        self._retries: dict[str, int] = defaultdict(int)
        self._first_seen: dict[str, Instant] = {}

    def observe(self, happening: Happening) -> None:
        match happening:
            case Took(at=at, attempts=attempts):
                for attempt in attempts:
                    self._first_seen.setdefault(attempt.key, at)
            case Settled(attempt=attempt, records=records) if name_of(attempt) in self._retries_max:
                for record in records:
                    if record.state is RunState.RETRYING and record.next_at is not None:
                        self._retried(attempt, counted=record.code == "Unhandled", next_at=record.next_at)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: retries are checked when they happen."""

    def _retried(self, attempt: Attempt, *, counted: bool, next_at: Instant) -> None:
        name = name_of(attempt)
        self._retries[attempt.key] += counted
        if self._retries[attempt.key] > self._retries_max[name]:
            raise RuleBroken(self.rule, f"event {attempt.key} of {name} has {self._retries[attempt.key]} retries")
        if next_at > self._first_seen[attempt.key] + self._age_ms_max[name] + self._disagreement_ms:
            raise RuleBroken(self.rule, f"event {attempt.key} of {name} is to be retried at {next_at}, too old by then")


class Receives:
    """A message has one holder at a time, and its receive count only rises.

    A mapping may run a batch again without another receive, if it has held the batch: the run before was throttled, it
    is settled for the first time, and the history has no outcome. A settlement that comes too late has no outcome
    either, and holds nothing.

    If clocks disagree, a message may be hidden for that much less time.
    """

    rule = "a received message is hidden, and its receives are counted"

    def __init__(self, *, disagreement_ms: int = 0) -> None:
        """`disagreement_ms`: how far the clocks of two nodes may differ."""
        self._disagreement_ms = disagreement_ms
        self._latest: dict[str, Received] = {}
        self._under_way: dict[str, str] = {}
        """The latest run of each message, until it is settled: the key of the attempt."""
        self._held: dict[str, int] = {}

    def observe(self, happening: Happening) -> None:
        match happening:
            case Received():
                self._receive(happening)
            case Took(at=at, attempts=attempts):
                for attempt in attempts:
                    self._take(attempt, at)
            case Settled(attempt=attempt, records=records, is_throttled=is_throttled):
                self._settle(attempt, is_held=is_throttled and not records)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: receives are checked when they happen."""

    def _take(self, attempt: Attempt, at: Instant) -> None:
        for received in _received_for(attempt, at):
            if self._held.pop(received.message_id, 0) != received.count:
                self._receive(received)
            self._under_way[received.message_id] = attempt.key

    def _settle(self, attempt: Attempt, *, is_held: bool) -> None:
        for received in _received_for(attempt, 0):
            if self._under_way.get(received.message_id) == attempt.key:
                del self._under_way[received.message_id]
                if is_held:
                    self._held[received.message_id] = received.count

    def _receive(self, received: Received) -> None:
        before = self._latest.get(received.message_id)
        self._latest[received.message_id] = received
        if before is None:
            return
        if received.at < before.hidden_until - self._disagreement_ms:
            raise RuleBroken(self.rule, f"{received} although it was hidden by {before}")
        if received.count <= before.count:
            raise RuleBroken(self.rule, f"{received} does not count more than {before}")


class EffectsOnce:
    """A conditional handler records its effect once for each key, however often it runs."""

    rule = "a conditional handler has one effect"

    def __init__(self) -> None:
        self._recorded: set[str] = set()

    def observe(self, happening: Happening) -> None:
        if isinstance(happening, Recorded):
            if happening.key in self._recorded:
                raise RuleBroken(self.rule, f"{happening.key} was recorded twice")
            self._recorded.add(happening.key)

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: effects are checked when they happen."""


class DeadLetters:
    """A dead letter says where it comes from and why."""

    rule = "dead letters are complete"

    def __init__(self, attributes: Mapping[str, Sequence[str]], sources: Mapping[str, str]) -> None:
        """Both by dead-letter queue: the attributes of its letters, and the queue that its messages come from."""
        self._attributes = attributes
        self._sources = sources

    def observe(self, happening: Happening) -> None:
        """Nothing to do: dead letters are read at the end."""

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for message in left:
            missing = [name for name in self._attributes.get(message.queue, ()) if not message.attributes.get(name)]
            if missing:
                raise RuleBroken(self.rule, f"{message.message_id} in {message.queue} lacks {missing}")
            source = self._sources.get(message.queue)
            if source is not None and not message.source_queue.endswith(f":{source}"):
                raise RuleBroken(self.rule, f"{message.message_id} in {message.queue} does not come from {source}")


def _received_for(attempt: Attempt, at: Instant) -> Iterator[Received]:
    """The messages that a mapping received for its function, hidden at least until the function's timeout."""
    hidden_until = at + attempt.errand.timeout_ms
    for record in messages_of(attempt):
        yield Received(record["messageId"], int(record["attributes"]["ApproximateReceiveCount"]), at, hidden_until)
