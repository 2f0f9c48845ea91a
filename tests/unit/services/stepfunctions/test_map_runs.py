"""Distributed Maps: children, batches, items from S3, tolerated failures, results in S3, and redrive."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.services.stepfunctions.conftest import Machines


def distributed(resource: str = "", kind: str = "STANDARD", **more: Any) -> dict[str, Any]:
    """A distributed Map whose children are a Pass, or call a function."""
    state = {"Type": "Task", "Resource": resource} if resource else {"Type": "Pass"}
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": kind},
        "StartAt": "I", "States": {"I": {**state, "End": True}},
    }  # fmt: skip
    return {"Type": "Map", "Label": "each", "ItemProcessor": processor, **more}


def only_run(machines: Machines, arn: str) -> dict[str, Any]:
    (run,) = machines.sfn.list_map_runs(executionArn=arn)["mapRuns"]
    return dict(machines.sfn.describe_map_run(mapRunArn=run["mapRunArn"]))


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
def test_each_item_is_an_execution_and_results_keep_their_order(machines: Machines, kind: str) -> None:
    ran = machines.run(distributed(kind=kind), value=[3, 1, 2])

    run = only_run(machines, ran.arn)
    assert ran.output == [3, 1, 2]
    assert ran.links == (
        "1<0 ExecutionStarted 2<0 MapStateEntered 3<2 MapStateStarted 4<3 MapRunStarted 5<4 MapRunSucceeded "
        "6<5 MapStateSucceeded 7<5 MapStateExited 8<7 ExecutionSucceeded"
    )
    assert ":mapRun:m1/each:" in run["mapRunArn"]
    assert run["status"] == "SUCCEEDED"
    assert (run["executionCounts"]["succeeded"], run["itemCounts"]["total"]) == (3, 3)


def test_children_are_listed_by_their_map_run(machines: Machines) -> None:
    ran = machines.run(distributed(), value=list(range(5)))
    arn = only_run(machines, ran.arn)["mapRunArn"]

    listed = machines.sfn.list_executions(mapRunArn=arn)["executions"]

    assert len(listed) == 5
    assert {one["stateMachineArn"].rpartition("/")[2] for one in listed} == {"each"}


def test_failures_are_tolerated_up_to_their_share_and_then_fail_the_map(machines: Machines) -> None:
    def handler(event, context):
        if event % 4 == 0:
            raise ValueError("a fourth")
        return event

    arn = machines.function("f", handler)
    tolerant = machines.run(distributed(arn, ToleratedFailurePercentage=25), value=[1, 2, 3, 4])
    strict = machines.run(
        distributed(arn, ToleratedFailureCount=0, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}]),
        {"Type": "Pass"}, value=[4, 4, 1],
    )  # fmt: skip

    assert tolerant.output == [1, 2, 3]
    assert strict.output["Error"] == "States.ExceedToleratedFailureThreshold"
    assert "MapRunFailed" in strict.links
    assert only_run(machines, strict.arn)["status"] == "FAILED"


def test_items_are_read_from_a_file_in_batches_and_results_are_written(machines: Machines) -> None:
    s3 = machines.world.client("s3")
    s3.create_bucket(Bucket="items")
    s3.put_object(Bucket="items", Key="in.csv", Body=b"id,name\n1,a\n2,b\n3,c\n")
    reader = {
        "Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "items", "Key": "in.csv"},
        "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"},
    }  # fmt: skip
    writer = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "items", "Prefix": "out"}}
    batcher = {"MaxItemsPerBatch": 2, "BatchInput": {"who": "me"}}

    ran = machines.run(distributed(ItemReader=reader, ItemBatcher=batcher, ResultWriter=writer))

    details = ran.output["ResultWriterDetails"]
    manifest = json.loads(s3.get_object(Bucket="items", Key=details["Key"])["Body"].read())
    (file,) = manifest["ResultFiles"]["SUCCEEDED"]
    written = json.loads(s3.get_object(Bucket="items", Key=file["Key"])["Body"].read())
    assert ran.details(3) == {"length": 0}
    assert [json.loads(one["Input"]) for one in written] == [
        {"BatchInput": {"who": "me"}, "Items": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]},
        {"BatchInput": {"who": "me"}, "Items": [{"id": "3", "name": "c"}]},
    ]
    assert only_run(machines, ran.arn)["itemCounts"]["succeeded"] == 3


def test_objects_of_a_bucket_are_items(machines: Machines) -> None:
    s3 = machines.world.client("s3")
    s3.create_bucket(Bucket="files")
    for key in ("in/a", "in/b", "out/c"):
        s3.put_object(Bucket="files", Key=key, Body=b"x")
    reader = {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": "files", "Prefix": "in/"}}

    ran = machines.run(distributed(ItemReader=reader))
    missing = machines.run(distributed(ItemReader={**reader, "Parameters": {"Bucket": "gone"}}))

    assert [one["Key"] for one in ran.output] == ["in/a", "in/b"]
    assert missing.failure[0] == "States.ItemReaderFailed"


def test_redrive_goes_on_with_the_same_map_run_and_its_unsuccessful_children(machines: Machines) -> None:
    calls: list[int] = []

    def handler(event, context):
        calls.append(event)
        if event == 2 and calls.count(2) == 1:
            raise ValueError("once")
        return event

    ran = machines.run(distributed(machines.function("f", handler), MaxConcurrency=1), value=[1, 2, 3])
    machines.sfn.redrive_execution(executionArn=ran.arn)
    machines.world.settle()

    again, run = machines.ran(ran.arn), only_run(machines, ran.arn)
    assert (ran.status, again.status, again.output) == ("FAILED", "SUCCEEDED", [1, 2, 3])
    assert calls == [1, 2, 2, 3]
    assert run["redriveCount"] == 1
    assert "MapRunRedriven" in again.links


def test_stopped_execution_stops_its_children(machines: Machines) -> None:
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 60, "End": True}},
    }  # fmt: skip
    arn = machines.start(machines.create({"Type": "Map", "ItemProcessor": processor}), [1, 2])
    machines.sfn.stop_execution(executionArn=arn)
    machines.world.settle()

    run = only_run(machines, arn)
    listed = machines.sfn.list_executions(mapRunArn=run["mapRunArn"])["executions"]
    assert run["status"] == "ABORTED"
    assert [one["status"] for one in listed] == ["ABORTED", "ABORTED"]
