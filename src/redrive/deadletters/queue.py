"""A dead-letter queue for programs: look at it, group its letters, check them, plan a run, and run the plan.

What the commands `redrive dlq` do, without a terminal. boto3 alone is asked; a session of aioboto3 does not fit.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from redrive.core.clock import Instant, SystemClock
from redrive.core.documents import Document
from redrive.deadletters.account import Account
from redrive.deadletters.assembly import Means, assembled, mend
from redrive.deadletters.evidence import Logs
from redrive.deadletters.findings import Finding
from redrive.deadletters.letter import Letter
from redrive.deadletters.memories import Memory
from redrive.deadletters.peek import WAIT_S_ON_AWS, depth_of, hidden_s_for, looking
from redrive.deadletters.plan import Plan, proposed, repairing
from redrive.deadletters.preflight import LETTERS_OF_BATCH, Gates, Preflight
from redrive.deadletters.recovery import PlanFiles, Steps, recover
from redrive.deadletters.repairs import find_repairs
from redrive.deadletters.run_files import opened_journal
from redrive.deadletters.sorting import Refined, Wishes, as_it_is
from redrive.deadletters.sources import Source, find_sources
from redrive.deadletters.streams import Streams
from redrive.deadletters.triage import Triage


class DeadLetterQueue:
    """A dead-letter queue.

        queue = DeadLetterQueue("dead-orders")
        for group in queue.triage().groups:
            print(group.count, group.cause.code, group.judgement.advice)

    Looking receives each letter and shows it again at the end: it counts as a receive, and meanwhile nobody else gets
    the letter. Errors of all methods: ClientError of botocore, for what AWS refuses.
    """

    def __init__(
        self,
        queue: str,
        *,
        session: Any = None,
        endpoint_url: str | None = None,
        now: Callable[[], Instant] | None = None,
        wait: Callable[[float], None] | None = None,
    ) -> None:
        """`queue` is the name or the URL of a queue.

        `session` is a session of boto3; without it a new one is made, with the credentials that boto3 finds.
        `endpoint_url` names a server; without it boto3 decides. `now` tells the time in milliseconds, and `wait` waits
        so many seconds: without them the time of this machine is taken. Errors: ClientError if there is no such queue.
        """
        if session is None:
            import boto3  # Who only reads a plan needs no boto3.

            session = boto3.session.Session()
        self._session = session
        self._endpoint_url = endpoint_url
        self._now = now or SystemClock().now
        self._wait = wait or _wait
        self._sqs = self._client("sqs")
        self.url: str = queue if "://" in queue else self._sqs.get_queue_url(QueueName=queue)["QueueUrl"]

    def letters(self, most: int | None = None) -> Iterator[Letter]:
        """The letters, each once, at most so many. They are shown again when the iteration ends or is closed."""
        visible = depth_of(self._sqs, self.url).visible
        hidden_s = hidden_s_for(visible if most is None else min(visible, most))
        with looking(self._sqs, self.url, hidden_s=hidden_s, now=self._now, wait_s=self._wait_s) as look:
            yield from look.letters(most)

    def triage(self, *, logs: bool = False, most: int | None = None) -> Triage:
        """The letters by cause. With `logs`, functions' logs are asked for the errors of letters that hold none."""
        found, refined = Triage(), self._refined(logs=logs)
        for letter in self.letters(most):
            found.add(refined(letter))
        return found

    def check(
        self, *, memory: Memory | None = None, logs: bool = False
    ) -> Iterator[tuple[Letter, tuple[Finding, ...]]]:  # fmt: skip
        """Whether it is safe to run each letter again now. `memory` is the functions' ledger (LedgerMemory)."""
        preflight, refined = Preflight(self._client, self._now, self._gates(memory)), self._refined(logs=logs)
        letters = map(refined, self.letters())
        while batch := list(itertools.islice(letters, LETTERS_OF_BATCH)):
            yield from zip(batch, preflight.examine(batch), strict=True)

    def plan(self, *, logs: bool = False, remediate: bool = False) -> Plan:
        """The plan that a triage proposes: what went away by itself is redriven, the rest stays.

        Change it by `dataclasses.replace`; `plan_document` writes it, `read_plan` reads it. With `remediate` it has the
        repairs that a run with `Wishes(remediate=True)` does first.
        """
        groups = self.triage(logs=logs).groups
        plan = proposed(self.url, groups, self._now(), logs=logs)
        return repairing(plan, find_repairs(self._client, self._arn, groups)) if remediate else plan

    def run(
        self, plan: Plan, journal: Path, *, memory: Memory | None = None, wishes: Wishes | None = None
    ) -> Account:  # fmt: skip
        """Run a plan letter by letter. A run that was killed goes on with the same journal, and sends nothing twice.

        Discarded letters are written beside the journal first. Errors: UserError if another run has the journal, or it
        is the journal of another queue.
        """
        means = Means(
            client=self._client, client_once=self._client_once, now=self._now, wait=self._wait,
            sources=lambda: self._sources, beside=journal, wait_s=self._wait_s, gates=self._gates(memory),
            refined=self._refined(logs=plan.logs),
        )  # fmt: skip
        with (
            opened_journal(journal, self.url) as opened,
        ):
            mend(plan, opened, means, wishes or Wishes())
            with assembled(plan, opened, means, wishes or Wishes()) as run:
                for _ in run.rounds():
                    pass
                return run.account

    def recover(
        self, folder: Path, *, memory: Memory | None = None, logs: bool = False, remediate: bool = False
    ) -> list[Document]:  # fmt: skip
        """Bring letters back whose causes pass by themselves, in stages: after 60, 300 and 900 seconds.

        The folder keeps the plans and the journal: a recovery that was killed goes on with the same folder. Answers the
        account of each stage, as JSON; what is left in the queue needs a person.
        """
        plans = PlanFiles(folder)

        def run(plan: Plan, number: int) -> Account:
            wishes = Wishes(stage=number, remediate=remediate)
            return self.run(plan, plans.journal, memory=memory, wishes=wishes)

        steps = Steps(plan=lambda: self.plan(logs=logs, remediate=remediate), run=run, wait=self._wait)
        return recover(plans, steps)

    def _gates(self, memory: Memory | None) -> Gates:
        return Gates(memory, stream=Streams(self._client, self._now).finding, sources=lambda: self._sources)

    def _refined(self, *, logs: bool) -> Refined:
        if not logs:
            return as_it_is
        found = Logs(self._client, self._now, lambda: self._sources)
        return lambda letter: found.refined(letter)[0]

    @cached_property
    def _sources(self) -> Sequence[Source]:
        return find_sources(self._client, {self.url: self._arn}).of(self._arn)

    @cached_property
    def _arn(self) -> str:
        asked = self._sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])
        return str(asked["Attributes"]["QueueArn"])

    @property
    def _wait_s(self) -> int:
        return WAIT_S_ON_AWS if ".amazonaws." in self._sqs.meta.endpoint_url else 0

    def _client(self, service: str) -> Any:
        return self._session.client(service, endpoint_url=self._endpoint_url)

    def _client_once(self, service: str) -> Any:
        """A client that makes each request once: a repetition after a lost answer may do the work twice."""
        from botocore.config import Config

        config = Config(retries={"total_max_attempts": 1}, read_timeout=920 if service == "lambda" else 60)
        return self._session.client(service, endpoint_url=self._endpoint_url, config=config)


def _wait(seconds: float) -> None:
    if seconds > 0:
        threading.Event().wait(seconds)
