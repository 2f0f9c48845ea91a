"""What the search leaves out loses nothing: a dumber search, which leaves out almost nothing, says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest

from redrive.prove.judge.judge import Rule
from redrive.prove.play.performance import Performance
from redrive.prove.process.subject import GivenSubject, Subject
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.stage import Stage
from redrive.prove.tell.verdict import Verdict
from tests.unit.prove.conftest import example
from tests.unit.prove.test_search import execution_of

Handler = Callable[[Any, Any], Any]


def count(execution_id: str, by: int) -> int:
    counted = boto3.client("dynamodb").update_item(
        TableName="execution-state", Key={"execution_id": {"S": execution_id}}, UpdateExpression="ADD attempts :by",
        ExpressionAttributeValues={":by": {"N": str(by)}}, ReturnValues="UPDATED_NEW",
    )  # fmt: skip
    return int(counted["Attributes"]["attempts"]["N"])


def gives_up_at_the_third_attempt(event: Any, context: Any) -> None:
    """An attempt that fails does not count, and one crash does no harm; two lose the work."""
    execution_id = execution_of(event)
    if count(execution_id, 1) <= 2:
        try:
            boto3.client("dynamodb").put_item(TableName="reports", Item={"execution_id": {"S": execution_id}})
        except Exception:
            count(execution_id, -1)
            raise


def asks_only_once(seen: list[str]) -> Handler:
    """Remembers across its runs, so that they do not make the same calls."""

    def handler(event: Any, context: Any) -> None:
        if not seen:
            boto3.client("dynamodb").get_item(TableName="settings", Key={"id": {"S": "all"}})
        seen.append("asked")
        boto3.client("sqs").send_message(
            QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails", MessageBody="done"
        )  # fmt: skip

    return handler


def everything(performance: Performance) -> object:
    """Takes two moments for equal if nothing at all is different, and none within a leg."""
    return object() if performance.running else (performance.stage.digest(), performance.journal.traces)


@pytest.mark.parametrize(
    ("subject", "rule"), [(GivenSubject(gives_up_at_the_third_attempt), Rule.ALL), (example("safe"), None)]
)
def test_pruned_search_and_thorough_search_come_to_the_same(
    subject: Subject, rule: Rule | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thorough one asks the engine anew on each leg, and hardly takes two moments for the same."""
    options = Options(faults=2, ignored=("dynamodb:*:execution-state",))
    pruned = prove(subject, options)
    monkeypatch.setattr(Performance, "likeness", everything)
    monkeypatch.setattr(Stage, "mark", lambda *_, **__: None)

    thorough = prove(subject, options)

    assert found(pruned) == found(thorough)
    assert found(pruned)[0] is rule
    assert pruned.bounds.histories <= thorough.bounds.histories


def found(verdict: Verdict) -> tuple[Rule | None, list[str]]:
    example = verdict.counterexample
    return (None, []) if example is None else (example.violation.rule, [str(leg) for leg in example.history])


def test_handler_that_is_not_the_same_from_run_to_run_is_searched_even_so() -> None:
    """What is known of a leg that began alike is no help with it; the leg is played anew."""
    verdict = prove(GivenSubject(asks_only_once([])), Options(faults=1))

    assert found(verdict)[0] is Rule.ONCE
