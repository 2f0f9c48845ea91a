"""The queues of the engine answer as those of the oracle do, whatever is asked of them in whatever order."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.sim.oracles.sqs import OracleOutcome, OracleQueue, OracleReceipt
from redrive.testing.world import World

SEEDS = range(12)
STEPS = 120
RECEIVE_COUNT_MAX = 3

REFUSALS = {
    "Reason: The receipt handle has expired.": OracleOutcome.EXPIRED,
    "Reason: Message does not exist or is not available for visibility timeout change.": OracleOutcome.REFUSED,
    "Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]": OracleOutcome.REFUSED,
}


@dataclass
class Pair:
    """A queue of the engine and its oracle, with the receipts that both gave."""

    url: str
    oracle: OracleQueue
    receipts: list[tuple[str, OracleReceipt]] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)


class Run:
    """One seed's sequence of operations, each on the engine and on the oracle, compared at every step."""

    def __init__(self, seed: int, *, is_fifo: bool, seen: Counter[str]) -> None:
        self.random = random.Random(seed)
        self.world = World(seed=seed)
        self.is_fifo = is_fifo
        self.seen = seen
        suffix, attributes = (".fifo", {"FifoQueue": "true"}) if is_fifo else ("", {})
        dead = OracleQueue(is_fifo)
        source = OracleQueue(is_fifo, dead_letters=dead, receive_count_max=RECEIVE_COUNT_MAX, counter=dead.counter)
        self.dead = Pair(self._create(f"dead{suffix}", attributes), dead)
        arn = f"arn:aws:sqs:us-east-1:000000000000:dead{suffix}"
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": RECEIVE_COUNT_MAX})
        self.source = Pair(self._create(f"source{suffix}", {**attributes, "RedrivePolicy": policy}), source)

    def step(self) -> None:
        """One operation of a kind drawn at random, and what both sides then hold."""
        kinds: list[tuple[int, Callable[[], None]]] = [
            (30, self.send), (8, self.send_batch), (30, self.receive), (18, self.delete), (14, self.change),
            (20, self.pass_time), (2, self.set_delay), (1, self.purge), (1, self.expire),
        ]  # fmt: skip
        (operation,) = self.random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        operation()
        for pair in (self.source, self.dead):
            assert self._counts(pair) == pair.oracle.counts(self.world.now)

    def send(self) -> None:
        body, group, dedup = self._draw_message()
        delay_s = self.random.choice([None, None, 0, 5])
        ids: dict[str, Any] = {"MessageGroupId": group, "MessageDeduplicationId": dedup} if self.is_fifo else {}
        if self.is_fifo:
            delay_s = None
        answer = self._call("SendMessage", self.source, MessageBody=body, DelaySeconds=delay_s, **ids)
        self._sent(answer, body, group, dedup, delay_s)

    def send_batch(self) -> None:
        drawn = [self._draw_message() for _ in range(self.random.randint(1, 10))]
        entries = [
            {"Id": str(number), "MessageBody": body}
            | ({"MessageGroupId": group, "MessageDeduplicationId": dedup} if self.is_fifo else {})
            for number, (body, group, dedup) in enumerate(drawn)
        ]
        answers = self._call("SendMessageBatch", self.source, Entries=entries)["Successful"]
        for answer, (body, group, dedup) in zip(answers, drawn, strict=True):
            self._sent(answer, body, group, dedup, None)
        self.seen["batch"] += 1

    def receive(self) -> None:
        pair = self.random.choices([self.source, self.dead], [4, 1])[0]
        limit, timeout_s = self.random.randint(1, 10), self.random.choice([0, 1, 5, 30])
        attempt = self.random.choice([None, "x", "y"]) if self.is_fifo else None
        known = {receipt for _, receipt in pair.receipts}
        dead_before = len(self.dead.oracle.messages)
        answer = self._call(
            "ReceiveMessage", pair, MaxNumberOfMessages=limit, VisibilityTimeout=timeout_s,
            ReceiveRequestAttemptId=attempt, AttributeNames=["ApproximateReceiveCount"],
        )  # fmt: skip
        received = answer.get("Messages", [])
        expected = pair.oracle.receive(self.world.now, limit=limit, timeout_s=timeout_s, attempt=attempt)
        assert [
            (message["MessageId"], message["Body"], int(message["Attributes"]["ApproximateReceiveCount"]))
            for message in received
        ] == [(self.source.ids[one.receipt.number], one.body, one.receives) for one in expected]
        self.seen["receive" if received else "empty receive"] += 1
        self.seen["dead-letter"] += len(self.dead.oracle.messages) > dead_before
        self.seen["repeated receive"] += any(one.receipt in known for one in expected)
        handles = [message["ReceiptHandle"] for message in received]
        pair.receipts += zip(handles, [one.receipt for one in expected], strict=True)

    def delete(self) -> None:
        self._with_receipt("delete", lambda pair, handle, receipt: (
            self._outcome("DeleteMessage", pair, ReceiptHandle=handle),
            pair.oracle.delete(self.world.now, receipt),
        ))  # fmt: skip

    def change(self) -> None:
        timeout_s = self.random.choice([0, 3, 20, 43_200])
        self._with_receipt("change", lambda pair, handle, receipt: (
            self._outcome("ChangeMessageVisibility", pair, ReceiptHandle=handle, VisibilityTimeout=timeout_s),
            pair.oracle.change_visibility(self.world.now, receipt, timeout_s),
        ))  # fmt: skip

    def pass_time(self) -> None:
        self.world.advance(seconds=self.random.choice([0.001, 1, 1, 3, 5, 29, 100]))
        self.seen["time"] += 1

    def set_delay(self) -> None:
        delay_s = self.random.choice([0, 0, 2, 10])
        self._call("SetQueueAttributes", self.source, Attributes={"DelaySeconds": str(delay_s)})
        self.source.oracle.set_delay(delay_s)
        self.seen["delay"] += 1

    def purge(self) -> None:
        self.world.advance(seconds=60)
        self._call("PurgeQueue", self.source)
        self.source.oracle.purge()
        self.seen["purge"] += 1

    def expire(self) -> None:
        """Let more time pass than any message is kept, to beyond the sweep that follows."""
        self.world.advance(hours=97)
        for pair in (self.source, self.dead):
            pair.oracle.messages.clear()
        self.seen["expire"] += 1

    def _create(self, name: str, attributes: dict[str, str]) -> str:
        url: str = self.world.call("sqs", "CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]
        return url

    def _call(self, operation: str, pair: Pair, **params: object) -> dict[str, Any]:
        given = {name: value for name, value in params.items() if value is not None}
        return self.world.call("sqs", operation, QueueUrl=pair.url, **given)

    def _draw_message(self) -> tuple[str, str, str]:
        return str(self.random.random()), self.random.choice("abc"), str(self.random.randint(0, 60))

    def _sent(self, answer: dict[str, Any], body: str, group: str, dedup: str, delay_s: int | None) -> None:
        number = self.source.oracle.send(
            self.world.now, body, group=group if self.is_fifo else "", dedup=dedup, delay_s=delay_s
        )
        self.seen["duplicate" if number in self.source.ids else "send"] += 1
        assert self.source.ids.setdefault(number, answer["MessageId"]) == answer["MessageId"]

    def _with_receipt(
        self, kind: str, perform: Callable[[Pair, str, OracleReceipt], tuple[OracleOutcome, OracleOutcome]]
    ) -> None:
        """Do something with a receipt drawn at random, a late one more likely than an early one."""
        pair = self.random.choices([self.source, self.dead], [4, 1])[0]
        if pair.receipts:
            handle, receipt = self.random.choice(pair.receipts[-12:])
            outcome, expected = perform(pair, handle, receipt)
            assert outcome is expected
            self.seen[f"{kind} {outcome.value}"] += 1

    def _outcome(self, operation: str, pair: Pair, **params: object) -> OracleOutcome:
        try:
            self._call(operation, pair, **params)
        except ServiceError as error:
            return next(outcome for words, outcome in REFUSALS.items() if error.message.endswith(words))
        return OracleOutcome.DONE

    def _counts(self, pair: Pair) -> tuple[int, ...]:
        shown = self._call("GetQueueAttributes", pair, AttributeNames=["All"])["Attributes"]
        return tuple(int(shown[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible", "Delayed"))


KINDS = {
    "send", "batch", "receive", "empty receive", "dead-letter", "delete done", "change done", "change refused", "time",
    "delay", "purge", "expire",
}  # fmt: skip
FIFO_KINDS = KINDS | {"duplicate", "repeated receive", "delete expired"}


@pytest.fixture
def run() -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def begin(seed: int, **options: Any) -> Run:
        runs.append(Run(seed, **options))
        return runs[-1]

    yield begin
    for one in runs:
        one.world.close()


@pytest.mark.parametrize(("is_fifo", "kinds"), [(False, KINDS), (True, FIFO_KINDS)], ids=["standard", "fifo"])
def test_queues_answer_as_the_oracle_does(run: Callable[..., Run], is_fifo: bool, kinds: set[str]) -> None:
    """Every answer and every count agrees; and every kind of operation has succeeded, or nothing was shown."""
    seen: Counter[str] = Counter()

    for seed in SEEDS:
        sequence = run(seed, is_fifo=is_fifo, seen=seen)
        for _ in range(STEPS):
            sequence.step()

    assert {kind for kind, count in seen.items() if count} >= kinds
