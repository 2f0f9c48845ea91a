"""The whole way, on the engine: schedule, queue, function, dead-letter queue, redrive.

The design that is often published for it marks an execution as RUNNING, skips what is RUNNING or done, and runs what
failed. Each test here is a way in which that design, or a common shortcut of it, loses or repeats work.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from boto3.session import Session

import redrive
from redrive.handler import (
    DynamoDBLedger,
    Fresh,
    InProgress,
    KeyRefused,
    Ledger,
    Record,
    SqliteLedger,
    SqsRecord,
    Status,
    StillRunning,
    idempotent,
    path,
    schedule_occurrence,
    scheduler_context,
    sqs_batch,
)
from redrive.testing.world import World
from tests.unit.handler.conftest import HandClock

TEMPLATE = Path(redrive.__file__).parent / "demo" / "template.yaml"


class Deployment:
    """A schedule, a queue with a dead-letter queue, and a function whose work a test decides."""

    def __init__(self, expression: str = "at(2025-01-01T00:30:00)") -> None:
        self.world = World()
        self.troubles: list[BaseException] = []
        self.runs: list[str] = []
        self.deliveries: list[str] = []
        self.own_ledger: DynamoDBLedger | None = None
        self.world.functions.register("stack-run-job", self.handle)
        self.outputs = self.world.deploy(TEMPLATE, Expression=expression)
        self.table = self.outputs["ExecutionsTableName"]
        self.ledger = DynamoDBLedger(self.table, client=self.world.client("dynamodb"))

    def handle(self, event: Any, context: Any) -> Any:
        """The function: it makes a client of its own when it starts, as users' functions do."""
        self.deliveries += [record["messageId"] for record in event["Records"]]
        if self.own_ledger is None:
            self.own_ledger = DynamoDBLedger(self.table, client=Session().client("dynamodb"))
        return sqs_batch(idempotent(key=scheduler_context(), ledger=self.own_ledger)(self.work))(event, context)

    def work(self, record: SqsRecord) -> str:
        execution_id = str(json.loads(record["body"])["context"]["execution_id"])
        self.runs.append(execution_id)
        if self.troubles:
            raise self.troubles.pop(0)
        return execution_id

    def record(self) -> Record:
        """The one execution's record."""
        (execution_id,) = set(self.runs)
        record = self.ledger.read(execution_id)
        assert record is not None
        return record

    def fire_once(self) -> None:
        """Let the schedule's one time come."""
        self.world.advance(minutes=31)

    def redrive(self) -> None:
        """Move what is in the dead-letter queue back to where it came from."""
        sqs = self.world.client("sqs")
        url = self.outputs["DeadLetterQueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        sqs.start_message_move_task(SourceArn=arn)

    def waiting(self, output: str) -> int:
        attributes = self.world.client("sqs").get_queue_attributes(
            QueueUrl=self.outputs[output], AttributeNames=["All"]
        )
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        return sum(int(attributes["Attributes"][name]) for name in names)


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    deployment = Deployment()
    yield deployment
    deployment.world.close()


def test_each_execution_of_a_schedule_runs_once() -> None:
    deployment = Deployment("rate(30 minutes)")

    deployment.world.advance(hours=1, minutes=1)

    assert len(deployment.runs) == len(set(deployment.runs)) == 3
    assert deployment.waiting("JobsQueueUrl") == deployment.waiting("DeadLetterQueueUrl") == 0


def test_execution_whose_function_was_killed_is_not_lost(deployment: Deployment) -> None:
    """The article: RUNNING means skip. The redelivered message is skipped and deleted, and the work is never done."""
    deployment.troubles = [SystemExit(1)]

    deployment.fire_once()
    deployment.world.advance(minutes=10)

    record = deployment.record()
    assert (record.status, record.attempts_made) == (Status.SUCCESS, 2)
    assert [attempt.outcome for attempt in record.attempts] == [Status.RUNNING, Status.SUCCESS]
    assert deployment.waiting("JobsQueueUrl") == deployment.waiting("DeadLetterQueueUrl") == 0


def test_duplicate_of_a_running_execution_comes_back_until_it_is_done(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """The first run is killed while a duplicate waits; both messages are gone in the end, and one run succeeded."""
    body = json.dumps({"context": {"execution_id": "x-1"}})
    deployment.troubles = [SystemExit(1)]
    for _ in range(2):
        deployment.world.client("sqs").send_message(QueueUrl=deployment.outputs["JobsQueueUrl"], MessageBody=body)

    deployment.world.advance(minutes=20)

    record = deployment.record()
    assert "execution 'x-1' is running elsewhere" in caplog.text
    assert (record.status, record.attempts_made, len(record.message_ids)) == (Status.SUCCESS, 2, 2)
    assert deployment.waiting("JobsQueueUrl") == deployment.waiting("DeadLetterQueueUrl") == 0


def test_redriven_message_has_the_same_key_and_runs_once_more(deployment: Deployment) -> None:
    """The article: the message id as key. Sent anew after its dead-letter queue, a message has a new one."""
    deployment.troubles = [ValueError("bug")] * 3
    deployment.fire_once()
    deployment.world.advance(hours=1)
    assert deployment.waiting("DeadLetterQueueUrl") == 1

    deployment.redrive()
    deployment.world.advance(minutes=10)

    record = deployment.record()
    assert (record.status, record.attempts_made, record.reprocessed) == (Status.SUCCESS, 4, 3)
    assert [attempt.error for attempt in record.attempts] == ["ValueError: bug"] * 3 + [None]
    assert deployment.waiting("DeadLetterQueueUrl") == 0


def test_message_redriven_after_success_is_answered_from_the_record(deployment: Deployment) -> None:
    deployment.fire_once()
    sqs = deployment.world.client("sqs")
    body = json.dumps({"context": {"execution_id": deployment.runs[0]}})

    sqs.send_message(QueueUrl=deployment.outputs["JobsQueueUrl"], MessageBody=body)
    deployment.world.advance(minutes=10)

    record = deployment.record()
    assert (len(deployment.deliveries), record.attempts_made, record.duplicates) == (2, 1, 1)
    assert record.message_ids == set(deployment.deliveries)
    assert {attempt.source for attempt in record.attempts} == {"arn:aws:sqs:us-east-1:000000000000:stack-jobs"}


def test_placeholder_that_was_misspelt_dead_letters_instead_of_swallowing_every_later_execution(
    deployment: Deployment,
) -> None:
    """The article: `execution_id` for `execution-id`. All executions share a key, and all but the first are skipped."""
    sqs = deployment.world.client("sqs")
    body = json.dumps({"context": {"execution_id": "<aws.scheduler.execution_id>"}})

    sqs.send_message(QueueUrl=deployment.outputs["JobsQueueUrl"], MessageBody=body)
    deployment.world.advance(minutes=20)

    assert deployment.runs == []
    assert deployment.waiting("DeadLetterQueueUrl") == 1


def test_two_that_begin_at_once_are_told_apart_by_the_ledger(ledger: Ledger) -> None:
    """The article: put without a condition. Here the condition is the ledger's, and nobody can leave it out."""
    assert isinstance(ledger.begin("e"), Fresh)

    assert isinstance(ledger.begin("e"), InProgress)


def test_two_threads_that_begin_at_once_run_the_work_once(tmp_path: Path) -> None:
    """The article: check, then work, then mark. Two that check before either has marked both run."""
    ledger = SqliteLedger(str(tmp_path / "ledger.db"))
    both_called, is_running, results = threading.Barrier(2), threading.Event(), []

    @idempotent(key=path("id"), ledger=ledger)
    def work(event: dict[str, str]) -> str:
        is_running.wait(timeout=5)  # Until the other has been refused.
        return "done"

    def call() -> None:
        both_called.wait(timeout=5)
        try:
            results.append(work({"id": "e"}))
        except StillRunning:
            results.append("deferred")
            is_running.set()

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()

    assert sorted(results) == ["deferred", "done"]


def test_result_of_a_run_cannot_be_marked_by_anybody_else(ledger: Ledger, clock: HandClock) -> None:
    """The article: marking by key alone, so that a run that was given up marks what another is still doing."""
    zombie = ledger.begin("e", lease_s=1)
    clock.advance(2)
    ledger.begin("e", lease_s=60)

    assert isinstance(zombie, Fresh)
    assert not ledger.finish(zombie.token, "done")
    assert isinstance(ledger.begin("e"), InProgress)


def test_record_outlives_the_longest_wait_in_a_dead_letter_queue(ledger: Ledger, clock: HandClock) -> None:
    """The article: forgotten after 24 hours, while dead letters are kept for up to 14 days."""
    runs: list[int] = []

    @idempotent(key=path("id"), ledger=ledger)
    def work(event: dict[str, str]) -> None:
        runs.append(1)

    work({"id": "e"})
    clock.advance(timedelta(days=28).total_seconds())
    work({"id": "e"})

    assert runs == [1]


def test_occurrence_is_one_key_for_two_deliveries_with_different_execution_ids() -> None:
    """For whoever does not want to rely on the id staying the same in Scheduler's own retries."""
    context = {"schedule_arn": "arn", "scheduled_time": "2025-01-01T00:00:00Z"}
    find = schedule_occurrence()

    assert find({"context": context | {"execution_id": "a"}}) == find({"context": context | {"execution_id": "b"}})


def test_message_id_cannot_be_made_a_key() -> None:
    with pytest.raises(KeyRefused, match="new one"):
        path("messageId")({"messageId": "m-1", "body": "{}"})
