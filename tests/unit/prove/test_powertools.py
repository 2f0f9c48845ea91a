"""Handlers on AWS Lambda Powertools are examined as they are, in virtual time, and their documented gap is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest

from redrive.core.errors import UserError
from redrive.handler import DynamoDBLedger, effect, idempotent, path, sqs_batch
from redrive.prove.judge.judge import Rule
from redrive.prove.play.faults import parse_history
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove, replay
from redrive.prove.search.options import Options
from redrive.testing.world import START
from tests.unit.prove.conftest import Prover, example

TIMEOUT_MS, VISIBILITY_MS = 30_000, 180_000


def test_run_that_dies_after_its_payment_pays_again() -> None:
    """The shortest history: the record of the dead run is over with its invocation, and the next run begins anew."""
    verdict = prove(example("powertools_idempotent"), Options(faults=1))

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE
    assert [str(leg) for leg in verdict.counterexample.history] == [
        "deliver crash-after dynamodb:PutItem payments #1", "deliver",
    ]  # fmt: skip
    assert (verdict.ledger, verdict.effects) == ("idempotency", {"item in payments": 1})
    assert [step.place.source for step in verdict.counterexample.steps if step.place] == [
        'pay(job=json.loads(record["body"]))', "dynamodb.put_item(", "dynamodb.put_item(",
        'pay(job=json.loads(record["body"]))', "dynamodb.put_item(", 'pay(job=json.loads(record["body"]))',
    ]  # fmt: skip


def test_record_in_progress_expires_with_its_invocation_in_virtual_time() -> None:
    """Powertools reads `datetime.now()`: were it the machine's, no record would be over after three virtual minutes."""
    records: list[dict[str, Any]] = []

    def seen(world: Any) -> None:
        records.extend(world.client("dynamodb").scan(TableName="idempotency")["Items"])

    history = parse_history(["deliver crash-after@0", "deliver"])
    broken = replay(example("powertools_idempotent"), history, Options(invariants=(seen,)))

    assert broken is None
    record = records[-1]
    assert record["status"] == {"S": "COMPLETED"}
    assert record["in_progress_expiration"] == {"N": str(START + VISIBILITY_MS + TIMEOUT_MS)}
    assert record["expiration"] == {"N": str((START + VISIBILITY_MS) // 1000 + 30 * 86_400)}


@pytest.mark.parametrize("leg", ["deliver overlap@1", "deliver overlap-late@1"])
def test_delivery_while_the_record_is_in_progress_does_not_pay(leg: str) -> None:
    """Until a second before the timeout the other delivery is refused, and comes back when the payment is made."""
    assert replay(example("powertools_idempotent"), parse_history([leg]), Options()) is None


def test_same_handler_with_an_effect_under_its_key_pays_once() -> None:
    verdict = prove(example("powertools_replaced"), Options(faults=1))

    assert verdict.counterexample is None
    assert verdict.effects == {"effect payment": 1}


def test_table_that_only_an_effect_writes_to_is_made_for_it(proved: Prover) -> None:
    dynamodb = boto3.client("dynamodb", region_name="us-east-1")

    @effect("note", key_memory=None)
    def note(key: str) -> None:
        dynamodb.put_item(TableName="notes", Item={"id": {"S": key}})

    @idempotent(key=path("body.context.execution_id"), ledger=DynamoDBLedger("executions", client=dynamodb))
    def run(record: object) -> None:
        note()

    verdict = proved(sqs_batch(run), faults=0)

    assert verdict.counterexample is None
    assert "table notes" in verdict.assumptions


def test_records_with_nothing_behind_them_are_no_work(tmp_path: Path) -> None:
    (tmp_path / "app_records.py").write_text(
        "from aws_lambda_powertools.utilities.idempotency import (\n"
        "    DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function)\n"
        "config = IdempotencyConfig()\n"
        "layer = DynamoDBPersistenceLayer(table_name='idempotency')\n"
        "@idempotent_function(data_keyword_argument='record', config=config, persistence_store=layer)\n"
        "def told(record):\n    return {'message': record['body']}\n"
        "def handler(event, context):\n    config.register_lambda_context(context)\n"
        "    for record in event['Records']:\n        told(record=record)\n"
    )

    with pytest.raises(UserError, match="changes nothing"):
        prove(subject_of("app_records:handler", tmp_path), Options(faults=1))
