"""Effects that are declared with redrive.handler are seen, and judged by what is known of their downstream."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import boto3
import pytest

from redrive.handler.effects import effect
from redrive.handler.idempotency import idempotent
from redrive.handler.ledgers.dynamodb import DynamoDBLedger
from redrive.prove.judge.judge import Rule
from tests.unit.prove.conftest import Prover


def charging(key_memory: timedelta | None) -> Any:
    """A handler that charges once for each execution; how long the provider knows a key again is its own affair."""

    @effect("charge", key_memory=key_memory, lookup=lambda key, order: None)
    def charge(idempotency_key: str, order: str) -> str:
        return f"charged {order}"

    def handler(event: Any, context: Any) -> None:
        ledger = DynamoDBLedger("executions", client=boto3.client("dynamodb"))

        @idempotent(key=lambda event, context: event["order"], ledger=ledger)
        def run(event: Any, context: Any) -> None:
            charge(event["order"])

        run({"order": json.loads(event["Records"][0]["body"])["order"]}, context)

    return handler


@pytest.fixture
def prove_charging(proved: Prover) -> Any:
    return lambda key_memory: proved(charging(key_memory), bodies=('{"order": "o-1"}',))


def test_effect_whose_key_is_never_forgotten_happens_once(prove_charging: Any) -> None:
    verdict = prove_charging(None)

    assert verdict.counterexample is None
    assert verdict.effects == {"effect charge": 1}
    assert verdict.ledger == "executions"


def test_effect_without_a_key_at_its_downstream_is_repeated(prove_charging: Any) -> None:
    verdict = prove_charging(timedelta(0))

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE
