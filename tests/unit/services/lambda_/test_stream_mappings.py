"""Mappings from streams as resources: what is stored and shown, and what is refused in the words of AWS."""

from __future__ import annotations

import pytest

from tests.unit.services.lambda_.functions import ARN, QUEUE_ARN, START, Rig
from tests.unit.services.lambda_.shards import STREAM

INVALID = "InvalidParameterValueException"
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/2025-01-01T00:00:00.000"
UNSUPPORTED = "Unsupported {} parameter for given event source mapping type."
NULL = "1 validation error detected: Value null at '{}' failed to satisfy constraint: Member must not be null."
UNAVAILABLE = "{} is not available in redrive; see docs/semantics/lambda.md."
ACCESS = (
    "Cannot access stream {}. Please ensure the role can perform the GetRecords, GetShardIterator, DescribeStream, "
    "ListShards, and ListStreams Actions on your stream in IAM."
)
GIVEN = {"EventSourceArn": STREAM, "FunctionName": "worker", "StartingPosition": "TRIM_HORIZON"}


@pytest.fixture
def made(rig: Rig) -> Rig:
    """An engine with a function, and a queue for records of failures."""
    rig.create_function()
    rig.create_queue("failed")
    return rig


def test_created_mapping_has_the_defaults_of_aws(made: Rig) -> None:
    created = made.call("CreateEventSourceMapping", **GIVEN)

    assert created == {
        "UUID": created["UUID"],
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": 100,
        "MaximumBatchingWindowInSeconds": 0,
        "ParallelizationFactor": 1,
        "EventSourceArn": STREAM,
        "FunctionArn": f"{ARN}worker",
        "LastModified": START,
        "LastProcessingResult": "No records processed",
        "State": "Creating",
        "StateTransitionReason": "User action",
        "DestinationConfig": {"OnFailure": {}},
        "MaximumRecordAgeInSeconds": -1,
        "BisectBatchOnFunctionError": False,
        "MaximumRetryAttempts": -1,
        "TumblingWindowInSeconds": 0,
        "FunctionResponseTypes": [],
        "EventSourceMappingArn": f"arn:aws:lambda:us-east-1:000000000000:event-source-mapping:{created['UUID']}",
    }


SETTINGS = {
    "BatchSize": 10_000, "MaximumBatchingWindowInSeconds": 300, "ParallelizationFactor": 10,
    "DestinationConfig": {"OnFailure": {"Destination": f"{QUEUE_ARN}failed"}}, "MaximumRecordAgeInSeconds": 604_800,
    "BisectBatchOnFunctionError": True, "MaximumRetryAttempts": 10_000, "TumblingWindowInSeconds": 900,
    "FunctionResponseTypes": ["ReportBatchItemFailures"], "KMSKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k",
    "FilterCriteria": {"Filters": [{"Pattern": '{"data":{"a":[1]}}'}]}, "MetricsConfig": {"Metrics": ["EventCount"]},
}  # fmt: skip


def test_settings_of_a_stream_mapping_are_kept(made: Rig) -> None:
    created = made.call("CreateEventSourceMapping", **GIVEN, **SETTINGS)

    found = made.call("GetEventSourceMapping", UUID=created["UUID"])

    assert {name: found[name] for name in SETTINGS} == SETTINGS


def test_update_changes_what_is_given_only(made: Rig) -> None:
    uuid = made.call("CreateEventSourceMapping", **GIVEN)["UUID"]

    made.call("UpdateEventSourceMapping", UUID=uuid, **SETTINGS)
    made.call("UpdateEventSourceMapping", UUID=uuid, MaximumRetryAttempts=3, FilterCriteria={}, DestinationConfig={})

    found = made.call("GetEventSourceMapping", UUID=uuid)
    assert (found["MaximumRetryAttempts"], found["ParallelizationFactor"]) == (3, 10)
    assert found["DestinationConfig"] == {"OnFailure": {}}
    assert "FilterCriteria" not in found


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"StartingPosition": None}, NULL.format("startingPosition")),
        ({"EventSourceArn": f"{STREAM}s"}, f"Stream not found: {STREAM}s"),
        (
            {"EventSourceArn": TABLE, "StartingPosition": "AT_TIMESTAMP", "StartingPositionTimestamp": START},
            f"Unsupported starting position for arn type: {TABLE}",
        ),
        ({"StartingPosition": "AT_TIMESTAMP"}, NULL.format("startingPositionTimestamp")),
        (
            {"StartingPosition": "AT_TIMESTAMP", "StartingPositionTimestamp": START + 1},
            "StartingPositionTimestamp must not be in the future.",
        ),
        (
            {"StartingPositionTimestamp": START},
            "StartingPositionTimestamp is valid for the starting position AT_TIMESTAMP only.",
        ),
        ({"ScalingConfig": {"MaximumConcurrency": 2}}, UNSUPPORTED.format("ScalingConfig")),
        ({"ProvisionedPollerConfig": {"MinimumPollers": 2}}, UNSUPPORTED.format("ProvisionedPollerConfig")),
        ({"LoggingConfig": {"SystemLogLevel": "INFO"}}, UNSUPPORTED.format("LoggingConfig")),
        ({"FilterCriteria": {"Filters": [{"Pattern": '{"data": ["text"]}'}]}}, "Invalid filter pattern definition."),
        ({"FilterCriteria": {"Filters": [{"Pattern": "[]"}]}}, "Invalid filter pattern definition."),
        (
            {"FilterCriteria": {"Filters": [{"Pattern": '{"data": {"a": [1]}}'}] * 6}},
            "The maximum number of filters per event source mapping is 5.",
        ),
        (
            {"DestinationConfig": {"OnFailure": {"Destination": f"{QUEUE_ARN}none"}}},
            f"The destination ARN {QUEUE_ARN}none is invalid.",
        ),
        (
            {"DestinationConfig": {"OnFailure": {"Destination": "arn:aws:s3:::bucket"}}},
            "The destination ARN arn:aws:s3:::bucket is invalid.",
        ),
    ],
)
def test_mapping_that_cannot_work_is_refused(made: Rig, params: dict[str, object], message: str) -> None:
    given = {name: value for name, value in {**GIVEN, **params}.items() if value is not None}

    assert made.refusal("CreateEventSourceMapping", **given) == (INVALID, message)
    assert made.call("ListEventSourceMappings") == {"EventSourceMappings": []}


def test_age_between_none_and_a_minute_is_refused(made: Rig) -> None:
    assert made.refusal("CreateEventSourceMapping", **GIVEN, MaximumRecordAgeInSeconds=59) == (
        "ValidationException",
        (
            "1 validation error detected: Value '59' at 'maximumRecordAgeInSeconds' failed to satisfy constraint: "
            "Member must have value greater than or equal to 60"
        ),
    )


@pytest.mark.parametrize("action", ["GetRecords", "GetShardIterator", "DescribeStream"])
def test_role_must_be_allowed_what_polling_takes(made: Rig, action: str) -> None:
    made.around.actions_refused.add(f"kinesis:{action}")

    assert made.refusal("CreateEventSourceMapping", **GIVEN) == (INVALID, ACCESS.format(STREAM))


def test_second_mapping_of_a_pair_is_refused(made: Rig) -> None:
    uuid = made.call("CreateEventSourceMapping", **GIVEN)["UUID"]

    assert made.refusal("CreateEventSourceMapping", **GIVEN) == (
        "ResourceConflictException",
        (
            f'The event source arn (" {STREAM} ") and function (" worker ") provided mapping already exists. '
            f"Please update or delete the existing mapping with UUID {uuid}"
        ),
    )


def test_empty_list_of_filters_is_accepted_and_not_shown(made: Rig) -> None:
    assert "FilterCriteria" not in made.call("CreateEventSourceMapping", **GIVEN, FilterCriteria={"Filters": []})
