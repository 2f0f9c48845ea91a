"""StartMessageMoveTask instead of letter by letter, where it does exactly what a plan says.

SQS then moves the whole queue back to its source by itself: nothing is received, sent or deleted here. It knows no
causes, patches, gates or canaries, so a plan has to have none of them; `why_not` says what stands against it.

    journal `moving`  →  StartMessageMoveTask  →  ListMessageMoveTasks, every 2 s  →  journal `moved`

A run that was killed finds its task by ListMessageMoveTasks and watches it to its end: a queue has one active task at
most. A task that has ended is not started again under the same journal: what is in the queue then has failed again.

Sources: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html;
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document
from redrive.deadletters.account import Account
from redrive.deadletters.causes import cause_of
from redrive.deadletters.destinations import Destination, SourcesOf, To
from redrive.deadletters.gates import Gate
from redrive.deadletters.journal import Journal
from redrive.deadletters.letter import Letter, Origin
from redrive.deadletters.peek import depth_of
from redrive.deadletters.plan import Action, By, Plan, Rule
from redrive.deadletters.sources import Source

RATE_MAX = 500
"""The most messages per second that a task can be told."""

POLL_S = 2
CLOCKS_DIFFER_MS = MINUTE_MS
"""How much earlier than the journal a task may have started that is taken for the journal's: both clocks differ."""

RUNNING = frozenset({"RUNNING", "CANCELLING"})


def why_not(plan: Plan, sources: Sequence[Source]) -> str:
    """Why a plan cannot be done by one message move task; empty if a task does exactly what it says."""
    kinds = {source["kind"] for source in sources}
    if kinds != {"queue"} or len(sources) != 1:
        others = ", ".join(sorted(f"{one['kind']} {one['name']}" for one in sources)) or "nothing"
        return f"the queue has not one source queue alone, but {others}"
    for number, rule in enumerate(plan.rules, 1):
        if why := _why_not_rule(rule, sources[0]["arn"]):
            return f"group {number} {why}"
    if not plan.rules:
        return "no group is redriven"
    if plan.canary.letters:
        return "first letters go alone: a task has no canary (`canary`: {`letters`: 0})"
    if plan.stop.age_s is not None:
        return "older letters stay: a task moves all"
    return _why_not_rate(plan)


def decided(plan: Plan, sources: SourcesOf) -> Plan:
    """A plan with its way, letter by letter or by one task, and the reason. Errors: ClientError."""
    # Sources are asked last: that takes a request for each queue, schedule, rule, function and subscription.
    of_queue = next((rule.cause.source_arn for rule in plan.rules), "")
    assumed: Source = {"kind": "queue", "name": of_queue, "arn": of_queue}
    why = why_not(plan, [assumed]) or why_not(plan, sources())
    if why:
        return replace(plan, by=By.LETTERS, why=why)
    return replace(plan, by=By.MOVE_TASK, why="the whole queue goes back to its one source, as it is")


def refused_by(letters: Iterable[Letter], plan: Plan, gates: Sequence[Gate]) -> str:
    """Why the letters that are in the queue cannot be moved all at once: one is of no group, or a gate refuses it."""
    for letter in letters:
        if letter.origin is not Origin.QUEUE or plan.rule_of(cause_of(letter)) is None:
            return f"{letter.message_id} is of no group of the plan"
        for gate in gates:
            try:
                refusal = gate.refusal(letter, Destination(To.QUEUE, letter.source_arn))
            except (ClientError, BotoCoreError) as error:
                return f"{type(gate).__name__} could not be asked: {error}"
            if refusal is not None:
                return f"{refusal.gate}: {refusal.reason} ({letter.message_id})"
    return ""


def digest_of(letter: Letter) -> str:
    """What tells a message by its content, under whatever id: its body, its attributes and its group."""
    told = [letter.body, letter.group_id, sorted((name, str(one)) for name, one in letter.attributes.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]


def _why_not_rule(rule: Rule, source_arn: str) -> str:
    if rule.action is not Action.REDRIVE:
        return f"is not redriven ({rule.action.value}): a task moves all"
    if rule.cause.origin is not Origin.QUEUE or rule.cause.source_arn != source_arn:
        return "did not come from the source queue"
    if rule.patch:
        return "is edited by a patch"
    if rule.to is not None and rule.to != Destination(To.QUEUE, source_arn):
        return f"goes to {rule.to.text}"
    return ""


def _why_not_rate(plan: Plan) -> str:
    if plan.rate is None:
        return ""
    if plan.rate_max not in (None, plan.rate):
        return "its rate grows: a task has one rate"
    if plan.rate > RATE_MAX or plan.rate != int(plan.rate):
        return f"a task takes a rate of 1 to {RATE_MAX} whole messages per second"
    return ""


class Moving:
    """One run of a plan by a message move task."""

    def __init__(
        self, plan: Plan, queue_arn: str, sqs: Any, journal: Journal, now: Callable[[], Instant],
        wait: Callable[[float], None],
    ) -> None:  # fmt: skip
        self.account = Account()
        self._plan = plan
        self._arn = queue_arn
        self._sqs = sqs
        self._journal = journal
        self._now = now
        self._wait = wait
        self._length = 0
        self._since: Instant = 0

    def rounds(self) -> Iterator[Account]:
        """Start the task, or find the one of an earlier run, and watch it to its end; yields while it runs.

        An interruption cancels the task. Errors: ClientError, BotoCoreError.
        """
        told = self._begun()
        if told is None:
            self.account.stopped = "the message move task of this plan has ended: make a new plan"
            return
        self._length = self._waiting() + _moved(told)
        try:
            while told["Status"] in RUNNING:
                self._count(told)
                yield self.account
                if told["Status"] == "RUNNING" and self._has_grown(told):
                    self._cancel(told)
                self._wait(POLL_S)
                told = self._newest() or told
        except (GeneratorExit, KeyboardInterrupt):
            self._cancel(told)
            raise
        self._end(told)
        yield self.account

    def _begun(self) -> Document | None:
        """The task of this plan, which is started if it never was; None if it has ended in an earlier run."""
        if self._journal.move is not None:
            if "moved" in self._journal.move:
                return None
            self._since = int(self._journal.move["at"]) - CLOCKS_DIFFER_MS
            if (found := self._newest()) is not None:
                return found
        self._since = self._now() - CLOCKS_DIFFER_MS
        self._journal.moving(self._arn, self._plan.rules[0].cause.source_arn, self._now())
        rate = {} if self._plan.rate is None else {"MaxNumberOfMessagesPerSecond": int(self._plan.rate)}
        self._sqs.start_message_move_task(SourceArn=self._arn, **rate)
        return self._newest() or {"Status": "RUNNING"}

    def _newest(self) -> Document | None:
        found = self._sqs.list_message_move_tasks(SourceArn=self._arn, MaxResults=1).get("Results", [])
        return dict(found[0]) if found and int(found[0].get("StartedTimestamp", 0)) >= self._since else None

    def _waiting(self) -> int:
        return depth_of(self._sqs, self._plan.queue).length

    def _has_grown(self, told: Document) -> bool:
        """Whether letters come back to the queue while the task empties it; if so, the account says it."""
        most = max(1, self._plan.stop.came_back)
        grown = self._waiting() - (self._length - _moved(told))
        if grown < most:
            return False
        self.account.stopped = f"the queue has got {grown} new letters while its letters were moved"
        return True

    def _cancel(self, told: Document) -> None:
        handle = told.get("TaskHandle")
        if handle:
            self._sqs.cancel_message_move_task(TaskHandle=handle)

    def _count(self, told: Document) -> None:
        moved = _moved(told)
        self.account.seen = self.account.sent = self.account.deleted = moved

    def _end(self, told: Document) -> None:
        self._count(told)
        status = str(told["Status"])
        self._journal.moved({"Status": status, "moved": _moved(told)}, self._now())
        if status == "FAILED":
            self.account.stopped = f"SQS ended the task: {told.get('FailureReason', 'it does not say why')}"
        elif status == "CANCELLED" and not self.account.stopped:
            self.account.stopped = "somebody has cancelled the message move task"


def _moved(told: Document) -> int:
    return int(told.get("ApproximateNumberOfMessagesMoved", 0))
