"""Every event that is handed over is accounted for; those that failed in passing are sent again, and only those."""

from __future__ import annotations

import asyncio
import threading

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.handler import RetryPolicy, TokenBucket, put_events, put_events_async
from redrive.handler.events import entry_bytes
from tests.unit.handler.conftest import START, FakeContext, HandClock


class Bus:
    """EventBridge, which refuses what it is told to: by the entry's Detail, so many times."""

    def __init__(self, **refusals: tuple[str, int]) -> None:
        self.refusals = dict(refusals)
        self.errors: list[Exception] = []
        self.requests: list[list[str]] = []

    def put_events(self, Entries: list[dict[str, str]]) -> dict[str, object]:  # noqa: N803 - AWS's name.
        self.requests.append([entry["Detail"] for entry in Entries])
        if self.errors:
            raise self.errors.pop(0)
        results = [self.result(entry["Detail"]) for entry in Entries]
        return {"FailedEntryCount": sum("ErrorCode" in result for result in results), "Entries": results}

    def result(self, detail: str) -> dict[str, str]:
        code, times = self.refusals.get(detail, ("", 0))
        if times == 0:
            return {"EventId": f"id-{detail}"}
        self.refusals[detail] = (code, times - 1)
        return {"ErrorCode": code, "ErrorMessage": "because"}


def entries(*details: str) -> list[dict[str, str]]:
    return [{"Source": "s", "DetailType": "t", "Detail": detail} for detail in details]


def put(bus: Bus, details: list[str], clock: HandClock, **options):
    return put_events(bus, entries(*details), clock=clock, sleep=clock.sleep, random=lambda: 0.5, **options)


def test_entries_go_in_tens_and_in_order(clock: HandClock) -> None:
    bus, details = Bus(), [str(number) for number in range(23)]

    report = put(bus, details, clock)

    assert report.is_complete
    assert bus.requests == [details[:10], details[10:20], details[20:]]
    assert [(one.place, one.event_id) for one in report.sent] == [(n, f"id-{n}") for n in range(23)]


def test_only_entries_that_failed_are_sent_again(clock: HandClock) -> None:
    bus = Bus(b=("ThrottlingException", 1), d=("InternalFailure", 2))

    report = put(bus, ["a", "b", "c", "d"], clock)

    assert report.is_complete
    assert bus.requests == [["a", "b", "c", "d"], ["b", "d"], ["d"]]
    assert clock.slept == pytest.approx([0.5, 0.1])  # A throttle among them makes all wait longer.


def test_entry_that_can_never_be_sent_stays_behind_at_once(clock: HandClock) -> None:
    bus = Bus(b=("NotAuthorizedForSourceException", 9))

    report = put(bus, ["a", "b"], clock)

    assert bus.requests == [["a", "b"]]
    assert [(one.place, one.entry["Detail"], one.code, one.is_retryable) for one in report.left] == [
        (1, "b", "NotAuthorizedForSourceException", False)
    ]


def test_entry_that_goes_on_failing_stays_behind_and_the_others_are_reported(clock: HandClock) -> None:
    bus = Bus(b=("InternalFailure", 99))

    report = put(bus, ["a", "b"], clock, policy=RetryPolicy(attempts_max=3))

    assert [one.place for one in report.sent] == [0]
    (left,) = report.left
    assert (left.place, left.is_retryable) == (1, True)
    assert "3 attempts" in left.message
    assert not report.is_complete


@pytest.mark.parametrize("is_lost", [False, True])
def test_request_that_fails_whole_in_passing_is_sent_again(clock: HandClock, is_lost: bool) -> None:
    bus = Bus()
    throttled = ClientError({"Error": {"Code": "ThrottlingException", "Message": "m"}}, "PutEvents")
    bus.errors = [ReadTimeoutError(endpoint_url="u") if is_lost else throttled]

    assert put(bus, ["a", "b"], clock).is_complete
    assert bus.requests == [["a", "b"], ["a", "b"]]


def test_request_that_is_refused_whole_hides_no_success_before_it(clock: HandClock) -> None:
    details = [str(number) for number in range(12)]
    denied = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "m"}}, "PutEvents")

    class Denying(Bus):
        def put_events(self, Entries: list[dict[str, str]]) -> dict[str, object]:  # noqa: N803 - AWS's name.
            if len(self.requests) == 1:
                raise denied
            return super().put_events(Entries)

    report = put(Denying(), details, clock)

    assert [one.place for one in report.sent] == list(range(10))
    assert [(one.place, one.code) for one in report.left] == [
        (10, "AccessDeniedException"),
        (11, "AccessDeniedException"),
    ]


def test_entries_are_split_by_size_too(clock: HandClock) -> None:
    bus = Bus()

    report = put(bus, ["x" * 40, "y" * 40, "z" * 40], clock, bytes_max=100)

    assert report.is_complete
    assert [len(request) for request in bus.requests] == [2, 1]


def test_entry_too_large_for_any_request_stays_behind_unsent(clock: HandClock) -> None:
    bus = Bus()

    report = put(bus, ["x" * 2_000_000, "y"], clock)

    assert [one.place for one in report.sent] == [1]
    assert [(one.place, one.code) for one in report.left] == [(0, "EntryTooLarge")]


def test_size_counts_bytes_time_and_resources() -> None:
    """14 for the time, and the UTF-8 of source, type, detail and resources; the bus is not counted."""
    entry = {
        "Source": "s",
        "DetailType": "tt",
        "Detail": "ü",
        "Resources": ["ab", "c"],
        "Time": 0,
        "EventBusName": "bus",
    }

    assert entry_bytes(entry) == 1 + 2 + 2 + 3 + 14


def test_wait_that_would_outlast_the_invocation_leaves_the_rest_behind(clock: HandClock) -> None:
    bus = Bus(a=("InternalFailure", 9))

    report = put(bus, ["a"], clock, policy=RetryPolicy(first_s=4), context=FakeContext(START + 2_000, clock))

    assert (clock.slept, len(report.left)) == ([], 1)


def test_limiter_is_asked_for_each_request(clock: HandClock) -> None:
    limiter = TokenBucket(2, clock=clock, sleep=clock.sleep)

    put(Bus(), [str(number) for number in range(25)], clock, limiter=limiter)

    assert clock.slept == [0.5, 0.5]


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 60), max_size=40),
    st.dictionaries(st.integers(0, 39), st.sampled_from(["InternalFailure", "MalformedDetail"]), max_size=5),
)
def test_every_entry_is_either_sent_or_left_and_no_request_is_too_large(sizes: list[int], bad: dict[int, str]) -> None:
    clock = HandClock()
    details = [f"{place:02}".ljust(size, "x") for place, size in enumerate(sizes)]
    bus = Bus(**{details[place]: (code, 99) for place, code in bad.items() if place < len(details)})

    report = put(bus, details, clock, bytes_max=100)

    assert sorted([one.place for one in report.sent] + [one.place for one in report.left]) == list(range(len(details)))
    assert {one.place for one in report.left} == {place for place in bad if place < len(details)}
    assert all(len(request) <= 10 and sum(len(detail) + 2 for detail in request) <= 100 for request in bus.requests)


def test_bucket_lets_a_burst_pass_and_then_its_rate(clock: HandClock) -> None:
    bucket = TokenBucket(10, burst=3, clock=clock, sleep=clock.sleep)

    waits = [bucket.take() for _ in range(5)]
    clock.advance(100)
    waits += [bucket.take(3), bucket.take()]

    assert waits == pytest.approx([0, 0, 0, 0.1, 0.1, 0, 0.1])


def test_bucket_waits_for_coroutines_too(clock: HandClock) -> None:
    bucket = TokenBucket(10, clock=clock, sleep_async=clock.sleep_async)

    async def take() -> list[float]:
        return [await bucket.take_async() for _ in range(3)]

    assert asyncio.run(take()) == pytest.approx([0, 0.1, 0.1])
    assert clock.slept == pytest.approx([0.1, 0.1])


def test_bucket_lets_no_token_pass_twice_however_many_threads_take() -> None:
    """Another thread comes in between what the first one reads and what it writes."""
    bucket = TokenBucket(1, burst=3, clock=lambda: START, sleep=lambda _: None)
    waits: list[float] = []
    other = threading.Thread(target=lambda: waits.append(bucket.take()))

    class Intruded(int):
        def __sub__(self, there: float) -> float:  # type: ignore[override]
            other.start()
            other.join(0.1)  # In vain: the other waits until this one has taken.
            return int(self) - there

    waits += [bucket.take(), bucket.take(Intruded(2))]
    other.join()

    assert sorted(waits) == [0, 0, 1]


def test_async_twin_sends_in_a_thread_and_reports_the_same(clock: HandClock) -> None:
    bus, threads = Bus(b=("InternalFailure", 1)), set[int]()

    class Watching(Bus):
        def put_events(self, Entries: list[dict[str, str]]) -> dict[str, object]:  # noqa: N803 - AWS's name.
            threads.add(threading.get_ident())
            return bus.put_events(Entries)

    report = asyncio.run(put_events_async(Watching(), entries("a", "b"), clock=clock, sleep=clock.sleep))

    assert report.is_complete
    assert bus.requests == [["a", "b"], ["b"]]
    assert threading.get_ident() not in threads


def test_bucket_refuses_more_than_a_burst_and_rates_of_nothing(clock: HandClock) -> None:
    with pytest.raises(ValueError):
        TokenBucket(1, burst=2, clock=clock).take(3)
    with pytest.raises(ValueError):
        TokenBucket(0)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3_000)), max_size=30))
def test_bucket_never_lets_more_pass_than_rate_and_burst_allow(calls: list[tuple[int, int]]) -> None:
    clock = HandClock()
    bucket = TokenBucket(2, burst=3, clock=clock, sleep=clock.sleep)
    passed: list[tuple[int, int]] = []

    for tokens, pause_ms in calls:
        bucket.take(tokens)
        passed.append((clock.now, tokens))
        clock.now += pause_ms

    for first, (began, _) in enumerate(passed):
        for ended, total in (
            (passed[last][0], sum(n for _, n in passed[first : last + 1])) for last in range(first, len(passed))
        ):
            assert total <= 3 + 2 * (ended - began) / 1000 + 0.01  # Sleeping is rounded to the millisecond.
