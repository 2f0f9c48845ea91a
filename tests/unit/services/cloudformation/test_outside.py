"""Stacks that wait for others: custom resources, wait conditions, and stacks inside of stacks."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from redrive.delivery.assets import keep_asset
from redrive.services.cloudformation.answers import ANSWERS_PATH, take
from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks, queue

ACCOUNT = "000000000000"
CODE = """
import json, boto3
def handler(event, context):
    sqs = boto3.client("sqs")
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName="asked")["QueueUrl"], MessageBody=json.dumps(event))
"""
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


class Provider:
    """A function that notes what it is asked; the test answers in its place."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sqs = world.client("sqs")
        self._url = self._sqs.create_queue(QueueName="asked")["QueueUrl"]
        Stacks(world).create(
            "provider",
            {
                "Role": {
                    "Type": "AWS::IAM::Role",
                    "Properties": {
                        "AssumeRolePolicyDocument": TRUST,
                        "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonSQSFullAccess"],
                    },
                },
                "F": {
                    "Type": "AWS::Lambda::Function",
                    "Properties": {
                        "FunctionName": "provider", "Runtime": "python3.11", "Handler": "index.handler",
                        "Role": {"Fn::GetAtt": ["Role", "Arn"]}, "Code": {"ZipFile": CODE},
                    },
                },
            },
            Capabilities=["CAPABILITY_IAM"],
        )  # fmt: skip
        self.arn = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:provider"

    def asked(self) -> dict[str, Any]:
        """The next request that the function has got."""
        message = self._sqs.receive_message(QueueUrl=self._url)["Messages"][0]
        self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
        request: dict[str, Any] = json.loads(message["Body"])
        return request

    def answer(self, request: dict[str, Any], **answer: Any) -> None:
        """PUT an answer to a request."""
        put(self._world, request["ResponseURL"], {"Status": "SUCCESS", "PhysicalResourceId": "thing", **answer})


def put(world: World, url: str, document: dict[str, Any]) -> None:
    """PUT a document to a URL that a stack has given away, and let the stack go on."""
    token = urlsplit(url).path.removeprefix(ANSWERS_PATH)
    world.engine.run(lambda tx: take(tx, token, json.dumps(document).encode()))
    world.settle()


@pytest.fixture
def provider(world: World) -> Provider:
    return Provider(world)


def thing(provider: Provider, **properties: Any) -> dict[str, Any]:
    return {"Type": "Custom::Thing", "Properties": {"ServiceToken": provider.arn, **properties}}


def test_custom_resource_is_what_its_function_answers(stacks: Stacks, provider: Provider) -> None:
    outputs = {"Id": {"Value": {"Ref": "T"}}, "Deep": {"Value": {"Fn::GetAtt": ["T", "A.B"]}}}
    stacks.create("shop", {"T": thing(provider, Size=3, On=True)}, outputs=outputs)
    request = provider.asked()
    assert stacks.client.describe_stack_resource(StackName="shop", LogicalResourceId="T")["StackResourceDetail"][
        "ResourceStatus"
    ] == "CREATE_IN_PROGRESS"  # fmt: skip

    provider.answer(request, Data={"A": {"B": "found"}})

    assert stacks.outputs("shop") == {"Id": "thing", "Deep": "found"}
    assert (request["RequestType"], request["ResourceType"], request["LogicalResourceId"]) == (
        "Create", "Custom::Thing", "T"
    )  # fmt: skip
    assert request["ResourceProperties"] == {"ServiceToken": provider.arn, "Size": "3", "On": "true"}
    assert request["StackId"] == stacks.describe("shop")["StackId"]


def test_update_with_another_id_deletes_the_old_thing(stacks: Stacks, provider: Provider) -> None:
    stacks.create("shop", {"T": thing(provider, Size=1)})
    provider.answer(provider.asked(), PhysicalResourceId="one")

    stacks.update("shop", {"T": thing(provider, Size=2)})
    update = provider.asked()
    provider.answer(update, PhysicalResourceId="two")
    delete = provider.asked()
    provider.answer(delete, PhysicalResourceId="one")

    assert (update["RequestType"], update["PhysicalResourceId"]) == ("Update", "one")
    assert update["OldResourceProperties"]["Size"] == "1"
    assert (delete["RequestType"], delete["PhysicalResourceId"]) == ("Delete", "one")
    assert (stacks.status("shop"), stacks.physical_id("shop", "T")) == ("UPDATE_COMPLETE", "two")


def test_failed_creation_is_deleted_by_the_id_of_its_answer(stacks: Stacks, provider: Provider) -> None:
    stacks.create("shop", {"T": thing(provider)})
    request = provider.asked()

    provider.answer(request, Status="FAILED", Reason="no room", PhysicalResourceId="half")
    delete = provider.asked()
    provider.answer(delete)

    assert stacks.reason("shop", "T", "CREATE_FAILED") == (
        "Received response status [FAILED] from custom resource. Message returned: no room "
        f"(RequestId: {request['RequestId']})"
    )
    assert (delete["RequestType"], delete["PhysicalResourceId"]) == ("Delete", "half")
    assert stacks.status("shop") == "ROLLBACK_COMPLETE"


def test_failed_update_asks_for_what_there_was(stacks: Stacks, provider: Provider) -> None:
    stacks.create("shop", {"T": thing(provider, Size=1)})
    provider.answer(provider.asked())
    stacks.update("shop", {"T": thing(provider, Size=2)})

    provider.answer(provider.asked(), Status="FAILED", Reason="no")
    back = provider.asked()
    assert stacks.status("shop") == "UPDATE_ROLLBACK_IN_PROGRESS"
    provider.answer(back)

    assert (back["RequestType"], back["ResourceProperties"]["Size"]) == ("Update", "1")
    assert stacks.status("shop") == "UPDATE_ROLLBACK_COMPLETE"


def test_provider_that_does_not_answer_fails_after_its_timeout(stacks: Stacks, provider: Provider) -> None:
    stacks.create("shop", {"T": thing(provider, ServiceTimeout=60)})
    request = provider.asked()

    stacks.world.advance(seconds=59)
    assert stacks.status("shop") == "CREATE_IN_PROGRESS"
    stacks.world.advance(seconds=2)

    reason = stacks.reason("shop", "T", "CREATE_FAILED")
    assert reason.startswith("CloudFormation did not receive a response from your Custom Resource.")
    assert f"requestId [{request['RequestId']}]" in reason


def test_only_the_first_answer_counts(stacks: Stacks, provider: Provider) -> None:
    stacks.create("shop", {"T": thing(provider)})
    request = provider.asked()

    provider.answer(request, PhysicalResourceId="first")
    provider.answer(request, PhysicalResourceId="second")

    assert (stacks.status("shop"), stacks.physical_id("shop", "T")) == ("CREATE_COMPLETE", "first")


def test_answer_that_is_too_long_fails_the_resource(stacks: Stacks, provider: Provider) -> None:
    stacks.create("shop", {"T": thing(provider)})

    provider.answer(provider.asked(), Data={"A": "x" * 4_096})

    assert "Response object is too long." in stacks.reason("shop", "T", "CREATE_FAILED")


def test_custom_resource_without_a_function_is_refused(stacks: Stacks) -> None:
    topic = f"arn:aws:sns:us-east-1:{ACCOUNT}:topic"

    stacks.create("shop", {"T": {"Type": "AWS::CloudFormation::CustomResource", "Properties": {"ServiceToken": topic}}})

    assert stacks.reason("shop", "T", "CREATE_FAILED") == (
        f"Invalid service token: {topic}. redrive serves custom resources that functions back."
    )


def waiting(**properties: Any) -> dict[str, Any]:
    condition = {"Handle": {"Ref": "H"}, "Timeout": "60", **properties}
    return {
        "H": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
        "W": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": condition},
    }


def test_wait_condition_waits_for_its_signals(stacks: Stacks, world: World) -> None:
    stacks.create("shop", waiting(Count=2), outputs={"Data": {"Value": {"Fn::GetAtt": ["W", "Data"]}}})
    url = stacks.physical_id("shop", "H")

    put(world, url, {"Status": "SUCCESS", "UniqueId": "a", "Data": "1", "Reason": ""})
    put(world, url, {"Status": "SUCCESS", "UniqueId": "a", "Data": "1", "Reason": ""})
    assert stacks.status("shop") == "CREATE_IN_PROGRESS"
    put(world, url, {"Status": "SUCCESS", "UniqueId": "b", "Data": "2", "Reason": ""})

    assert json.loads(stacks.outputs("shop")["Data"]) == {"a": "1", "b": "2"}


def test_signal_of_a_failure_fails_the_wait_condition(stacks: Stacks, world: World) -> None:
    stacks.create("shop", waiting())

    put(world, stacks.physical_id("shop", "H"), {"Status": "FAILURE", "UniqueId": "a", "Reason": "broken"})

    reason = stacks.reason("shop", "W", "CREATE_FAILED")
    assert reason == "WaitCondition received failed message: 'broken' for uniqueId: a"


def test_wait_condition_ends_after_its_timeout(stacks: Stacks, world: World) -> None:
    stacks.create("shop", waiting())

    world.advance(seconds=61)

    reason = stacks.reason("shop", "W", "CREATE_FAILED")
    assert reason == "WaitCondition timed out. Received 0 conditions when expecting 1"


URL = "https://s3.us-east-1.amazonaws.com/assets/child.json"


def upload(world: World, delay_s: int) -> None:
    """Upload the template of the nested stack."""
    child = {
        "Parameters": {"Name": {"Type": "String"}},
        "Resources": {"Q": queue(QueueName={"Ref": "Name"}, DelaySeconds=delay_s)},
        "Outputs": {"Name": {"Value": {"Fn::GetAtt": ["Q", "QueueName"]}}},
    }
    body = json.dumps(child).encode()
    digest = hashlib.sha256(body).hexdigest()
    world.engine.run(lambda tx: keep_asset(tx, ACCOUNT, "assets", "child.json", digest, body))


NESTED = {
    "Child": {
        "Type": "AWS::CloudFormation::Stack",
        "Properties": {"TemplateURL": URL, "Parameters": {"Name": "orders"}},
    }
}


def test_nested_stack_is_made_changed_and_deleted_with_its_parent(stacks: Stacks, world: World) -> None:
    upload(world, 1)
    outputs = {"Name": {"Value": {"Fn::GetAtt": ["Child", "Outputs.Name"]}}}
    parent = stacks.create("shop", NESTED, outputs=outputs)

    child = stacks.describe(stacks.physical_id("shop", "Child"))
    assert (child["StackStatus"], child["ParentId"], child["RootId"]) == ("CREATE_COMPLETE", parent, parent)
    assert stacks.outputs("shop") == {"Name": "orders"}

    upload(world, 2)
    changed = {
        "Child": {
            "Type": "AWS::CloudFormation::Stack",
            "Properties": {"TemplateURL": f"{URL}?v=2", "Parameters": {"Name": "orders"}},
        }
    }
    stacks.update("shop", changed, outputs=outputs)
    assert stacks.status(child["StackId"]) == "UPDATE_COMPLETE"

    stacks.delete("shop")
    assert stacks.status(child["StackId"]) == "DELETE_COMPLETE"
    assert stacks.client.describe_stacks()["Stacks"] == []


def test_failed_nested_stack_fails_its_parent_with_its_reason(stacks: Stacks, world: World) -> None:
    upload(world, 5_000)

    stacks.create("shop", NESTED)

    reason = stacks.reason("shop", "Child", "CREATE_FAILED")
    assert reason.startswith(f"Embedded stack arn:aws:cloudformation:us-east-1:{ACCOUNT}:stack/shop-Child-")
    assert reason.endswith("was not successfully created: The following resource(s) failed to create: [Q].")
    assert stacks.status("shop") == "ROLLBACK_COMPLETE"
    assert stacks.client.describe_stacks()["Stacks"][0]["StackName"] == "shop"


def test_nested_template_whose_bucket_does_not_exist_fails_with_s3s_message(stacks: Stacks) -> None:
    stacks.create("shop", NESTED)

    assert "S3 error: The specified bucket does not exist" in stacks.reason("shop", "Child", "CREATE_FAILED")


def test_value_of_an_ssm_parameter_type_is_taken_itself_by_a_lenient_stack(stacks: Stacks) -> None:
    declared = {"P": {"Type": "AWS::SSM::Parameter::Value<List<String>>", "Default": "a,b"}}

    lenient = [{"Key": "redrive:on-unknown", "Value": "stub"}]
    stacks.create("shop", {"Q": queue(QueueName={"Fn::Select": [1, {"Ref": "P"}]})}, Declared=declared, Tags=lenient)

    assert stacks.physical_id("shop", "Q").endswith("/b")
    assert stacks.describe("shop")["Parameters"] == [
        {"ParameterKey": "P", "ParameterValue": "a,b", "ResolvedValue": "a,b"}
    ]
    assert any("SSM has no such parameters" in reason and "[P]" in reason for _, _, reason in stacks.events("shop"))


def test_inline_policy_is_its_queues_policy_until_it_is_deleted(stacks: Stacks, world: World) -> None:
    statement = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    policy = {
        "Type": "AWS::SQS::QueueInlinePolicy", "Properties": {"Queue": {"Ref": "Q"}, "PolicyDocument": document}
    }  # fmt: skip
    stacks.create("shop", {"Q": queue(QueueName="q"), "P": policy})
    sqs, url = world.client("sqs"), stacks.physical_id("shop", "Q")

    made = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    stacks.update("shop", {"Q": queue(QueueName="q")})

    assert json.loads(made["Policy"]) == document
    assert "Attributes" not in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])


def test_properties_of_a_queue_that_are_gone_become_what_aws_makes_of_them(stacks: Stacks, world: World) -> None:
    stacks.create(
        "shop",
        {
            "Q": queue(MaximumMessageSize=2_048, KmsMasterKeyId="alias/aws/sqs"),
            "F": queue(FifoQueue=True, DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId"),
        },
    )

    stacks.update("shop", {"Q": queue(), "F": queue(FifoQueue=True)})

    sqs = world.client("sqs")
    standard, fifo = (
        sqs.get_queue_attributes(QueueUrl=stacks.physical_id("shop", name), AttributeNames=["All"])["Attributes"]
        for name in ("Q", "F")
    )
    assert (standard["MaximumMessageSize"], standard["SqsManagedSseEnabled"]) == ("262144", "false")
    assert (fifo["DeduplicationScope"], fifo["FifoThroughputLimit"]) == ("messageGroup", "perMessageGroupId")
