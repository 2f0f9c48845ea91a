"""A run of a plan against another server of SQS: nothing of it depends on the engine."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from benchmarks.peers import CACHE, PEERS, Peer, running
from redrive.core.clock import machine_ms
from redrive.deadletters import DeadLetterQueue, decided
from redrive.deadletters.causes import cause_of
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.hiding import Hidden
from redrive.deadletters.journal import open_journal
from redrive.deadletters.plan import Action, Canary, Plan, Rule
from redrive.deadletters.ports import Ports
from redrive.deadletters.running import Redriving
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Wishes

LETTERS = 45
MOTO = next(peer for peer in PEERS if peer.name == "moto")

WHOLE = [peer for peer in PEERS if peer.name in {"moto", "ministack"}]


def _installed(peer: Peer) -> None:
    if not (CACHE / peer.name / "installed").exists():
        pytest.skip(f"{peer.name} is installed by `python -m benchmarks sqs`")


@pytest.fixture(scope="module")
def sqs() -> Iterator[Any]:
    _installed(MOTO)
    with running(MOTO) as (server, _, _):
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        config = Config(retries={"total_max_attempts": 1})
        yield session.client("sqs", endpoint_url=f"http://127.0.0.1:{server.port}", config=config)


def bodies(sqs: Any, url: str) -> list[str]:
    found: list[str] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=600).get("Messages"):
        found += [one["Body"] for one in messages]
    return found


def test_letters_that_were_sent_before_the_disk_failed_are_only_deleted_by_the_next_run(sqs: Any) -> None:
    dead, target = (str(sqs.create_queue(QueueName=name)["QueueUrl"]) for name in ("dead", "target"))
    for number in range(LETTERS):
        sqs.send_message(QueueUrl=dead, MessageBody=f"letter {number}")
    cause = cause_of(read_letter({"Body": "letter 0"}))
    plan = Plan(dead, (Rule(cause, Action.REDRIVE, Destination(To.QUEUE, target)),), canary=Canary(0, 0))
    disk = io.BytesIO()
    # The disk takes the head of the journal and what is announced. It fails when the letters have been sent.
    syncs = iter((None, None))

    with pytest.raises((StopIteration, RuntimeError)):
        list(run_of(sqs, plan, disk, lambda: next(syncs)).rounds())
    second = run_of(sqs, plan, disk, lambda: None)
    list(second.rounds())

    assert Counter(bodies(sqs, target)) == Counter(f"letter {number}" for number in range(LETTERS))
    assert bodies(sqs, dead) == []
    assert (second.account.finished, second.account.sent) == (LETTERS, 0)


def run_of(sqs: Any, plan: Plan, disk: io.BytesIO, sync: Callable[[], None]) -> Redriving:
    """A run with a journal on this disk."""
    journal = open_journal(disk, sync, plan.queue)
    ports = Ports(sqs, Sender(lambda _: sqs), journal, machine_ms, lambda _: None, lambda: (), lambda _: None)
    hidden = Hidden(sqs, plan.queue, io.StringIO(), hidden_s=60, wait_s=0, now=machine_ms)
    return Redriving(plan, ports, hidden, Wishes())


@pytest.mark.parametrize("peer", WHOLE, ids=lambda peer: peer.name)
def test_program_groups_checks_and_empties_a_queue_of_another_server(peer: Peer, tmp_path: Path) -> None:
    """Services that such a server does not have are told, or say nothing, and stop nothing."""
    _installed(peer)
    with running(peer) as (server, _, _):
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        endpoint = f"http://127.0.0.1:{server.port}"
        sqs = session.client("sqs", endpoint_url=endpoint)
        for name in ("failed", "again"):
            sqs.create_queue(QueueName=name)
        queue = DeadLetterQueue("failed", session=session, endpoint_url=endpoint)
        for number in range(LETTERS):
            sqs.send_message(QueueUrl=queue.url, MessageBody=f"letter {number}")
        (group,) = queue.triage().groups
        checked = [decided(findings) for _, findings in queue.check()]
        plan = queue.plan(remediate=True)
        to = Destination(To.QUEUE, "again")
        rules = tuple(replace(rule, action=Action.REDRIVE, to=to) for rule in plan.rules)

        account = queue.run(replace(plan, rules=rules, canary=Canary(1, 1)), tmp_path / "journal")

        assert (group.count, len(checked), plan.repairs) == (LETTERS, LETTERS, ())
        assert (account.sent, account.deleted) == (LETTERS, LETTERS)
        assert len(bodies(sqs, str(sqs.get_queue_url(QueueName="again")["QueueUrl"]))) == LETTERS
