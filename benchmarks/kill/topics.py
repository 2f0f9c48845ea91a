"""The command: `python -m benchmarks.kill.topics [--postgresql]`. Topics and their queues while nodes are killed.

What a topic has acknowledged is in each of its queues; a FIFO topic has kept the order of each group there, and has
sent nothing twice. Some queues refuse messages for a while, so that deliveries wait in the store when a node is killed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.config import Config

from benchmarks.kill import checks
from benchmarks.kill.__main__ import join, said, tell, wait_for
from benchmarks.kill.client import Nodes
from benchmarks.kill.cluster import Node, Weather, nodes_on
from benchmarks.kill.load import GROUPS, ORDERED_VISIBILITY_S, VISIBILITY_S, Load, Loop
from benchmarks.kill.memory import Memory
from benchmarks.report import machine
from scripts.postgresql import serving

SETTLE_S_MAX = 120
PLAIN, ORDERED = "plain", "ordered.fifo"
QUEUES = {
    PLAIN: ("plain-a", "plain-b", "plain-shut"), ORDERED: ("ordered-a.fifo", "ordered-b.fifo", "ordered-shut.fifo")
}  # fmt: skip
"""The queues of each topic. Those that are called `shut` are shut from time to time."""

SHUT_EVERY_S = 7
SHUT_FOR_S = 2


@dataclass(slots=True)
class TopicLoad(Load):
    """Clients that publish, clients that empty the queues, and one that shuts queues."""

    @property
    def senders(self) -> Sequence[Loop]:
        """The clients that publish, and the one that shuts queues."""
        ordered = [self._publishing_in_order(f"g{number}") for number in range(GROUPS)]
        return [self._publishing("p"), self._publishing("r"), *ordered, self._shutting]

    @property
    def receivers(self) -> Sequence[Loop]:
        """The clients that empty the queues."""
        return [self.receiving(queue) for queues in QUEUES.values() for queue in queues]

    def _publishing(self, prefix: str) -> Loop:
        def run(turns: Iterator[int]) -> None:
            for number in turns:
                body = f"{prefix}-{number}"
                outcome = self.nodes.query("sns", "Publish", {"TopicArn": self.arns[PLAIN], "Message": body})
                self._note(PLAIN, body, outcome)

        return run

    def _publishing_in_order(self, group: str) -> Loop:
        def run(turns: Iterator[int]) -> None:
            for number in turns:
                body = f"{group}-{number}"
                asked = {
                    "TopicArn": self.arns[ORDERED], "Message": body, "MessageGroupId": group,
                    "MessageDeduplicationId": body,
                }  # fmt: skip
                self._repeated(lambda asked=asked: self.nodes.query("sns", "Publish", asked))  # type: ignore[misc]
                self.memory.sent[ORDERED].append(body)

        return run

    def _shutting(self, turns: Iterator[int]) -> None:
        """Let a queue answer with a server's error for a while: a fault, as `redrive fault` injects it."""
        last = time.monotonic()
        for number in turns:
            if time.monotonic() < last + SHUT_EVERY_S:
                continue
            queue = QUEUES[(PLAIN, ORDERED)[number % 2]][-1]
            fault = {"target": self.arns[queue], "error": "InternalError", "rate": 1}
            self._repeated(lambda fault=fault: self.nodes.own("POST", "/_redrive/faults", fault))  # type: ignore[misc]
            time.sleep(SHUT_FOR_S)
            self.open_all()
            last = time.monotonic()

    def open_all(self) -> None:
        """Take away all faults."""
        self._repeated(lambda: self.nodes.own("DELETE", "/_redrive/faults", {}))


def main() -> None:
    """Serve, load, kill, settle, check."""
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="redrive-kill-"))
    print(f"{machine()}\nlogs: {folder}", flush=True)
    with nodes_of(arguments, folder) as nodes:
        wait_for(nodes)
        load = _prepared(nodes)
        weather = Weather(nodes, None, seconds=arguments.seconds, every_s=arguments.every, seed=arguments.seed)
        over = threading.Event()
        receivers, senders = load.start(load.receivers, over), load.start(load.senders, load.over)
        weather.run()
        load.over.set()
        join(senders)
        load.open_all()
        wrong = [*_unsettled(load)]
        over.set()
        join(receivers)
        wrong += [*_wrong(load), *weather.ended_alone, *load.defects]
        _show(load, weather)
        wrong += [f"{node.log}: SIGTERM ended it with {code}" for node in nodes if (code := node.stop())]
        wrong += said(nodes)
    tell(wrong)


@contextmanager
def nodes_of(arguments: argparse.Namespace, folder: Path) -> Iterator[list[Node]]:
    """One node on SQLite, or several on PostgreSQL."""
    if not arguments.postgresql:
        with nodes_on(("--data", str(folder / "data"), "--limits", "relaxed"), 1, folder) as nodes:
            yield nodes
        return
    options = ("--limits", "relaxed")
    with (
        serving(durable=True) as database,
        nodes_on(("--store", database.url, *options), arguments.nodes, folder) as nodes,
    ):
        yield nodes


def _prepared(nodes: Sequence[Node]) -> TopicLoad:
    """The topics, and the queues that are subscribed."""
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1})
    sns, sqs = (
        session.client(name, endpoint_url=f"http://127.0.0.1:{nodes[0].port}", config=config) for name in ("sns", "sqs")
    )
    urls: dict[str, str] = {}
    arns: dict[str, str] = {}
    for topic, queues in QUEUES.items():
        is_fifo = topic.endswith(".fifo")
        arns[topic] = sns.create_topic(Name=topic, Attributes={"FifoTopic": "true"} if is_fifo else {})["TopicArn"]
        for queue in queues:
            arns[queue] = f"arn:aws:sqs:us-east-1:000000000000:{queue}"
            allow = {
                "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
                "Resource": arns[queue],
            }  # fmt: skip
            attributes = {
                "VisibilityTimeout": str(_visibility_s(queue)),
                "Policy": json.dumps({"Version": "2012-10-17", "Statement": [allow]}),
                **({"FifoQueue": "true"} if is_fifo else {}),
            }
            urls[queue] = sqs.create_queue(QueueName=queue, Attributes=attributes)["QueueUrl"]
            raw = {"RawMessageDelivery": "true"}
            sns.subscribe(TopicArn=arns[topic], Protocol="sqs", Endpoint=arns[queue], Attributes=raw)
    return TopicLoad(Nodes([node.port for node in nodes]), Memory(), urls, arns)


def _visibility_s(queue: str) -> int:
    return ORDERED_VISIBILITY_S if queue.endswith(".fifo") else VISIBILITY_S


def _unsettled(load: TopicLoad) -> Iterator[str]:
    """Wait until every queue has had everything; what one has not had, when the time is over."""
    began = time.monotonic()
    while True:
        left = {
            queue: len(set(load.memory.sent[topic]) - checks.bodies(load.memory, queue))
            for topic, queues in QUEUES.items() for queue in queues
        }  # fmt: skip
        if not any(left.values()):
            print(f"settled after {time.monotonic() - began:.0f} s")
            return
        if time.monotonic() > began + SETTLE_S_MAX:
            yield from (f"{queue} lacks {count} messages" for queue, count in left.items() if count)
            return
        time.sleep(1)


def _wrong(load: TopicLoad) -> Iterator[str]:
    memory = load.memory
    for topic, queues in QUEUES.items():
        for queue in queues:
            memory.sent[queue] = memory.sent[topic]
            yield from checks.lost(memory, queue, checks.bodies(memory, queue))
            yield from checks.twice(memory, queue)
            yield from checks.returned(memory, queue)
            yield from checks.visible_too_early(memory, queue, _visibility_s(queue))
            if topic == ORDERED:
                yield from checks.disorder(memory, queue)


def _show(load: TopicLoad, weather: Weather) -> None:
    memory = load.memory
    print(f"{weather.kills} nodes killed")
    for topic, queues in QUEUES.items():
        got = ", ".join(f"{len(checks.bodies(memory, queue)):,} in {queue}" for queue in queues)
        print(f"{topic:14}{len(memory.sent[topic]):8,} acknowledged, {memory.in_doubt[topic]} in doubt: {got}")
    print("answers:")
    for outcome, count in sorted(load.nodes.outcomes.items()):
        print(f"  {count:8,} {outcome}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill.topics", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="several nodes on a PostgreSQL; otherwise SQLite")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes share the PostgreSQL")
    parser.add_argument("--seconds", type=float, default=120, help="how long there is weather")
    parser.add_argument("--every", type=float, default=5, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1, help="decides which nodes are killed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
