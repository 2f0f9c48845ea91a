"""Functions of SAM templates that S3 and SNS cause: deployed, caused, and run."""

from __future__ import annotations

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks, Template
from tests.unit.services.cloudformation.transforms.test_expansion import EXPAND, function, sam

WRITES = """
import json, os, boto3
def handler(event, context):
    for record in event["Records"]:
        what = record["s3"]["object"]["key"] if "s3" in record else record["Sns"]["Message"]
        boto3.client("sqs").send_message(QueueUrl=os.environ["TOLD"], MessageBody=what)
"""


def told_of(event: Template, **resources: Template) -> str:
    """A template whose function writes into the queue `told` what it is told of."""
    return sam(
        {
            "Told": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "told"}},
            "F": function(
                InlineCode=WRITES, Events={"E": event},
                Environment={"Variables": {"TOLD": {"Ref": "Told"}}},
                Policies=[{"SQSSendMessagePolicy": {"QueueName": {"Fn::GetAtt": ["Told", "QueueName"]}}}],
            ),
            **resources,
        }
    )  # fmt: skip


def create(stacks: Stacks, body: str) -> None:
    """Create the stack `s` and let it run."""
    stacks.client.create_stack(StackName="s", TemplateBody=body, Capabilities=EXPAND)
    stacks.world.settle()


def messages(world: World) -> list[str]:
    """What the function has written."""
    sqs = world.client("sqs")
    url = sqs.get_queue_url(QueueName="told")["QueueUrl"]
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return [one["Body"] for one in received]


def test_object_in_the_bucket_of_an_event_causes_the_function(stacks: Stacks, world: World) -> None:
    rules = {"S3Key": {"Rules": [{"Name": "suffix", "Value": ".csv"}]}}
    properties = {"Bucket": {"Ref": "B"}, "Events": "s3:ObjectCreated:*", "Filter": rules}
    create(
        stacks,
        told_of(
            {"Type": "S3", "Properties": properties},
            B={"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "files"}},
        ),
    )

    world.client("s3").put_object(Bucket="files", Key="in/a.csv", Body=b"1")
    world.client("s3").put_object(Bucket="files", Key="in/a.txt", Body=b"1")
    world.settle()

    assert messages(world) == ["in/a.csv"]


def test_message_of_the_topic_of_an_event_causes_the_function(stacks: Stacks, world: World) -> None:
    event = {"Type": "SNS", "Properties": {"Topic": {"Ref": "T"}, "FilterPolicy": {"kind": ["order"]}}}
    create(stacks, told_of(event, T={"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "news"}}))
    topic = world.client("sns").list_topics()["Topics"][0]["TopicArn"]

    for kind in ("order", "return"):
        attributes = {"kind": {"DataType": "String", "StringValue": kind}}
        world.client("sns").publish(TopicArn=topic, Message=kind, MessageAttributes=attributes)
    world.settle()

    assert messages(world) == ["order"]
