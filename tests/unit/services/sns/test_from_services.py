"""Who publishes beside clients: rules, schedules, functions' destinations and stacks; and functions as subscribers."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

HERE = "us-east-1:000000000000"
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Topic:
    Type: AWS::SNS::Topic
    Properties: {DisplayName: d}
  Queue: {Type: AWS::SQS::Queue}
  Policy:
    Type: AWS::SQS::QueuePolicy
    Properties:
      Queues: [!Ref Queue]
      PolicyDocument:
        Statement:
          - {Effect: Allow, Principal: {Service: sns.amazonaws.com}, Action: 'sqs:SendMessage',
             Resource: !GetAtt Queue.Arn, Condition: {ArnEquals: {'aws:SourceArn': !Ref Topic}}}
  Subscription:
    Type: AWS::SNS::Subscription
    Properties: {TopicArn: !Ref Topic, Protocol: sqs, Endpoint: !GetAtt Queue.Arn, RawMessageDelivery: true,
                 FilterPolicy: {kind: [good]}}
  TopicPolicy:
    Type: AWS::SNS::TopicPolicy
    Properties:
      Topics: [!Ref Topic]
      PolicyDocument:
        Statement:
          - {Effect: Allow, Principal: {Service: events.amazonaws.com}, Action: 'sns:Publish', Resource: !Ref Topic}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.12
      Handler: index.handler
      InlineCode: |
        import json
        def handler(event, context):
            print(json.dumps(event))
      Events:
        Told: {Type: SNS, Properties: {Topic: !Ref Topic}}
Outputs:
  Topic: {Value: !Ref Topic}
  Name: {Value: !GetAtt Topic.TopicName}
  Url: {Value: !Ref Queue}
  Worker: {Value: !Ref Worker}
"""


def test_stack_with_sam_events_delivers_to_queue_and_function(desk: Any) -> None:
    made = desk.world.deploy(TEMPLATE)
    kind = {"kind": {"DataType": "String", "StringValue": "good"}}

    desk.sns.publish(TopicArn=made["Topic"], Message="m", MessageAttributes=kind)
    desk.sns.publish(TopicArn=made["Topic"], Message="filtered out of the queue")
    desk.world.settle()

    found = desk.world.call("sqs", "ReceiveMessage", QueueUrl=made["Url"], MaxNumberOfMessages=10)["Messages"]
    assert [message["Body"] for message in found] == ["m"]
    group = f"/aws/lambda/{made['Worker']}"
    lines = [event["message"] for event in desk.world.client("logs").filter_log_events(logGroupName=group)["events"]]
    events = [json.loads(line)["Records"][0] for line in lines if line.startswith("{")]
    assert sorted(event["Sns"]["Message"] for event in events) == ["filtered out of the queue", "m"]
    record = next(event for event in events if event["Sns"]["Message"] == "m")
    assert list(record) == ["EventSource", "EventVersion", "EventSubscriptionArn", "Sns"]
    assert list(record["Sns"]) == [
        "Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "Signature",
        "SigningCertUrl", "UnsubscribeUrl", "MessageAttributes",
    ]  # fmt: skip
    assert record["Sns"]["Subject"] is None
    assert made["Name"] in record["EventSubscriptionArn"]


def test_deleted_stack_leaves_no_topic(desk: Any) -> None:
    desk.world.deploy(TEMPLATE)

    desk.world.client("cloudformation").delete_stack(StackName="stack")
    desk.world.settle()

    assert desk.sns.list_topics()["Topics"] == []
    assert desk.sns.list_subscriptions()["Subscriptions"] == []


def test_rule_publishes_if_the_policy_of_the_topic_allows_eventbridge(desk: Any) -> None:
    topic, closed = desk.topic(), desk.topic("closed")
    for one in (topic, closed):
        desk.subscribe(one, desk.queue(), RawMessageDelivery="true")
    allowed = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sns:Publish",
               "Resource": topic}  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    desk.sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=policy)
    events = desk.world.client("events")
    events.put_rule(Name="r", EventPattern='{"source":["shop"]}')
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": topic}, {"Id": "2", "Arn": closed}])

    events.put_events(Entries=[{"Source": "shop", "DetailType": "d", "Detail": '{"n":1}'}])
    desk.world.settle()

    (message,) = desk.take()
    assert json.loads(message["Body"])["detail"] == {"n": 1}


def test_schedule_publishes_under_its_role(desk: Any) -> None:
    topic = desk.topic()
    desk.subscribe(topic, desk.queue(), RawMessageDelivery="true")
    target = {"Arn": topic, "RoleArn": role(desk, "scheduler", "sns:Publish"), "Input": "hello"}
    desk.world.client("scheduler").create_schedule(
        Name="s", ScheduleExpression="rate(1 hour)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target
    )

    desk.world.settle()

    assert [message["Body"] for message in desk.take()] == ["hello"]


def test_function_tells_topics_of_success_and_of_failure(desk: Any) -> None:
    told, dead = desk.topic("told"), desk.topic("dead")
    for one in (told, dead):
        desk.subscribe(one, desk.queue(one.rpartition(":")[2]), RawMessageDelivery="true")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("index.py", "def handler(event, context):\n    return 1 / event['by']\n")
    functions = desk.world.client("lambda")
    functions.create_function(
        FunctionName="f", Runtime="python3.12", Handler="index.handler", Code={"ZipFile": content.getvalue()},
        Role=role(desk, "lambda", "sns:Publish"), DeadLetterConfig={"TargetArn": dead},
    )  # fmt: skip
    functions.put_function_event_invoke_config(
        FunctionName="f", MaximumRetryAttempts=0,
        DestinationConfig={"OnSuccess": {"Destination": told}, "OnFailure": {"Destination": told}},
    )  # fmt: skip

    for by in (1, 0):
        functions.invoke(FunctionName="f", InvocationType="Event", Payload=json.dumps({"by": by}))
    desk.world.settle()

    conditions = [json.loads(message["Body"])["requestContext"]["condition"] for message in desk.take("told")]
    assert sorted(conditions) == ["RetriesExhausted", "Success"]
    (letter,) = desk.take("dead")
    assert json.loads(letter["Body"]) == {"by": 0}
    assert letter["MessageAttributes"]["ErrorCode"]["StringValue"] == "200"


def role(desk: Any, service: str, action: str) -> str:
    """Make a role that a service may assume and that may do one action; answers its ARN."""
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    desk.world.call("iam", "CreateRole", RoleName=service, AssumeRolePolicyDocument=document)
    allowed = {"Effect": "Allow", "Action": action, "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    desk.world.call("iam", "PutRolePolicy", RoleName=service, PolicyName="p", PolicyDocument=policy)
    return f"arn:aws:iam::000000000000:role/{service}"
