"""Rules for machines find what they name, and nothing in a machine that keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.languages.states.lint import lint
from redrive.languages.states.lint.effects import Effects, effects_of
from tests.unit.languages.states.worlds import FUNCTION, machine

SEND = "arn:aws:states:::sqs:sendMessage"
CATCH = [{"ErrorEquals": ["States.ALL"], "Next": "Park"}]
RETRY = [{"ErrorEquals": ["States.ALL"]}]
PARK = {"Park": {"Type": "Succeed"}}


def _rules(task: dict[str, Any]) -> list[str]:
    one = {"Type": "Task", "Resource": SEND, "Catch": CATCH, "Next": "Park", **task}
    return [finding.rule for finding in lint(machine({"X": one, **PARK}))]


@pytest.mark.parametrize(
    ("task", "rules"),
    [
        ({}, []),
        ({"Catch": []}, ["missing-catch"]),
        ({"Catch": [], "Resource": "arn:aws:states:::dynamodb:getItem"}, []),
        ({"Retry": RETRY}, ["retry-without-key"]),
        ({"Retry": [{"ErrorEquals": ["Lambda.TooManyRequestsException"]}]}, []),
        ({"Retry": [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 0}]}, []),
        ({"Retry": RETRY, "Parameters": {"MessageBody.$": "$", "MessageDeduplicationId.$": "$.id"}}, []),
        ({"Retry": RETRY, "Resource": "arn:aws:states:::dynamodb:putItem"}, []),
        ({"Retry": RETRY, "Resource": "arn:aws:states:::events:putEvents"}, ["retry-without-key"]),
        ({"Retry": RETRY, "Resource": "arn:aws:states:::states:startExecution.sync:2"}, ["retry-without-key"]),
        ({"Retry": RETRY, "Resource": "arn:aws:states:::states:startExecution", "Parameters": {"Name": "n"}}, []),
        ({"Retry": RETRY, "Resource": FUNCTION}, ["retry-without-key"]),
        ({"Retry": RETRY, "Resource": FUNCTION, "Parameters": {"key.$": "$$.Execution.Id"}}, []),
        (
            {"Retry": RETRY, "Resource": FUNCTION, "Parameters": {"key.$": "States.Format('{}-1', $$.Execution.Name)"}},
            [],
        ),
        (
            {
                "Retry": RETRY,
                "Resource": FUNCTION,
                "QueryLanguage": "JSONata",
                "Arguments": {"k": "{% $states.context.Execution.Id %}"},
            },
            [],
        ),
        ({"Resource": f"{SEND}.waitForTaskToken"}, ["wait-without-timeout"]),
        ({"Resource": f"{SEND}.waitForTaskToken", "HeartbeatSeconds": 60}, []),
        ({"Resource": "arn:aws:states:us-east-1:000000000000:activity:a"}, ["wait-without-timeout"]),
    ],
)
def test_task_is_told_what_it_lacks(task: dict[str, Any], rules: list[str]) -> None:
    assert _rules(task) == rules


@pytest.mark.parametrize(("catch", "rules"), [([], ["missing-catch"]), (CATCH, [])])
def test_task_inside_of_a_map_is_caught_by_the_map(catch: list[dict[str, Any]], rules: list[str]) -> None:
    task = {"Type": "Task", "Resource": SEND, "End": True}
    each = {"Type": "Map", "ItemProcessor": {"StartAt": "X", "States": {"X": task}}, "Catch": catch, "Next": "Park"}

    assert [finding.rule for finding in lint(machine({"Each": each, **PARK}))] == rules


def test_loop_without_a_way_out_is_found_inside_of_a_map_too() -> None:
    loop = {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Wait", "Seconds": 1, "Next": "A"}}

    findings = lint(machine({"M": {"Type": "Map", "ItemProcessor": {"StartAt": "A", "States": loop}, "End": True}}))

    assert [(one.rule, one.place) for one in findings] == [
        ("endless-loop", "/States/M/ItemProcessor/States/A"),
        ("endless-loop", "/States/M/ItemProcessor/States/B"),
    ]


def test_choice_without_a_default_gets_an_advice() -> None:
    choice = {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "Park"}]}

    assert [one.rule for one in lint(machine({"X": choice, **PARK}))] == ["choice-without-default"]


@pytest.mark.parametrize(
    ("resource", "effects"),
    [
        ("arn:aws:states:::aws-sdk:dynamodb:query", Effects.NONE),
        ("arn:aws:states:::aws-sdk:s3:putObject", Effects.REPEATABLE),
        ("arn:aws:states:::aws-sdk:sqs:sendMessage", Effects.UNKEYED),
        ("arn:aws:states:::lambda:invoke", Effects.UNKEYED),
        ("arn:aws:states:::ecs:runTask.sync", Effects.UNKEYED),
    ],
)
def test_effects_follow_from_the_action(resource: str, effects: Effects) -> None:
    assert effects_of(resource) is effects
