"""What CloudFormation tells the default bus: each status of a stack and of its resources.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/events-detail-reference.html
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from redrive.delivery.assets import keep_asset
from redrive.services.events.model.rule import Rule
from tests.unit.services.events.conftest import ACCOUNT, BusDesk

STACK, RESOURCE = "CloudFormation Stack Status Change", "CloudFormation Resource Status Change"
TEMPLATE = json.dumps({"Resources": {"Jobs": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "jobs"}}}})


def create_stack(desk: BusDesk, **more: Any) -> str:
    created = desk.world.client("cloudformation").create_stack(StackName="shop", TemplateBody=TEMPLATE, **more)
    desk.world.settle()
    return str(created["StackId"])


def test_each_status_of_a_stack_is_an_event(bus_desk: BusDesk) -> None:
    bus_desk.rule(bus_desk.queue("q"), pattern={"source": ["aws.cloudformation"], "detail-type": [STACK]})

    stack_id = create_stack(bus_desk, ClientRequestToken="deploy-1")

    begun, done = bus_desk.received()
    assert (begun["source"], begun["resources"]) == ("aws.cloudformation", [stack_id])
    assert begun["detail"] == {
        "stack-id": stack_id, "status-details": {"status": "CREATE_IN_PROGRESS", "status-reason": "User Initiated"},
        "client-request-token": "deploy-1",
    }  # fmt: skip
    assert done["detail"]["status-details"] == {"status": "CREATE_COMPLETE", "status-reason": ""}


def test_each_status_of_a_resource_is_an_event(bus_desk: BusDesk) -> None:
    wanted = {"status-details": {"status": ["CREATE_COMPLETE"]}, "resource-type": ["AWS::SQS::Queue"]}
    bus_desk.rule(bus_desk.queue("q"), pattern={"detail-type": [RESOURCE], "detail": wanted})

    stack_id = create_stack(bus_desk)

    (event,) = bus_desk.received()
    shown = bus_desk.world.client("cloudformation").describe_stack_resource(StackName="shop", LogicalResourceId="Jobs")
    url = shown["StackResourceDetail"]["PhysicalResourceId"]
    assert event["detail"] == {
        "stack-id": stack_id, "logical-resource-id": "Jobs", "physical-resource-id": url,
        "status-details": {"status": "CREATE_COMPLETE", "status-reason": ""}, "resource-type": "AWS::SQS::Queue",
        "client-request-token": "",
    }  # fmt: skip


def test_nested_stack_is_a_resource_of_its_parent(bus_desk: BusDesk) -> None:
    wanted = {"resource-type": ["AWS::CloudFormation::Stack"], "status-details": {"status": ["CREATE_COMPLETE"]}}
    bus_desk.rule(bus_desk.queue("q"), pattern={"detail-type": [RESOURCE], "detail": wanted})
    digest = hashlib.sha256(TEMPLATE.encode()).hexdigest()
    bus_desk.world.engine.run(lambda tx: keep_asset(tx, ACCOUNT, "assets", "child.json", digest, TEMPLATE.encode()))
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {
        "TemplateURL": "https://s3.us-east-1.amazonaws.com/assets/child.json"}}  # fmt: skip

    created = bus_desk.world.client("cloudformation").create_stack(
        StackName="parent", TemplateBody=json.dumps({"Resources": {"Inner": nested}})
    )
    bus_desk.world.settle()

    (event,) = bus_desk.received()
    assert (event["detail"]["stack-id"], event["detail"]["logical-resource-id"]) == (created["StackId"], "Inner")


def test_stack_of_a_failed_create_tells_its_rollback(bus_desk: BusDesk) -> None:
    bus_desk.rule(bus_desk.queue("q"), pattern={"detail-type": [STACK]})
    bus_desk.world.client("cloudformation").create_stack(
        StackName="bad", TemplateBody=json.dumps({"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {
            "QueueName": "no.good"}}}}),
    )  # fmt: skip

    bus_desk.world.settle()

    told = [event["detail"]["status-details"]["status"] for event in bus_desk.received()]
    assert told == ["CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE"]


def test_archive_of_the_default_bus_keeps_the_events(bus_desk: BusDesk) -> None:
    arn = "arn:aws:events:us-east-1:000000000000:event-bus/default"
    bus_desk.events.create_archive(ArchiveName="all", EventSourceArn=arn)

    create_stack(bus_desk)

    assert bus_desk.events.describe_archive(ArchiveName="all")["EventCount"] == 5


def test_rule_of_another_region_gets_nothing(bus_desk: BusDesk) -> None:
    far = bus_desk.world.client("events", region="eu-west-1")
    far.put_rule(Name="r", EventPattern=json.dumps({"source": ["aws.cloudformation"]}))
    far.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": bus_desk.queue("q")}])

    create_stack(bus_desk)

    assert bus_desk.received() == []
    assert [scope.region for scope, _ in bus_desk.world.store.run(lambda tx: tx.resources.everywhere(Rule))] == [
        "eu-west-1"
    ]
