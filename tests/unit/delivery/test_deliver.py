"""The delivery worker: claim, attempt, settle, with a source of our own and a store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from redrive.core.clock import DAY_MS, MINUTE_MS, SECOND_MS, VirtualClock
from redrive.core.connected_calls import ConnectedCall
from redrive.core.documents import Document
from redrive.core.entropy import SeededEntropy
from redrive.core.errors import ServiceError
from redrive.core.knobs import PRODUCTION
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits
from redrive.core.log import SilentLog
from redrive.core.own_events import OwnEvent
from redrive.core.retry import (
    Backoff,
    Delivered,
    Exhausted,
    Failed,
    FailureKind,
    GiveUp,
    Outcome,
    RetryAt,
    RetryPolicy,
    Succeeded,
    Verdict,
)
from redrive.core.scope import Caller, Scope
from redrive.delivery.deliver import INTERNAL_FAILURE, LEASE_FLOOR_MS, PUT_OFF_MS, DeliveryWorker
from redrive.delivery.history.records import End
from redrive.delivery.operation import Outside, OutsideNeeded
from redrive.delivery.outside.errand import Errand, Result
from redrive.delivery.outside.invocation import FunctionCode, Invocation, InvocationResult, InvocationStatus
from redrive.delivery.sources.call import Call
from redrive.delivery.sources.source import Source
from redrive.delivery.worker import FreeSlots
from redrive.store.api import NO_CONTEXT, QueueMessage, Transaction
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.attempts import AttemptRecord
from redrive.store.tables.deliveries import INSIDE, OUTSIDE, Delivery

START = 1_735_689_600_000
SCOPE = Scope("000000000000", "us-east-1")
POLICY = RetryPolicy(retries_max=2, backoff=Backoff(steps_ms=(10_000,), jitter=0))
OK = InvocationResult(InvocationStatus.OK, b"{}")
CRASHED = InvocationResult(InvocationStatus.FUNCTION_ERROR)
RUN = Invocation(
    "request", "arn", "deliver", "$LATEST", "1", FunctionCode("", "", ""), b"{}", 3_000, 128, "role", "logs"
)


@dataclass
class Post:
    """Services of one operation: keeps what is posted, until it is told to refuse, or to have it read aloud outside."""

    accepted: list[Mapping[str, object]] = field(default_factory=list)
    refusal: Exception | None = None
    writes_before_refusal: bool = False
    reads_aloud: bool = False
    limits: Limits = Limits.STRICT
    has_rates: bool = False
    on_unknown: OnUnknown = OnUnknown.REFUSE

    def call(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Document:
        with tx.savepoint():
            if self.writes_before_refusal:
                tx.timers.set("post", str(params["Letter"]), START)
            if self.refusal is not None:
                raise self.refusal
            if self.reads_aloud:
                raise OutsideNeeded(Outside(RUN, self._answer))
            self.accepted.append(params)
        return {"Accepted": True}

    def _answer(self, tx: Transaction, result: InvocationResult) -> Document | ServiceError:
        tx.timers.set("post", "read aloud", START)
        return {"Read": True} if result is OK else ServiceError("Busy", "", fault="server")

    def read(self, service: str, operation: str, document: Mapping[str, object]) -> Mapping[str, object]:
        raise AssertionError("no document is read here")

    def missing(self, service: str, operation: str, document: Mapping[str, object]) -> Sequence[str]:
        raise AssertionError("no document is read here")

    def shown(self, service: str, operation: str, answer: Mapping[str, object]) -> Document:
        raise AssertionError("no answer is shown here")

    def declares(self, service: str, operation: str, code: str) -> bool:
        raise AssertionError("nobody asks for errors here")

    def assume_role(
        self, tx: Transaction, role_arn: str, *, service: str, session_name: str, region: str, request_id: str,
        source_arn: str | None = None,
    ) -> Caller:  # fmt: skip
        return Caller(SCOPE, request_id, role_arn, session_name)

    def holder_id(self, tx: Transaction, caller: Caller) -> str:
        raise AssertionError("nobody is named here")

    def publish_event(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        raise AssertionError("no service tells anything here")

    def announce_queues(self, tx: Transaction, arns: Iterable[str]) -> None:
        """Nothing is sent to queues here."""

    def send_to_queues(self, tx: Transaction, messages: Sequence[QueueMessage]) -> Sequence[str | None]:
        return [None for _ in messages]

    def publish_read_call(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        raise AssertionError("no call is recorded here")

    def connection(self, tx: Transaction, caller: Caller, arn: str) -> ConnectedCall | None:
        raise NotImplementedError

    def connection_refused(self, tx: Transaction, arn: str, headers: Sequence[tuple[str, str]]) -> None:
        raise NotImplementedError

    def vended_log_types(self, tx: Transaction, resource_arn: str) -> frozenset[str]:
        return frozenset()

    def vend_logs(
        self, tx: Transaction, resource_arn: str, stream: str, records: Mapping[str, Sequence[Document]]
    ) -> None:
        raise AssertionError("no service writes logs here")

    def begin_reading(
        self, tx: Transaction, caller: Caller, stream_arn: str, start: str, at: int | None
    ) -> Mapping[str, int]:
        raise AssertionError("no stream is read here")

    def user_of(self, tx: Transaction, caller: Caller, access_key_id: str, service: str) -> Caller:
        raise AssertionError("nobody calls with a key here")

    def authorize(
        self, tx: Transaction, caller: Caller, action: str, resource: str, *,
        context: Mapping[str, tuple[str, ...]] = NO_CONTEXT, policy: str = "", resource_account: str | None = None,
        more: Callable[[], Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:  # fmt: skip
        return None


@dataclass
class Letters(Source):
    """A source of letters: those inside go by post, those outside by a function."""

    name: str = "letters"
    lease_ms: int = 90 * SECOND_MS
    unrenderable: Exception | None = None
    unsettleable: set[str] = field(default_factory=set)
    uncountable: bool = False
    attempts: list[Verdict] = field(default_factory=list)
    ends: list[tuple[Outcome, Delivered | GiveUp]] = field(default_factory=list)

    def render(self, tx: Transaction, delivery: Delivery) -> Call | Invocation:
        if self.unrenderable is not None:
            raise self.unrenderable
        if delivery.document["by"] == "post":
            return Call(Caller(SCOPE, "request"), "post", "Accept", lambda: {"Letter": delivery.id})
        return RUN

    def failure(self, error: ServiceError) -> Failed:
        kinds = {"Gone": FailureKind.PERMANENT}
        return Failed(error.code, error.message, kinds.get(error.code, FailureKind.TRANSIENT))

    def outcome(self, errand: Errand, result: Result) -> Outcome:
        assert isinstance(result, InvocationResult)
        if result.status is InvocationStatus.OK:
            return Succeeded({})
        return Failed("Crashed", "", FailureKind.TRANSIENT)

    def settled(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Delivered | GiveUp) -> End:
        if delivery.id in self.unsettleable:
            tx.timers.set("settled", delivery.id, START)
            raise ZeroDivisionError("ours")
        self.ends.append((outcome, verdict))
        return End.of(verdict)

    def attempted(self, tx: Transaction, delivery: Delivery, outcome: Outcome, verdict: Verdict) -> None:
        if self.uncountable:
            raise ZeroDivisionError("ours")
        self.attempts.append(verdict)


class Errors(SilentLog):
    """Keeps the deliveries on which we have failed ourselves."""

    def __init__(self) -> None:
        self.put_off: list[object] = []

    def error(self, event: str, **facts: object) -> None:
        assert event in {"delivery put off", "answer not settled"}
        self.put_off.append(facts["delivery_id"])


def slots(free: int | FreeSlots) -> FreeSlots:
    """So many slots that functions do not share, unless said otherwise."""
    return FreeSlots(free) if isinstance(free, int) else free


class Office:
    """A delivery worker over a store in memory, and a clock to move."""

    def __init__(self) -> None:
        self.log = Errors()
        self.clock = VirtualClock(START)
        self.post = Post()
        self.source = Letters()
        self.worker = DeliveryWorker([self.source], self.log)
        self.store = SqliteStore(None, clock=self.clock, entropy=SeededEntropy(1))
        self.store.bind(self.post)

    def promise(
        self, id: str, *, by: str = "post", place: str = INSIDE, due_at: int = START, function: str = ""
    ) -> bool:
        delivery = Delivery(
            id, SCOPE, "letters", "arn:sender", "arn:receiver", {"by": by}, POLICY, place,
            due_at=due_at, first_at=due_at, function=function,
        )  # fmt: skip
        return self.store.run(lambda tx: tx.deliveries.put(delivery))

    def claim(self, *, free: int | FreeSlots = 1):
        return list(self.store.run(lambda tx: self.worker.claim(tx, free=slots(free))))

    def settle(self, attempt, result: Result) -> None:
        self.store.run(lambda tx: self.worker.settle(tx, attempt, result))

    def history(self, id: str) -> list[AttemptRecord]:
        return self.store.run(lambda tx: tx.attempts.of_delivery(id))

    def next_due(self, *, free: int | FreeSlots = 1) -> int | None:
        return self.store.run(lambda tx: self.worker.next_due(tx, free=slots(free)))

    def advance(self, ms: int) -> None:
        self.clock.move_to(self.clock.now() + ms)


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def outside(office: Office) -> Callable[[str], None]:
    def promise(name: str) -> None:
        assert office.promise(name, by="function", place=OUTSIDE)

    return promise


def test_delivery_inside_is_made_once_in_the_claim(office: Office) -> None:
    office.promise("a")

    assert office.claim() == []
    assert office.claim() == []

    assert office.post.accepted == [{"Letter": "a"}]
    assert office.source.ends == [(Succeeded({"Accepted": True}), Delivered())]
    assert office.next_due() is None


def test_the_same_promise_made_twice_is_kept_once(office: Office) -> None:
    assert office.promise("a")
    assert not office.promise("a")

    office.claim()

    assert len(office.post.accepted) == 1


def test_delivery_waits_until_it_is_due(office: Office) -> None:
    office.promise("a", due_at=START + 1)

    office.claim()

    assert office.post.accepted == []
    assert office.next_due() == START + 1


def test_writes_of_a_failed_call_are_undone_and_the_claim_goes_on(office: Office) -> None:
    """What a refusing target had written is not there afterwards; what follows from the refusal is."""
    office.promise("a")
    office.promise("b")
    office.post.refusal = ServiceError("Busy", "")
    office.post.writes_before_refusal = True

    office.claim()

    assert office.store.run(lambda tx: tx.timers.due("post", START, 10)) == []
    assert office.store.run(lambda tx: tx.timers.next("post")) is None
    assert office.next_due() == START + 10_000


def test_failed_delivery_is_due_again_after_its_wait(office: Office) -> None:
    office.promise("a")
    office.post.refusal = ServiceError("Busy", "")

    office.claim()

    assert office.source.attempts == [RetryAt(START + 10_000, counted=True)]
    assert office.source.ends == []
    assert office.next_due() == START + 10_000


def test_delivery_is_given_up_when_its_retries_are_used_up(office: Office) -> None:
    office.promise("a")
    office.post.refusal = ServiceError("Busy", "")

    for _ in range(3):
        office.claim()
        office.advance(10_000)

    assert [verdict for _, verdict in office.source.ends] == [GiveUp(Exhausted.ATTEMPTS)]
    assert len(office.source.attempts) == 3
    assert office.next_due() is None


def test_permanent_failure_is_settled_at_its_first_attempt(office: Office) -> None:
    office.promise("a")
    office.post.refusal = ServiceError("Gone", "")

    office.claim()

    assert office.source.ends == [(Failed("Gone", "", FailureKind.PERMANENT), GiveUp(None))]


def test_error_of_rendering_is_the_failure_of_the_attempt(office: Office) -> None:
    office.promise("a")
    office.source.unrenderable = ServiceError("Gone", "no role")

    office.claim()

    assert office.source.ends == [(Failed("Gone", "no role", FailureKind.PERMANENT), GiveUp(None))]


@pytest.mark.parametrize(("by", "place"), [("post", INSIDE), ("function", OUTSIDE)])
def test_delivery_that_grew_too_old_is_not_attempted(office: Office, by: str, place: str) -> None:
    office.promise("a", by=by, place=place)
    office.advance(DAY_MS + 1)

    assert office.claim() == []

    assert [verdict for _, verdict in office.source.ends] == [GiveUp(Exhausted.AGE)]
    assert office.post.accepted == []
    assert office.next_due() is None


def test_delivery_exactly_as_old_as_allowed_is_attempted(office: Office) -> None:
    office.promise("a")
    office.advance(DAY_MS)

    office.claim()

    assert len(office.post.accepted) == 1


def test_one_claim_makes_a_bounded_number_of_deliveries_inside(office: Office) -> None:
    for number in range(PRODUCTION.deliveries_per_claim + 1):
        office.promise(f"{number:04}")

    office.claim()

    assert len(office.post.accepted) == PRODUCTION.deliveries_per_claim
    assert office.next_due() == START


def test_deliveries_due_together_are_made_in_the_order_of_their_promise(office: Office) -> None:
    office.promise("b", due_at=START - 1)
    office.promise("c", due_at=START - 2)
    office.promise("a", due_at=START - 1)

    office.claim()

    assert [params["Letter"] for params in office.post.accepted] == ["c", "a", "b"]


def test_delivery_outside_is_settled_by_its_answer(office: Office, outside: Callable[[str], None]) -> None:
    outside("a")

    (attempt,) = office.claim()
    office.settle(attempt, OK)

    assert attempt.key == "a"
    assert office.source.ends == [(Succeeded({}), Delivered())]
    assert office.next_due() is None


def test_no_more_attempts_are_claimed_than_can_start(office: Office, outside: Callable[[str], None]) -> None:
    for name in "abc":
        outside(name)

    assert [attempt.key for attempt in office.claim(free=2)] == ["a", "b"]
    assert office.claim(free=0) == []


def test_function_leaves_slots_to_others_however_many_of_its_deliveries_are_due_before_theirs(office: Office) -> None:
    """16 slots: a function gets 8 at most, and what comes after a thousand of its deliveries is claimed with them."""
    for number in range(1_000):
        office.promise(f"bad-{number:04}", by="reader", place=OUTSIDE, function="bad")
    office.promise("good", by="reader", place=OUTSIDE, due_at=START + 1, function="good")
    office.advance(1)

    claimed = [attempt.key for attempt in office.claim(free=FreeSlots(16, {}))]

    assert claimed == [*(f"bad-{number:04}" for number in range(8)), "good"]


@pytest.mark.parametrize(
    ("free", "under_way", "more"), [(16, 0, 8), (15, 1, 7), (9, 7, 1), (8, 8, 0), (1, 0, 1), (0, 0, 0)]
)
def test_function_may_begin_a_run_while_it_has_fewer_under_way_than_there_are_slots_free(
    office: Office, free: int, under_way: int, more: int
) -> None:
    for number in range(20):
        office.promise(f"{number}", by="reader", place=OUTSIDE, function="f")

    assert len(office.claim(free=FreeSlots(free, {"f": under_way}))) == more


def test_function_that_hangs_leaves_half_of_what_was_free_to_the_others(office: Office) -> None:
    for number in range(20):
        for function in ("f", "g", "h"):
            office.promise(f"{function}{number}", by="reader", place=OUTSIDE, function=function)
    free = FreeSlots(16, {})

    while begun := office.claim(free=free):
        free = free.without(attempt.key[0] for attempt in begun)

    assert free.count == 2
    assert free.held == {"f": 8, "g": 4, "h": 2}


def test_what_cannot_start_is_not_due_and_what_can_is(office: Office) -> None:
    office.promise("bad", by="reader", place=OUTSIDE, function="bad")
    full = FreeSlots(8, {"bad": 8})

    before = office.next_due(free=full), office.claim(free=full)
    office.promise("good", by="reader", place=OUTSIDE, due_at=START + 5, function="good")

    assert before == (None, [])
    assert office.next_due(free=full) == START + 5


def test_deliveries_outside_are_not_due_without_free_slots(office: Office, outside: Callable[[str], None]) -> None:
    outside("a")

    assert office.next_due(free=0) is None
    assert office.next_due(free=1) == START


def test_leased_delivery_is_not_claimed_by_another(office: Office, outside: Callable[[str], None]) -> None:
    outside("a")
    office.claim()

    assert office.claim() == []
    assert office.next_due() == START + 90 * SECOND_MS


def test_expired_lease_lets_the_delivery_be_claimed_again(office: Office, outside: Callable[[str], None]) -> None:
    outside("a")
    (first,) = office.claim()
    office.advance(90 * SECOND_MS)

    (second,) = office.claim()

    assert second.fence > first.fence


def test_zombie_that_settles_after_its_lease_expired_settles_nothing(
    office: Office, outside: Callable[[str], None]
) -> None:
    outside("a")
    (first,) = office.claim()
    office.advance(90 * SECOND_MS)
    (second,) = office.claim()

    office.settle(first, OK)
    assert office.source.ends == []
    office.settle(second, CRASHED)

    assert office.source.attempts == [RetryAt(office.clock.now() + 10_000, counted=True)]


def test_answer_that_comes_twice_is_settled_once(office: Office, outside: Callable[[str], None]) -> None:
    outside("a")
    (attempt,) = office.claim()

    office.settle(attempt, OK)
    office.settle(attempt, CRASHED)

    assert office.source.ends == [(Succeeded({}), Delivered())]


def test_failed_attempt_outside_is_retried_with_a_new_fence(office: Office, outside: Callable[[str], None]) -> None:
    outside("a")
    (first,) = office.claim()
    office.settle(first, CRASHED)
    office.advance(10_000)

    (second,) = office.claim()
    office.settle(second, OK)

    assert second.fence > first.fence
    assert [verdict for _, verdict in office.source.ends] == [Delivered()]


def test_error_of_rendering_outside_gives_no_attempt(office: Office, outside: Callable[[str], None]) -> None:
    outside("a")
    office.source.unrenderable = ServiceError("Busy", "")

    assert office.claim() == []

    assert office.source.attempts == [RetryAt(START + 10_000, counted=True)]


@pytest.mark.parametrize(("by", "place"), [("post", INSIDE), ("function", OUTSIDE)])
def test_defect_in_settling_puts_off_its_own_delivery_and_no_other(office: Office, by: str, place: str) -> None:
    """What the source wrote of it is undone; it is tried again later, as often as it takes. Nothing is lost."""
    office.source.unsettleable.add("a")
    office.post.refusal = ServiceError("Gone", "")
    office.source.unrenderable = ServiceError("Gone", "") if place == OUTSIDE else None
    office.promise("a", by=by, place=place)
    office.promise("b", by=by, place=place)

    office.claim(free=2)

    assert office.log.put_off == ["a"]
    assert [verdict for _, verdict in office.source.ends] == [GiveUp(None)]
    assert office.next_due() == START + PUT_OFF_MS
    assert office.store.run(lambda tx: tx.timers.next("settled")) is None
    office.source.unsettleable.clear()
    office.clock.move_to(START + PUT_OFF_MS)
    office.claim(free=2)
    assert [verdict for _, verdict in office.source.ends] == [GiveUp(None), GiveUp(None)]
    assert office.next_due() is None


def test_answer_that_a_defect_keeps_from_being_settled_is_kept_and_its_function_not_run_again(
    office: Office, outside: Callable[[str], None]
) -> None:
    office.source.unsettleable.add("a")
    outside("a")
    (attempt,) = office.claim()

    office.settle(attempt, OK)
    office.settle(attempt, OK)

    assert office.log.put_off == ["a"]
    assert [record.code for record in office.history("a")] == [INTERNAL_FAILURE]
    assert "ours" in office.history("a")[0].message
    assert office.store.run(lambda tx: tx.timers.next("settled")) is None
    assert office.next_due() == START + PUT_OFF_MS
    office.advance(PUT_OFF_MS)
    assert office.claim() == []
    assert office.next_due() == START + 2 * PUT_OFF_MS
    office.source.unsettleable.clear()
    office.advance(PUT_OFF_MS)
    assert office.claim() == []
    assert office.source.ends == [(Succeeded({}), Delivered())]
    assert [(record.attempt, record.verdict) for record in office.history("a")] == [(1, "retry"), (1, "delivered")]
    assert office.next_due() is None


def test_kept_answer_of_a_failure_is_followed_by_another_attempt_once_it_is_settled(
    office: Office, outside: Callable[[str], None]
) -> None:
    office.source.uncountable = True
    outside("a")
    (attempt,) = office.claim()
    office.settle(attempt, CRASHED)
    office.source.uncountable = False
    office.advance(PUT_OFF_MS)

    office.claim()

    assert office.next_due() == START + PUT_OFF_MS + 10_000
    office.advance(10_000)
    assert [attempt.key for attempt in office.claim()] == ["a"]


def test_operation_whose_answer_cannot_be_settled_is_called_again_and_the_history_says_so(office: Office) -> None:
    """Only its caller can make an operation's answer, so there is nothing that could be kept."""
    office.promise("a")
    office.post.reads_aloud = True
    office.source.unsettleable.add("a")
    (attempt,) = office.claim()

    office.settle(attempt, OK)

    assert [record.code for record in office.history("a")] == [INTERNAL_FAILURE]
    office.source.unsettleable.clear()
    office.advance(PUT_OFF_MS)
    (again,) = office.claim()
    office.settle(again, OK)
    assert office.source.ends == [(Succeeded({"Read": True}), Delivered())]


def test_source_that_renders_an_invocation_inside_is_a_defect(office: Office) -> None:
    office.promise("a", by="function", place=INSIDE)

    office.claim()

    assert office.log.put_off == ["a"]


def test_call_that_needs_the_outside_is_attempted_there_once_a_slot_is_free(office: Office) -> None:
    office.promise("a")
    office.post.reads_aloud = True

    assert office.claim(free=0) == []
    assert office.next_due(free=0) is None
    (attempt,) = office.claim(free=1)
    office.settle(attempt, OK)

    assert office.source.ends == [(Succeeded({"Read": True}), Delivered())]
    assert office.next_due() is None


def test_call_that_needs_the_outside_takes_of_its_functions_share(office: Office) -> None:
    office.promise("a")
    office.post.reads_aloud = True
    office.claim(free=0)

    full = FreeSlots(1, {RUN.unqualified_arn: 1})

    assert office.claim(free=full) == []
    assert office.next_due(free=full) is None
    assert len(office.claim(free=FreeSlots(1, {}))) == 1


def test_call_that_fails_outside_is_retried_as_a_call_and_keeps_what_was_written_of_its_run(office: Office) -> None:
    """The retry of a call meets the faults and the rights that a call meets, so it begins inside again."""
    office.promise("a")
    office.post.reads_aloud = True
    office.claim(free=0)
    (attempt,) = office.claim()
    office.settle(attempt, CRASHED)
    office.post.reads_aloud = False

    office.clock.move_to(START + 10_000)
    office.claim(free=0)

    assert office.source.attempts == [RetryAt(START + 10_000, counted=True), Delivered()]
    assert office.post.accepted == [{"Letter": "a"}]
    assert office.store.run(lambda tx: tx.timers.next("post")) == START


def test_call_outside_whose_node_is_lost_is_made_again_after_its_lease(office: Office) -> None:
    office.promise("a")
    office.post.reads_aloud = True
    office.claim(free=0)
    (lost,) = office.claim()

    office.clock.move_to(START + 90 * SECOND_MS)
    (again,) = office.claim()
    office.settle(lost, OK)
    office.settle(again, OK)

    assert office.source.ends == [(Succeeded({"Read": True}), Delivered())]


def test_delivery_of_an_unknown_source_waits_for_a_redrive_that_knows_it(office: Office) -> None:
    """A newer redrive has made the promise; an older one, started over the same store, leaves it be."""
    office.promise("a")
    office.worker = DeliveryWorker([], office.log)

    office.claim()

    assert office.log.put_off == ["a"]
    assert office.next_due() == START + PUT_OFF_MS


def test_lease_is_at_least_a_minute(office: Office, outside: Callable[[str], None]) -> None:
    office.source.lease_ms = 1
    office.worker = DeliveryWorker([office.source], office.log)
    outside("a")

    office.claim()

    assert LEASE_FLOOR_MS == MINUTE_MS
    assert office.next_due() == START + MINUTE_MS


def test_defect_in_a_target_fails_its_own_attempt_and_leaves_the_others_alone(office: Office) -> None:
    """A defect of ours is a failed attempt that is retried, not a round that fails for ever."""
    office.promise("a")
    office.post.refusal = ZeroDivisionError("ours")

    office.claim()
    office.post.refusal = None
    office.promise("b")
    office.claim()

    assert office.post.accepted == [{"Letter": "b"}]
    assert office.source.ends == [(Succeeded({"Accepted": True}), Delivered())]


@pytest.mark.parametrize(("by", "place"), [("post", INSIDE), ("function", OUTSIDE)])
def test_defect_in_rendering_is_the_failure_of_that_delivery(office: Office, by: str, place: str) -> None:
    """A delivery that cannot even be rendered waits for its retry; the next one is made."""
    office.promise("a", by=by, place=place)
    office.source.unrenderable = ZeroDivisionError("ours")
    office.claim()
    office.source.unrenderable = None
    office.promise("b")

    office.claim()

    assert office.post.accepted == [{"Letter": "b"}]
