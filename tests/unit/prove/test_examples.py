"""The handlers of the examples are caught, each for its own mistake, and the safe ones are not."""

from __future__ import annotations

import pytest

from redrive.prove.judge.judge import Rule
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from tests.unit.prove.conftest import TEMPLATE, example


@pytest.mark.parametrize(
    ("name", "rule", "history"),
    [
        ("running_means_skip", Rule.ALL, ["deliver crash-after dynamodb:PutItem execution-state #1", "deliver"]),
        ("check_then_mark", Rule.ONCE, ["deliver crash-after sqs:SendMessage mails #1", "deliver"]),
        ("no_condition", Rule.ONCE, ["deliver crash-after dynamodb:UpdateItem totals #1", "deliver"]),
        ("message_id_as_key", Rule.ONCE, ["deliver overlap dynamodb:PutItem reports #1"]),
    ],
)
def test_unsafe_example_is_caught_with_one_fault(name: str, rule: Rule, history: list[str]) -> None:
    verdict = prove(example(name), Options(faults=1))

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is rule
    assert [str(leg) for leg in verdict.counterexample.history] == history


def test_safe_example_has_no_counterexample_and_says_its_bounds() -> None:
    verdict = prove(example("safe"), Options(faults=2))

    assert verdict.counterexample is None
    assert verdict.sentence == f"no counterexample up to 2 faults in {verdict.bounds.histories} histories"


def test_code_in_a_template_is_proved_with_its_own_queue_and_schedule() -> None:
    """The demo's handler is safe, and its message is what its schedule sends."""
    verdict = prove(None, Options(faults=1, template=TEMPLATE))

    assert verdict.counterexample is None
    assert verdict.ledger == "stack-executions"
    assert verdict.effects == {"item in stack-reports": 1}
    assert (
        '"schedule_arn": "arn:aws:scheduler:us-east-1:000000000000:schedule/default/stack-hourly"' in verdict.bodies[0]
    )


def test_story_names_the_line_at_which_the_run_died() -> None:
    verdict = prove(example("running_means_skip"), Options(faults=1))

    assert verdict.counterexample is not None
    (death,) = [step for step in verdict.counterexample.steps if step.is_fault]
    assert death.place is not None
    assert death.place.file == "running_means_skip.py"
    assert death.place.source == "dynamodb.put_item("
    assert verdict.counterexample.steps[-1].at == "+3m"


def test_equal_input_gives_equal_bytes() -> None:
    first = prove(example("check_then_mark"), Options(faults=1, seed=7)).as_json()
    second = prove(example("check_then_mark"), Options(faults=1, seed=7)).as_json()

    assert first == second
