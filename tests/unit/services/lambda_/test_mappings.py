"""Mappings as resources: created, read, listed, updated and deleted."""

from __future__ import annotations

import pytest

from tests.unit.services.lambda_.functions import ARN, QUEUE_ARN, ROLE, START, Rig

INVALID = "InvalidParameterValueException"
ORDERS = f"{QUEUE_ARN}orders"


@pytest.fixture
def mapped(rig: Rig) -> dict[str, object]:
    """A queue that is mapped to a function, with the defaults."""
    rig.create_queue("orders")
    rig.create_function()
    return rig.call("CreateEventSourceMapping", EventSourceArn=ORDERS, FunctionName="worker")


def test_created_mapping_is_creating_and_then_enabled(rig: Rig, mapped: dict[str, object]) -> None:
    uuid = mapped["UUID"]

    assert mapped == {
        "UUID": uuid,
        "BatchSize": 10,
        "MaximumBatchingWindowInSeconds": 0,
        "EventSourceArn": ORDERS,
        "FunctionArn": f"{ARN}worker",
        "LastModified": START,
        "State": "Creating",
        "StateTransitionReason": "USER_INITIATED",
        "FunctionResponseTypes": [],
        "EventSourceMappingArn": f"arn:aws:lambda:us-east-1:000000000000:event-source-mapping:{uuid}",
    }
    assert rig.call("GetEventSourceMapping", UUID=uuid) == {**mapped, "State": "Enabled"}


def test_settings_of_a_mapping_are_kept(rig: Rig) -> None:
    rig.create_queue("orders")
    rig.create_function()

    created = rig.call(
        "CreateEventSourceMapping", EventSourceArn=ORDERS, FunctionName="worker:$LATEST", Enabled=False, BatchSize=100,
        MaximumBatchingWindowInSeconds=5, ScalingConfig={"MaximumConcurrency": 2},
        FunctionResponseTypes=["ReportBatchItemFailures"], MetricsConfig={"Metrics": ["EventCount"]}, Tags={"a": "1"},
    )  # fmt: skip

    found = rig.call("GetEventSourceMapping", UUID=created["UUID"])
    assert (found["State"], found["BatchSize"], found["MaximumBatchingWindowInSeconds"]) == ("Disabled", 100, 5)
    assert found["FunctionArn"] == f"{ARN}worker:$LATEST"
    assert found["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert found["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert found["MetricsConfig"] == {"Metrics": ["EventCount"]}
    assert rig.call("ListTags", Resource=created["EventSourceMappingArn"]) == {"Tags": {"a": "1"}}


WINDOW = "Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10"
NO_QUEUE = (
    "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. "
    "SQS Error Message: The specified queue does not exist."
)
TABLE_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
UNSUPPORTED = "Unsupported {} parameter for given event source mapping type."
POLLERS = "MinimumPollers must be at least 2, and at most MaximumPollers: 1 and 200 were given."
UNAVAILABLE = "{} is not available in redrive; see docs/semantics/lambda.md."


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ({"FunctionName": "ghost"}, "ResourceNotFoundException", f"Function not found: {ARN}ghost"),
        ({"BatchSize": 11}, INVALID, WINDOW),
        ({"EventSourceArn": f"{QUEUE_ARN}ghost"}, INVALID, NO_QUEUE),
        (
            {"EventSourceArn": "arn:aws:mq:us-east-1:000000000000:broker:b"},
            INVALID,
            UNAVAILABLE.format("EventSourceArn arn:aws:mq:us-east-1:000000000000:broker:b"),
        ),
        (
            {"EventSourceArn": f"{TABLE_ARN}orders/stream/2025-01-01T00:00:00.000", "StartingPosition": "LATEST"},
            INVALID,
            f"Stream not found: {TABLE_ARN}orders/stream/2025-01-01T00:00:00.000",
        ),
        ({"StartingPosition": "LATEST"}, INVALID, "StartingPosition is not valid for SQS event sources."),
        ({"MaximumRetryAttempts": 0}, INVALID, UNSUPPORTED.format("MaximumRetryAttempts")),
        ({"BisectBatchOnFunctionError": False}, INVALID, UNSUPPORTED.format("BisectBatchOnFunctionError")),
        ({"ParallelizationFactor": 1}, INVALID, UNSUPPORTED.format("ParallelizationFactor")),
        ({"FilterCriteria": {"Filters": [{"Pattern": "no JSON"}]}}, INVALID, "Invalid filter pattern definition."),
        ({"ProvisionedPollerConfig": {"MinimumPollers": 1}}, INVALID, POLLERS),
    ],
)
def test_mapping_that_cannot_work_is_refused(rig: Rig, params: dict[str, object], code: str, message: str) -> None:
    rig.create_queue("orders")
    rig.create_function()

    refusal = rig.refusal("CreateEventSourceMapping", **{"EventSourceArn": ORDERS, "FunctionName": "worker", **params})

    assert refusal == (code, message)
    assert rig.call("ListEventSourceMappings") == {"EventSourceMappings": []}


def test_mapping_without_a_source_is_refused(rig: Rig) -> None:
    rig.create_function()

    assert rig.refusal("CreateEventSourceMapping", FunctionName="worker") == (INVALID, "Unrecognized event source.")


def test_second_mapping_of_a_pair_is_refused(rig: Rig, mapped: dict[str, object]) -> None:
    refusal = rig.refusal("CreateEventSourceMapping", EventSourceArn=ORDERS, FunctionName="worker")

    assert refusal == (
        "ResourceConflictException",
        (
            f'An event source mapping with SQS arn (" {ORDERS} ") and function (" worker ") already exists. '
            f"Please update or delete the existing mapping with UUID {mapped['UUID']}"
        ),
    )


def test_queue_whose_visibility_is_shorter_than_the_timeout_is_refused(rig: Rig) -> None:
    rig.create_queue("orders", VisibilityTimeout="29")
    rig.create_function(Timeout=30)

    refusal = rig.refusal("CreateEventSourceMapping", EventSourceArn=ORDERS, FunctionName="worker")

    assert refusal == (
        INVALID,
        "Queue visibility timeout: 29 seconds is less than Function timeout: 30 seconds",
    )


@pytest.mark.parametrize("action", ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes"])
def test_role_must_be_allowed_all_that_polling_takes(rig: Rig, action: str) -> None:
    rig.create_queue("orders")
    rig.create_function()
    rig.around.actions_refused.add(f"sqs:{action}")

    refusal = rig.refusal("CreateEventSourceMapping", EventSourceArn=ORDERS, FunctionName="worker")

    assert refusal == (INVALID, f"The provided execution role does not have permissions to call {action} on SQS")


def test_update_changes_what_is_given_only(rig: Rig, mapped: dict[str, object]) -> None:
    uuid = mapped["UUID"]
    rig.call("UpdateEventSourceMapping", UUID=uuid, ScalingConfig={"MaximumConcurrency": 9}, BatchSize=5)

    answer = rig.call("UpdateEventSourceMapping", UUID=uuid, ScalingConfig={}, Enabled=False)

    found = rig.call("GetEventSourceMapping", UUID=uuid)
    assert answer["State"] == "Disabling"
    assert (found["State"], found["BatchSize"]) == ("Disabled", 5)
    assert "ScalingConfig" not in found


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"BatchSize": 11}, WINDOW),
        ({"MaximumRetryAttempts": 0}, UNSUPPORTED.format("MaximumRetryAttempts")),
        ({"FilterCriteria": {"Filters": [{"Pattern": '{"body": 1}'}]}}, "Invalid filter pattern definition."),
    ],
)
def test_update_that_cannot_work_is_refused(
    rig: Rig, mapped: dict[str, object], params: dict[str, object], message: str
) -> None:
    refusal = rig.refusal("UpdateEventSourceMapping", UUID=mapped["UUID"], **params)

    assert refusal == (INVALID, message)


def test_deleted_mapping_is_deleting_and_then_gone(rig: Rig, mapped: dict[str, object]) -> None:
    uuid = mapped["UUID"]

    assert rig.call("DeleteEventSourceMapping", UUID=uuid)["State"] == "Deleting"
    for operation in ("Get", "Update", "Delete"):
        assert rig.refusal(f"{operation}EventSourceMapping", UUID=uuid) == (
            "ResourceNotFoundException",
            "The resource you requested does not exist.",
        )


def test_mappings_are_listed_by_queue_and_function_a_page_at_a_time(rig: Rig) -> None:
    for name in ("a", "b"):
        rig.create_function(name)
        rig.create_queue(name)
    for function, queue in (("a", "a"), ("a", "b"), ("b", "b")):
        rig.call("CreateEventSourceMapping", EventSourceArn=f"{QUEUE_ARN}{queue}", FunctionName=function)

    first = rig.call("ListEventSourceMappings", MaxItems=2)
    second = rig.call("ListEventSourceMappings", MaxItems=2, Marker=first["NextMarker"])

    assert (len(first["EventSourceMappings"]), len(second["EventSourceMappings"])) == (2, 1)
    assert "NextMarker" not in second
    assert len(rig.call("ListEventSourceMappings", FunctionName="a")["EventSourceMappings"]) == 2
    assert len(rig.call("ListEventSourceMappings", EventSourceArn=f"{QUEUE_ARN}b")["EventSourceMappings"]) == 2
    both = rig.call("ListEventSourceMappings", EventSourceArn=f"{QUEUE_ARN}b", FunctionName="b")
    assert len(both["EventSourceMappings"]) == 1


def test_role_needs_permission_to_read_a_mapping(rig: Rig, mapped: dict[str, object]) -> None:
    rig.around.actions_refused.add("lambda:GetEventSourceMapping")

    with pytest.raises(Exception, match="no: lambda:GetEventSourceMapping"):
        rig.engine.call(rig.caller(ROLE), "lambda", "GetEventSourceMapping", {"UUID": mapped["UUID"]})
