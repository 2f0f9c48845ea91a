"""The clients: each does one thing over and over, at a pace of its own, and remembers what became of it.

A client whose operation may safely be repeated (a deduplication id, a client token) repeats it until it is answered.
Another one leaves a request in doubt as it is, and goes on with the next.
"""

from __future__ import annotations

import itertools
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.kill.client import Done, Doubt, Nodes, Outcome, Refused
from benchmarks.kill.memory import Memory
from benchmarks.travel import ROLE

GROUPS = 8
COUNTERS = 4
SCHEDULES_PER_S = 3
AHEAD_S = 6
PAUSE_S = 0.3
ORDERED_VISIBILITY_S = 5
VISIBILITY_S = 8

Loop = Callable[[Iterator[int]], None]


@dataclass(slots=True)
class Load:
    """What the clients do until they are told to stop. `urls`: queue URLs by name; `arns`: their ARNs."""

    nodes: Nodes
    memory: Memory
    urls: Mapping[str, str]
    arns: Mapping[str, str]
    pace_s: float = 0.02
    over: threading.Event = field(default_factory=threading.Event)
    defects: list[str] = field(default_factory=list)

    @property
    def senders(self) -> Sequence[Loop]:
        """The clients that bring something into the store."""
        ordered = [self._ordered(f"g{number}") for number in range(GROUPS)]
        counting = [self._counting(f"c{number % COUNTERS}") for number in range(2 * COUNTERS)]
        racing = [self._racing(name) for name in ("left", "right")]
        sending = [self._sending("orders", f"s{number}") for number in range(2)]
        others = [self._sending("work", "w"), self._sending("dead", "d"), self._scheduling, self._moving]
        return [*sending, *ordered, *counting, *racing, *others]

    @property
    def receivers(self) -> Sequence[Loop]:
        """The clients that empty the queues."""
        queues = ["orders", "orders", "ordered.fifo", "ordered.fifo", "ordered.fifo", "ticks", "moved"]
        return [self.receiving(queue) for queue in queues]

    def start(self, loops: Sequence[Loop], over: threading.Event) -> list[threading.Thread]:
        """Run each loop in a thread until `over` is set."""
        threads = [threading.Thread(target=self._guarded, args=(loop, over), daemon=True) for loop in loops]
        for thread in threads:
            thread.start()
        return threads

    def _guarded(self, loop: Loop, over: threading.Event) -> None:
        try:
            loop(self._turns(over))
        except Exception:  # noqa: BLE001 - a client that ends early would leave its checks without anything to check.
            self.defects.append(traceback.format_exc())

    def _turns(self, over: threading.Event) -> Iterator[int]:
        for number in itertools.count():
            if over.wait(self.pace_s):
                return
            yield number

    def _sending(self, queue: str, prefix: str) -> Loop:
        def run(turns: Iterator[int]) -> None:
            for number in turns:
                body = f"{prefix}-{number}"
                outcome = self.nodes.aws("AmazonSQS.SendMessage", {"QueueUrl": self.urls[queue], "MessageBody": body})
                self._note(queue, body, outcome)

        return run

    def _ordered(self, group: str) -> Loop:
        def run(turns: Iterator[int]) -> None:
            for number in turns:
                body = f"{group}-{number}"
                members = {
                    "QueueUrl": self.urls["ordered.fifo"], "MessageBody": body, "MessageGroupId": group,
                    "MessageDeduplicationId": body,
                }  # fmt: skip
                self._repeated(lambda members=members: self.nodes.aws("AmazonSQS.SendMessage", members))  # type: ignore[misc]
                self.memory.sent["ordered.fifo"].append(body)

        return run

    def receiving(self, queue: str) -> Loop:
        """A client that receives and deletes."""

        def run(turns: Iterator[int]) -> None:
            for _ in turns:
                self.receive(queue)

        return run

    def receive(self, queue: str) -> int:
        """Receive and delete once. Returns how many messages came, or 1 if that is not known."""
        asked_at = time.monotonic()
        members = {
            "QueueUrl": self.urls[queue], "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1,
            "MessageSystemAttributeNames": ["All"],
        }  # fmt: skip
        outcome = self.nodes.aws("AmazonSQS.ReceiveMessage", members)
        if not isinstance(outcome, Done):
            time.sleep(PAUSE_S)
            return 1
        messages = outcome.document.get("Messages", ())
        self.memory.take(queue, messages, asked_at)
        if messages:
            now = time.monotonic()
            for message in messages:
                self.memory.delete_begun.setdefault(message["MessageId"], now)
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            asked = {"QueueUrl": self.urls[queue], "Entries": entries}
            answer = self.nodes.aws("AmazonSQS.DeleteMessageBatch", asked)
            if isinstance(answer, Done):
                for one in answer.document.get("Successful", ()):
                    self.memory.deleted[messages[int(one["Id"])]["MessageId"]] = time.monotonic()
        return len(messages)

    def _counting(self, counter: str) -> Loop:
        def run(turns: Iterator[int]) -> None:
            for _ in turns:
                members = {
                    "TableName": "kept", "Key": {"id": {"S": counter}}, "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }  # fmt: skip
                outcome = self.nodes.aws("DynamoDB_20120810.UpdateItem", members)
                with self.memory.lock:
                    self.memory.counted[counter] += isinstance(outcome, Done)
                    self.memory.in_doubt[counter] += isinstance(outcome, Doubt)
                self._rest(outcome)

        return run

    def _racing(self, name: str) -> Loop:
        """Puts the same items as a rival does; only the first may win."""

        def run(turns: Iterator[int]) -> None:
            for number in turns:
                item = f"race-{number}"
                members = {
                    "TableName": "kept", "Item": {"id": {"S": item}, "winner": {"S": name}},
                    "ConditionExpression": "attribute_not_exists(id)",
                }  # fmt: skip
                outcome = self.nodes.aws("DynamoDB_20120810.PutItem", members)
                match outcome:
                    case Done():
                        self.memory.puts[item].append((name, "won"))
                    case Doubt():
                        self.memory.puts[item].append((name, "doubt"))
                    case Refused(_, "ConditionalCheckFailedException"):
                        self.memory.puts[item].append((name, "lost"))
                    case Refused():
                        self._rest(outcome)

        return run

    def _scheduling(self, turns: Iterator[int]) -> None:
        """Schedules that are due at each second, made some seconds before."""
        made_until = int(time.time()) + AHEAD_S
        for _ in turns:
            while made_until < time.time() + AHEAD_S:
                made_until += 1
                for number in range(SCHEDULES_PER_S):
                    self._schedule(f"at-{made_until}-{number}", made_until)

    def _schedule(self, name: str, due_s: int) -> None:
        members = {
            "ScheduleExpression": f"at({datetime.fromtimestamp(due_s, UTC):%Y-%m-%dT%H:%M:%S})",
            "FlexibleTimeWindow": {"Mode": "OFF"}, "ClientToken": name, "ActionAfterCompletion": "DELETE",
            "Target": {"Arn": self.arns["ticks"], "RoleArn": ROLE, "Input": name},
        }  # fmt: skip
        self._repeated(lambda: self.nodes.schedule(name, members))
        self.memory.due_ms[name] = due_s * 1000
        self.memory.sent["ticks"].append(name)

    def _moving(self, turns: Iterator[int]) -> None:
        """Moves dead letters. A task that is still under way refuses the next one."""
        for _ in turns:
            self.start_move()
            time.sleep(1)

    def start_move(self) -> Outcome:
        """Begin to move what is in the dead-letter queue."""
        asked = {"SourceArn": self.arns["dead"], "DestinationArn": self.arns["moved"]}
        return self.nodes.aws("AmazonSQS.StartMessageMoveTask", asked)

    def _note(self, queue: str, body: str, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            self.memory.sent[queue].append(body)
        with self.memory.lock:
            self.memory.in_doubt[queue] += isinstance(outcome, Doubt)
        self._rest(outcome)

    def _rest(self, outcome: Outcome) -> None:
        if not isinstance(outcome, Done):
            time.sleep(PAUSE_S)

    def _repeated(self, ask: Callable[[], Outcome]) -> None:
        """Ask until it is done. Errors: RuntimeError if it is refused for good."""
        while not isinstance(outcome := ask(), Done):
            if isinstance(outcome, Refused) and 400 <= outcome.status < 500:
                raise RuntimeError(f"refused: {outcome}")
            time.sleep(PAUSE_S)
