"""`put_events`: sends any number of events to EventBridge, and only those that failed again.

PutEvents answers 200 even if some entries failed, and takes at most ten entries, of limited total size, at a time. The
caller always gets the result of each entry: an exception would hide the entries that were sent.

Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

from redrive.handler.clock import Clock, Sleep, now_ms, sleep
from redrive.handler.entropy import Random, fraction
from redrive.handler.failures import Kind, classify, error_code, kind_of_code
from redrive.handler.functions import in_thread
from redrive.handler.lambda_context import remaining_ms
from redrive.handler.retries import DEFAULT_POLICY, RetryPolicy
from redrive.handler.signatures import EventsClient

ENTRIES_MAX = 10  # https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
BYTES_MAX = 1_048_576 - 1  # Less than 1 MB in all; endpoints with the older limit take 262,144.
TIME_BYTES = 14

Entry = Mapping[str, object]


class Limiter(Protocol):
    """Limits the rate of requests; a TokenBucket."""

    def take(self, tokens: int = 1) -> float:
        """Wait until this many requests may pass."""
        ...


@dataclass(frozen=True, slots=True)
class Sent:
    """An entry that EventBridge accepted; `place` is its index in the caller's list."""

    place: int
    event_id: str


@dataclass(frozen=True, slots=True)
class Left:
    """An entry that was not sent, with the last error. `is_retryable`: sending it later may succeed.

    After a lost answer, EventBridge may have accepted such an entry nevertheless: consumers of EventBridge receive
    events at least once.
    """

    place: int
    entry: Entry
    code: str
    message: str
    is_retryable: bool


@dataclass(frozen=True, slots=True)
class PutEventsReport:
    """The result of each entry, in the caller's order."""

    sent: tuple[Sent, ...]
    left: tuple[Left, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every entry was sent."""
        return not self.left


def put_events(
    client: EventsClient,
    entries: Sequence[Entry],
    *,
    policy: RetryPolicy = DEFAULT_POLICY,
    limiter: Limiter | None = None,
    bytes_max: int = BYTES_MAX,
    context: object = None,
    clock: Clock = now_ms,
    sleep: Sleep = sleep,
    random: Random = fraction,
) -> PutEventsReport:
    """Send events, and report the result of each. Never raises for an error of EventBridge or the network.

    Entries are sent in order, in groups of ten or fewer, with less than `bytes_max` in all. Entries with a transient
    error are sent again after a wait, by `policy`, which counts for each group. `limiter` is asked once for each
    request.
    """
    sending = _Sending(client, policy, limiter, context, clock, sleep, random)
    sent: list[Sent] = []
    left: list[Left] = []
    small: list[tuple[int, Entry]] = []
    for place, entry in enumerate(entries):
        size = entry_bytes(entry)
        if size <= bytes_max:
            small.append((place, entry))
        else:
            why = f"the entry has {size:,} bytes, and a request takes {bytes_max:,}"
            left.append(Left(place, entry, "EntryTooLarge", why, is_retryable=False))
    for chunk in _chunks(small, bytes_max):
        chunk_sent, chunk_left = sending.send(chunk)
        sent += chunk_sent
        left += chunk_left
    return PutEventsReport(
        tuple(sorted(sent, key=lambda one: one.place)), tuple(sorted(left, key=lambda one: one.place))
    )


put_events_async = in_thread(put_events)


def entry_bytes(entry: Entry) -> int:
    """The size of an entry for EventBridge's limit: 14 for its time if it has one, and the UTF-8 bytes of its texts.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
    """
    texts = [entry.get(name) for name in ("Source", "DetailType", "Detail")]
    resources = entry.get("Resources")
    texts += resources if isinstance(resources, list | tuple) else ()
    time = TIME_BYTES if entry.get("Time") is not None else 0
    return time + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts if isinstance(text, str))


def _chunks(entries: list[tuple[int, Entry]], bytes_max: int) -> Iterator[list[tuple[int, Entry]]]:
    chunk: list[tuple[int, Entry]] = []
    size = 0
    for place, entry in entries:
        entry_size = entry_bytes(entry)
        if chunk and (len(chunk) == ENTRIES_MAX or size + entry_size > bytes_max):
            yield chunk
            chunk, size = [], 0
        chunk.append((place, entry))
        size += entry_size
    if chunk:
        yield chunk


class _Sending:
    """Sends one group of entries after another."""

    def __init__(
        self,
        client: EventsClient,
        policy: RetryPolicy,
        limiter: Limiter | None,
        context: object,
        clock: Clock,
        sleep: Sleep,
        random: Random,
    ) -> None:
        self._client = client
        self._policy = policy
        self._limiter = limiter
        self._context = context
        self._clock = clock
        self._sleep = sleep
        self._random = random

    def send(self, chunk: list[tuple[int, Entry]]) -> tuple[list[Sent], list[Left]]:
        started_at, failures = self._clock(), 0
        sent: list[Sent] = []
        final: list[Left] = []
        pending = chunk
        while True:
            now_sent, failed = self._once(pending)
            sent += now_sent
            final += [one for one in failed if not one.is_retryable]
            again = [one for one in failed if one.is_retryable]
            if not again:
                return sent, final
            failures += 1
            wait = self._policy.wait_or_end(
                _worst(again),
                failures,
                elapsed_ms=self._clock() - started_at,
                left_ms=remaining_ms((self._context,)),
                draw=self._random(),
            )
            if isinstance(wait, str):
                return sent, final + [replace(one, message=f"{one.message} (not sent again: {wait})") for one in again]
            self._sleep(wait)
            pending = [(one.place, one.entry) for one in again]

    def _once(self, pending: list[tuple[int, Entry]]) -> tuple[list[Sent], list[Left]]:
        if self._limiter is not None:
            self._limiter.take()
        try:
            answer = self._client.put_events(Entries=[dict(entry) for _, entry in pending])
        except Exception as error:  # noqa: BLE001 - Every entry's end is reported; an error would hide the others'.
            code, may_pass = error_code(error) or type(error).__name__, classify(error, self._policy.classes)
            left = [Left(place, entry, code, str(error), may_pass is not Kind.PERMANENT) for place, entry in pending]
            return [], left
        return _sorted_out(pending, cast("list[Mapping[str, str]]", answer["Entries"]))


def _sorted_out(pending: list[tuple[int, Entry]], results: list[Mapping[str, str]]) -> tuple[list[Sent], list[Left]]:
    """The sent and the failed entries. The answer's entries have the order of the request's."""
    sent: list[Sent] = []
    left: list[Left] = []
    for (place, entry), result in zip(pending, results, strict=True):
        code = result.get("ErrorCode")
        if code:
            left.append(Left(place, entry, code, result.get("ErrorMessage", ""), kind_of_code(code) is not None))
        else:
            sent.append(Sent(place, result.get("EventId", "")))
    return sent, left


def _worst(left: list[Left]) -> Kind:
    """The failure that decides the wait: a throttle, if there is one, since throttles wait longest."""
    is_throttled = any(kind_of_code(one.code) is Kind.THROTTLED for one in left)
    return Kind.THROTTLED if is_throttled else Kind.TRANSIENT
