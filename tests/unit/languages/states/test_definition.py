"""Definitions are read with all their fields, or refused with all their faults, in AWS's words where they are known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.languages.states import (
    Choice,
    MachineType,
    MalformedDefinition,
    Map,
    Mode,
    Parallel,
    QueryLanguage,
    diagnose,
    read_definition,
)
from tests.unit.languages.states.worlds import FUNCTION, machine

PASS: dict[str, Any] = {"Type": "Pass", "End": True}
INNER = {"StartAt": "P", "States": {"P": PASS}}


def _told(states: Any, **members: Any) -> list[str]:
    """The sentences on a machine that begins with X."""
    text = json.dumps({"StartAt": "X", "States": states, **members})
    return [one.sentence() for one in diagnose(text)]


RECORDED = [
    (
        {"X": {"Type": "No"}},
        (
            "SCHEMA_VALIDATION_FAILED: The field 'Type' should have one of these values: [Task, Wait, Pass, "
            "Succeed, Fail, Choice, Parallel, Map] at /States/X/Type"
        ),
    ),
    (
        {"X": {"Type": "Parallel", "Branches": [], "End": True}},
        "SCHEMA_VALIDATION_FAILED: Value cannot be empty at /States/X/Branches",
    ),
    (
        {"X": {"Type": "Task", "Resource": FUNCTION, "Credentials": {}, "End": True}},
        "SCHEMA_VALIDATION_FAILED: The field 'RoleArn' is required but was missing at /States/X/Credentials",
    ),
    (
        {"X": {"Type": "Wait", "Timestamp": "2024-1-1", "End": True}},
        "SCHEMA_VALIDATION_FAILED: String does not match RFC3339 timestamp at /States/X/Timestamp",
    ),
    (
        {"X": {"Type": "Pass", "Parameters": {"f.$": "x"}, "End": True}},
        (
            "SCHEMA_VALIDATION_FAILED: The value for the field 'f.$' must be a valid JSONPath or a valid "
            "intrinsic function call at /States/X/Parameters"
        ),
    ),
    (
        {"X": {"Type": "Task", "Resource": "f", "End": True}},
        (
            "SCHEMA_VALIDATION_FAILED: The resource provided ARN is not recognized. The value is not a valid "
            "resource ARN, or the resource is not available in this region. at /States/X/Resource"
        ),
    ),
    ({"X": {"Type": "Pass", "Next": "Y"}}, "MISSING_TRANSITION_TARGET: Missing 'Next' target: Y at /States/X/Next"),
    ({"X": PASS, "Y": PASS}, 'MISSING_TRANSITION_TARGET: State "Y" is not reachable. at /States/Y'),
]


@pytest.mark.parametrize(("states", "sentence"), RECORDED)
def test_fault_is_told_in_the_words_of_aws(states: Any, sentence: str) -> None:
    assert _told(states) == [sentence]


@pytest.mark.parametrize(
    ("resource", "sentence"),
    [
        ("states:startExecution.sync:2", "Express state machine does not support '.sync' service integration at"),
        ("ecs:runTask.sync", "Express state machine does not support '.sync' service integration at"),
        (
            "sqs:sendMessage.waitForTaskToken",
            "Express state machine does not support '.waitForTaskToken' service integration  at",
        ),
    ],
)
def test_express_machines_wait_for_nobody(resource: str, sentence: str) -> None:
    task = {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "End": True}
    text = json.dumps({"StartAt": "X", "States": {"X": task}})

    assert diagnose(text) == []
    assert [one.sentence() for one in diagnose(text, MachineType.EXPRESS)] == [
        f"SCHEMA_VALIDATION_FAILED: {sentence} /States/X/Resource"
    ]


def test_activities_are_not_for_express_machines() -> None:
    task = {"Type": "Task", "Resource": "arn:aws:states:us-east-1:000000000000:activity:a", "End": True}
    text = json.dumps({"StartAt": "X", "States": {"X": task}})

    (told,) = diagnose(text, MachineType.EXPRESS)

    assert told.message == "Express state machine does not support Activity ARN"


def test_fields_that_a_machine_needs_are_named_together() -> None:
    assert [one.sentence() for one in diagnose("{}")] == [
        "SCHEMA_VALIDATION_FAILED: These fields are required: [States, StartAt] at /"
    ]
    assert [one.sentence() for one in diagnose('{"States": {"X": {"Type": "Succeed"}}}')] == [
        "SCHEMA_VALIDATION_FAILED: These fields are required: [StartAt] at /"
    ]


def test_faults_are_joined_in_the_refusal() -> None:
    text = json.dumps({"StartAt": "X", "States": {"X": {"Type": "Wait", "Timestamp": "no", "Next": "Y"}}})

    with pytest.raises(MalformedDefinition) as raised:
        read_definition(text)

    assert raised.value.message() == (
        "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: String does not match RFC3339 timestamp at "
        "/States/X/Timestamp, MISSING_TRANSITION_TARGET: Missing 'Next' target: Y at /States/X/Next'"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "abc",
            (
                "Unrecognized token 'abc': was expecting (JSON String, Number, Array, Object or token 'null', "
                "'true' or 'false') at [Source: (String)\"abc\"; line: 1, column: 4]"
            ),
        ),
        (
            "{'a': 1}",
            (
                "Unexpected character (''' (code 39)): was expecting double-quote to start field name at [Source: "
                "(String)\"{'a': 1}\"; line: 1, column: 3]"
            ),
        ),
    ],
)
def test_text_that_is_no_json_is_told_in_the_words_of_its_parser(text: str, why: str) -> None:
    (told,) = diagnose(text)

    assert told.sentence() == f"INVALID_JSON_DESCRIPTION: {why}"


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ({"Type": "Pass"}, ""),
        ({"Type": "Pass", "Next": "X", "End": True}, ""),
        ({"Type": "Pass", "End": True, "Retry": []}, "/Retry"),
        ({"Type": "Pass", "End": True, "Arguments": 1}, "/Arguments"),
        ({"Type": "Pass", "End": True, "Resutl": 1}, "/Resutl"),
        ({"Type": "Pass", "End": True, "ResultPath": "$.a[*]"}, "/ResultPath"),
        ({"Type": "Pass", "End": True, "InputPath": "a"}, "/InputPath"),
        ({"Type": "Pass", "End": True, "Assign": {"states": 1}}, "/Assign"),
        ({"Type": "Pass", "End": True, "Assign": {"1a": 1}}, "/Assign"),
        ({"Type": "Task", "Resource": FUNCTION, "End": True, "TimeoutSeconds": 0}, "/TimeoutSeconds"),
        (
            {"Type": "Task", "Resource": FUNCTION, "End": True, "TimeoutSeconds": 5, "HeartbeatSeconds": 5},
            "/HeartbeatSeconds",
        ),
        ({"Type": "Task", "Resource": FUNCTION, "End": True, "Retry": [{"ErrorEquals": []}]}, "/Retry[0]/ErrorEquals"),
        (
            {"Type": "Task", "Resource": FUNCTION, "End": True, "Retry": [{"ErrorEquals": ["States.ALL", "E"]}]},
            "/Retry[0]/ErrorEquals",
        ),
        (
            {
                "Type": "Task",
                "Resource": FUNCTION,
                "End": True,
                "Retry": [{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["E"]}],
            },
            "/Retry[0]/ErrorEquals",
        ),
        (
            {"Type": "Task", "Resource": FUNCTION, "End": True, "Retry": [{"ErrorEquals": ["E"], "BackoffRate": 0.5}]},
            "/Retry[0]/BackoffRate",
        ),
        (
            {
                "Type": "Task",
                "Resource": FUNCTION,
                "End": True,
                "Retry": [{"ErrorEquals": ["E"], "MaxDelaySeconds": 1}],
            },
            "/Retry[0]/MaxDelaySeconds",
        ),
        (
            {
                "Type": "Task",
                "Resource": FUNCTION,
                "End": True,
                "Retry": [{"ErrorEquals": ["E"], "JitterStrategy": "HALF"}],
            },
            "/Retry[0]/JitterStrategy",
        ),
        ({"Type": "Wait", "End": True}, ""),
        ({"Type": "Wait", "End": True, "Seconds": 1, "Timestamp": "2024-01-01T00:00:00Z"}, ""),
        ({"Type": "Wait", "End": True, "Seconds": -1}, "/Seconds"),
        ({"Type": "Fail", "End": True}, "/End"),
        ({"Type": "Fail", "Error": "E", "ErrorPath": "$.e"}, ""),
        ({"Type": "Choice", "Choices": [], "Default": "X"}, "/Choices"),
        ({"Type": "Choice", "Choices": [{"Variable": "$.a", "Next": "X"}]}, "/Choices[0]"),
        (
            {"Type": "Choice", "Choices": [{"Variable": "$.a", "StringEquals": 1, "Next": "X"}]},
            "/Choices[0]/StringEquals",
        ),
        (
            {"Type": "Choice", "Choices": [{"Not": {"Variable": "$.a", "IsNull": True, "Next": "X"}, "Next": "X"}]},
            "/Choices[0]/Not/Next",
        ),
        ({"Type": "Map", "End": True}, ""),
        (
            {"Type": "Map", "End": True, "ItemProcessor": {**INNER, "ProcessorConfig": {"Mode": "DISTRIBUTED"}}},
            "/ItemProcessor/ProcessorConfig",
        ),
        ({"Type": "Map", "End": True, "ItemProcessor": INNER, "Label": "l"}, "/Label"),
        ({"Type": "Pass", "End": True, "QueryLanguage": "JSONata", "Output": "{% 1 + %}"}, "/Output"),
        ({"Type": "Pass", "End": True, "QueryLanguage": "JSONata", "InputPath": "$"}, "/InputPath"),
        (
            {"Type": "Task", "Resource": FUNCTION, "End": True, "QueryLanguage": "JSONata", "ResultSelector": {}},
            "/ResultSelector",
        ),
    ],
)
def test_field_that_does_not_fit_is_told_with_its_place(state: dict[str, Any], place: str) -> None:
    (told,) = diagnose(json.dumps({"StartAt": "X", "States": {"X": state}}))

    assert told.location == f"/States/X{place}"


def test_jsonata_machine_has_no_jsonpath_states() -> None:
    assert _told({"X": {**PASS, "QueryLanguage": "JSONPath"}}, QueryLanguage="JSONata") == [
        (
            "SCHEMA_VALIDATION_FAILED: 'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole "
            "state machine at /States/X"
        )
    ]
    mixed = machine({"X": {**PASS, "QueryLanguage": "JSONata"}})
    assert mixed.query_language is QueryLanguage.JSONPATH
    assert mixed.states["X"].is_jsonata


def test_names_are_unique_and_transitions_stay_in_their_branch() -> None:
    twice = _told({"X": {"Type": "Parallel", "Branches": [{"StartAt": "X", "States": {"X": PASS}}], "End": True}})
    outward = _told(
        {
            "X": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "P", "States": {"P": {"Type": "Pass", "Next": "X"}}},
                "End": True,
            }
        }
    )

    assert twice == [
        (
            "SCHEMA_VALIDATION_FAILED: The name of a state must be unique in the whole definition: X at "
            "/States/X/Branches[0]/States/X"
        )
    ]
    assert outward == ["MISSING_TRANSITION_TARGET: Missing 'Next' target: X at /States/X/ItemProcessor/States/P/Next"]


def test_all_fields_of_a_machine_are_read() -> None:
    read = machine(
        {
            "M": {
                "Type": "Map",
                "ItemProcessor": {**INNER, "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}},
                "ItemReader": {
                    "Resource": "arn:aws:states:::s3:getObject",
                    "Parameters": {"Bucket": "b", "Key.$": "$.key"},
                    "ReaderConfig": {
                        "InputType": "CSV",
                        "CSVHeaderLocation": "GIVEN",
                        "CSVHeaders": ["a", "b"],
                        "MaxItems": 5,
                    },
                },
                "ItemBatcher": {"MaxItemsPerBatch": 10, "BatchInput": {"x.$": "$.x"}},
                "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b"}},
                "ToleratedFailurePercentage": 12.5,
                "MaxConcurrencyPath": "$.n",
                "Label": "lines",
                "Next": "C",
            },
            "C": {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsPresent": True, "Next": "P2"}], "Default": "D"},
            "P2": {"Type": "Parallel", "Branches": [{"StartAt": "Q", "States": {"Q": PASS}}], "Next": "D"},
            "D": {"Type": "Succeed"},
        },
        Comment="all",
        TimeoutSeconds=60,
        Version="1.0",
    )
    one = read.states["M"]

    assert (read.start_at, read.comment, read.timeout_s) == ("M", "all", 60)
    assert isinstance(one, Map)
    assert (one.mode, one.execution_type, one.label) == (Mode.DISTRIBUTED, "EXPRESS", "lines")
    assert one.item_reader is not None
    assert (one.item_reader.input_type, one.item_reader.headers) == ("CSV", ("a", "b"))
    assert isinstance(read.states["C"], Choice)
    assert isinstance(read.states["P2"], Parallel)
    assert [state.type for state in read.states.values()] == ["Map", "Choice", "Parallel", "Succeed"]


def test_definition_that_nests_without_end_is_refused_and_not_followed() -> None:
    text = '{"StartAt":"X","States":{"X":{"Type":"Map","ItemProcessor":' * 80 + "{}" + "}}}" * 80

    with pytest.raises(MalformedDefinition):
        read_definition(text)


def test_variables_of_an_outer_scope_are_not_assigned_inside() -> None:
    inner = {"StartAt": "P", "States": {"P": {"Type": "Pass", "Assign": {"v": 2}, "End": True}}}
    inline = {"Type": "Map", "ItemProcessor": inner, "Assign": {"v": 1}, "End": True}
    apart = {**inner, "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}

    assert _told({"X": inline}) == [
        (
            "SCHEMA_VALIDATION_FAILED: The variable 'v' is assigned in an outer scope already at "
            "/States/X/ItemProcessor/States/P/Assign"
        )
    ]
    assert _told({"X": {**inline, "ItemProcessor": apart}}) == []
