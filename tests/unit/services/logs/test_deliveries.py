"""Deliveries of vended logs: sources, destinations, what connects them, and who may write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.services.logs import vending
from redrive.testing.world import World

ACCOUNT = "000000000000"
BUS = f"arn:aws:events:us-east-1:{ACCOUNT}:event-bus/default"
GROUP_ARN = f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:/bus"
DESTINATION = f"arn:aws:logs:us-east-1:{ACCOUNT}:delivery-destination:d"
SOURCE = f"arn:aws:logs:us-east-1:{ACCOUNT}:delivery-source:s"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("logs", "CreateLogGroup", logGroupName="/bus")
    yield world
    world.close()


@pytest.fixture
def logs(world: World) -> Any:
    client = world.client("logs")
    client.put_delivery_source(name="s", resourceArn=BUS, logType="INFO_LOGS")
    client.put_delivery_destination(
        name="d", outputFormat="json", deliveryDestinationConfiguration={"destinationResourceArn": f"{GROUP_ARN}:*"}
    )
    return client


def connected(logs: Any, **more: Any) -> dict[str, Any]:
    answer = logs.create_delivery(deliverySourceName="s", deliveryDestinationArn=DESTINATION, **more)
    return dict(answer["delivery"])


def refused(world: World, operation: str, **params: object) -> str:
    with pytest.raises(ServiceError) as caught:
        world.call("logs", operation, **params)
    return caught.value.code


def vend(world: World, *records: dict[str, Any], type: str = "INFO_LOGS") -> list[dict[str, Any]]:
    """Write records of the bus; answers what the group has then."""
    world.store.run(lambda tx: vending.vend_logs(tx, BUS, "stream", {type: records}))
    events = world.client("logs").filter_log_events(logGroupName="/bus")["events"]
    return [json.loads(event["message"]) for event in events]


def test_source_destination_and_delivery_are_shown_as_aws_shows_them(logs: Any) -> None:
    delivery = connected(logs, recordFields=["a"])

    assert logs.get_delivery_source(name="s")["deliverySource"] == {
        "name": "s", "arn": SOURCE, "resourceArns": [BUS], "service": "events", "logType": "INFO_LOGS",
    }  # fmt: skip
    assert logs.get_delivery_destination(name="d")["deliveryDestination"] == {
        "name": "d", "arn": DESTINATION, "deliveryDestinationType": "CWL", "outputFormat": "json",
        "deliveryDestinationConfiguration": {"destinationResourceArn": GROUP_ARN},
    }  # fmt: skip
    assert logs.get_delivery(id=delivery["id"])["delivery"] == {
        "id": delivery["id"], "arn": f"arn:aws:logs:us-east-1:{ACCOUNT}:delivery:{delivery['id']}",
        "deliverySourceName": "s", "deliveryDestinationArn": DESTINATION, "deliveryDestinationType": "CWL",
        "recordFields": ["a"],
    }  # fmt: skip


def test_lists_are_paged_and_filtered(logs: Any) -> None:
    other = BUS.replace("default", "other")
    logs.put_delivery_source(name="t", resourceArn=other, logType="INFO_LOGS")
    connected(logs)

    first = logs.describe_delivery_sources(limit=1)
    rest = logs.describe_delivery_sources(limit=1, nextToken=first["nextToken"])

    assert [one["name"] for one in first["deliverySources"] + rest["deliverySources"]] == ["s", "t"]
    assert "nextToken" not in rest
    found = logs.describe_delivery_sources(resourceArns=[other])["deliverySources"]
    assert [one["name"] for one in found] == ["t"]
    assert [one["name"] for one in logs.describe_delivery_destinations()["deliveryDestinations"]] == ["d"]
    assert logs.describe_delivery_destinations(names=["x"])["deliveryDestinations"] == []
    assert len(logs.describe_deliveries(deliverySourceNames=["s"])["deliveries"]) == 1
    assert logs.describe_deliveries(deliverySourceNames=["t"])["deliveries"] == []


def test_records_of_the_sources_type_reach_the_group(world: World, logs: Any) -> None:
    connected(logs)

    assert vend(world, {"a": 1}, {"a": 2}) == [{"a": 1}, {"a": 2}]
    assert vend(world, {"a": 3}, type="ERROR_LOGS") == [{"a": 1}, {"a": 2}]


def test_record_fields_choose_what_is_written(world: World, logs: Any) -> None:
    delivery = connected(logs, recordFields=["a"])

    assert vend(world, {"a": 1, "b": 2}) == [{"a": 1}]
    logs.update_delivery_configuration(id=delivery["id"], recordFields=["b"])
    assert vend(world, {"a": 1, "b": 2}) == [{"a": 1}, {"b": 2}]


def test_many_records_are_written_in_batches(world: World, logs: Any) -> None:
    connected(logs)

    vend(world, *({"text": "x" * 400_000} for _ in range(6)))

    pages = logs.get_paginator("filter_log_events").paginate(logGroupName="/bus")
    assert sum(len(page["events"]) for page in pages) == 6


def test_ended_delivery_writes_nothing(world: World, logs: Any) -> None:
    delivery = connected(logs)
    logs.delete_delivery(id=delivery["id"])

    assert vend(world, {"a": 1}) == []
    assert world.store.run(lambda tx: vending.vended_log_types(tx, BUS)) == frozenset()


def test_missing_policy_is_written_for_who_may_write_one(logs: Any) -> None:
    connected(logs)

    (policy,) = logs.describe_resource_policies()["resourcePolicies"]
    (statement,) = json.loads(policy["policyDocument"])["Statement"]
    assert policy["policyName"] == "AWSLogDeliveryWrite20150319"
    assert statement["Principal"] == {"Service": "delivery.logs.amazonaws.com"}
    assert statement["Resource"] == f"{GROUP_ARN}:log-stream:*"


def test_policy_that_allows_the_source_is_enough(logs: Any) -> None:
    statement = {
        "Effect": "Allow", "Principal": {"Service": "delivery.logs.amazonaws.com"}, "Resource": f"{GROUP_ARN}:*",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Condition": {"ArnLike": {"aws:SourceArn": SOURCE}},
    }  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    logs.put_resource_policy(policyName="mine", policyDocument=document)

    connected(logs)

    assert [one["policyName"] for one in logs.describe_resource_policies()["resourcePolicies"]] == ["mine"]


def test_destinations_elsewhere_are_kept_and_get_nothing(world: World, logs: Any) -> None:
    logs.put_delivery_destination(
        name="b", deliveryDestinationConfiguration={"destinationResourceArn": "arn:aws:s3:::bucket"}
    )
    bucket = f"arn:aws:logs:us-east-1:{ACCOUNT}:delivery-destination:b"
    made = logs.create_delivery(deliverySourceName="s", deliveryDestinationArn=bucket)["delivery"]

    assert made["deliveryDestinationType"] == "S3"
    assert vend(world, {"a": 1}) == []


@pytest.mark.parametrize(("operation", "params", "code"), [
    ("PutDeliverySource", {"name": "x", "resourceArn": "bus", "logType": "INFO_LOGS"}, "ValidationException"),
    ("PutDeliverySource", {"name": "x", "resourceArn": BUS, "logType": "ACCESS_LOGS"}, "ValidationException"),
    ("PutDeliverySource", {"name": "x", "resourceArn": BUS.replace("us-east-1", "eu-west-1"), "logType": "INFO_LOGS"},
     "ValidationException"),
    ("PutDeliverySource", {"name": "x", "resourceArn": BUS, "logType": "INFO_LOGS"}, "ConflictException"),
    ("PutDeliverySource", {"name": "s", "resourceArn": BUS, "logType": "ERROR_LOGS"}, "ConflictException"),
    ("GetDeliverySource", {"name": "x"}, "ResourceNotFoundException"),
    ("DeleteDeliverySource", {"name": "x"}, "ResourceNotFoundException"),
    ("DeleteDeliverySource", {"name": "s"}, "ConflictException"),
    ("PutDeliveryDestination", {"name": "x"}, "ValidationException"),
    ("PutDeliveryDestination", {"name": "x", "deliveryDestinationConfiguration": {"destinationResourceArn": BUS}},
     "ValidationException"),
    ("PutDeliveryDestination", {"name": "d", "deliveryDestinationConfiguration":
        {"destinationResourceArn": GROUP_ARN + "2"}}, "ConflictException"),
    ("GetDeliveryDestination", {"name": "x"}, "ResourceNotFoundException"),
    ("DeleteDeliveryDestination", {"name": "d"}, "ConflictException"),
    ("CreateDelivery", {"deliverySourceName": "x", "deliveryDestinationArn": DESTINATION}, "ResourceNotFoundException"),
    ("CreateDelivery", {"deliverySourceName": "s", "deliveryDestinationArn": DESTINATION + "2"},
     "ResourceNotFoundException"),
    ("CreateDelivery", {"deliverySourceName": "s", "deliveryDestinationArn": "d"}, "ValidationException"),
    ("CreateDelivery", {"deliverySourceName": "s", "deliveryDestinationArn": DESTINATION}, "ConflictException"),
    ("GetDelivery", {"id": "x"}, "ResourceNotFoundException"),
    ("DeleteDelivery", {"id": "x"}, "ResourceNotFoundException"),
    ("UpdateDeliveryConfiguration", {"id": "x"}, "ResourceNotFoundException"),
])  # fmt: skip
def test_what_cannot_be_is_refused(
    operation: str, params: dict[str, Any], code: str, world: World, logs: Any
) -> None:  # fmt: skip
    connected(logs)

    assert refused(world, operation, **params) == code


def test_all_is_deleted_in_the_order_of_use(world: World, logs: Any) -> None:
    delivery = connected(logs)
    logs.delete_delivery(id=delivery["id"])
    logs.delete_delivery_source(name="s")
    logs.delete_delivery_destination(name="d")

    assert logs.describe_delivery_sources()["deliverySources"] == []
    assert logs.describe_delivery_destinations()["deliveryDestinations"] == []


def test_source_asks_whether_the_resource_may_write_logs(world: World) -> None:
    """The caller needs `events:AllowVendedLogDeliveryForResource` on the bus beside the permission of the call."""
    statement = {"Effect": "Allow", "Action": "logs:*", "Resource": "*"}
    trust = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
    documents = [json.dumps({"Version": "2012-10-17", "Statement": [one]}) for one in (trust, statement)]
    world.call("iam", "CreateRole", RoleName="r", AssumeRolePolicyDocument=documents[0])
    world.call("iam", "PutRolePolicy", RoleName="r", PolicyName="p", PolicyDocument=documents[1])

    def put(tx: Any) -> None:
        caller = tx.services.assume_role(
            tx, f"arn:aws:iam::{ACCOUNT}:role/r", service="", session_name="s", region="us-east-1", request_id="r"
        )
        params = {"name": "x", "resourceArn": BUS, "logType": "INFO_LOGS"}
        tx.services.call(tx, caller, "logs", "PutDeliverySource", params)

    with pytest.raises(ServiceError) as caught:
        world.store.run(put)
    assert caught.value.code == "AccessDeniedException"
