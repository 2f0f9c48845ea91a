"""A world in which there is something to ask for, and what callers know of it."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Mapping
from typing import NamedTuple

from redrive.store.sqlite import Snapshot
from redrive.testing.world import World
from tests.fuzz.values import Moment

ACCOUNT = "000000000000"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": ["scheduler.amazonaws.com", "lambda.amazonaws.com"], "AWS": "*"},
            "Action": "sts:AssumeRole",
        }
    ],
}
ALLOW_ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
ROLE = f"arn:aws:iam::{ACCOUNT}:role/worker"
TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:news"
QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders"
DLQ = f"arn:aws:sqs:us-east-1:{ACCOUNT}:dead"
FUNCTION = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:echo"
GROUP = "/aws/lambda/echo"
MACHINE = f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:waits"
EXECUTION = f"arn:aws:states:us-east-1:{ACCOUNT}:execution:waits:e"
ACTIVITY = f"arn:aws:states:us-east-1:{ACCOUNT}:activity:hands"
WAITS = '{"StartAt":"W","States":{"W":{"Type":"Wait","SecondsPath":"$.s","End":true}}}'
STREAM = f"arn:aws:kinesis:us-east-1:{ACCOUNT}:stream/clicks"
TEMPLATE = json.dumps(
    {
        "Parameters": {"Name": {"Type": "String", "Default": "made"}},
        "Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "Name"}}}},
        "Outputs": {"Url": {"Value": {"Ref": "Queue"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-url"}}}},
    }
)
CODE = "def handler(event, context):\n    return event\n\ndef fail(event, context):\n    raise ValueError(event)\n"


def archive() -> bytes:
    """The code of a function: `index.handler` answers its event, `index.fail` raises."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(zipfile.ZipInfo("index.py"), CODE)
    return content.getvalue()


def furnished() -> World:
    """A new world with two of most things. The same world each time, so that calls to it can be repeated."""
    world = World()
    world.store.load(_furniture())
    return world


@functools.cache
def _furniture() -> Snapshot:
    """What such a world holds: bringing it in once, and copying it, is a tenth of the work."""
    world = World(seed=1)
    _queues(world)
    _roles(world)
    _functions(world)
    _schedules(world)
    _table(world)
    _logs(world)
    _bus(world)
    _stream(world)
    _secrets(world)
    _machines(world)
    _topics(world)
    _buckets(world)
    world.client("cloudwatch").put_metric_data(Namespace="Shop", MetricData=[{"MetricName": "Orders", "Value": 3}])
    world.client("cloudwatch").put_metric_alarm(
        AlarmName="spare", Namespace="Shop", MetricName="Orders", Statistic="Sum", Period=60, EvaluationPeriods=1,
        Threshold=1, ComparisonOperator="GreaterThanThreshold",
    )  # fmt: skip
    world.client("cloudformation").create_stack(StackName="shop", TemplateBody=TEMPLATE)
    world.settle()
    saved = world.store.save()
    world.close()
    return saved


class Recorded(NamedTuple):
    """A record in the stream of a table."""

    shard_id: str
    sequence_number: str
    iterator: str
    """Of the place before the record."""


@functools.cache
def table_record() -> Recorded:
    """A record of the table's stream in such a world."""
    world = furnished()
    streams = world.client("dynamodbstreams")
    arn = known()["StreamArn"][0]
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        shard_id = shard["ShardId"]
        given = streams.get_shard_iterator(StreamArn=arn, ShardId=shard_id, ShardIteratorType="TRIM_HORIZON")
        for record in streams.get_records(ShardIterator=given["ShardIterator"])["Records"]:
            world.close()
            return Recorded(shard_id, record["dynamodb"]["SequenceNumber"], given["ShardIterator"])
    raise LookupError("the stream of the table has no records")


def _stream(world: World) -> None:
    """A stream with records, a closed shard and a consumer."""
    kinesis = world.client("kinesis")
    kinesis.create_stream(StreamName="clicks", ShardCount=2)
    kinesis.put_records(
        StreamName="clicks", Records=[{"PartitionKey": str(number), "Data": b"x"} for number in range(8)]
    )
    kinesis.split_shard(StreamName="clicks", ShardToSplit="shardId-000000000000", NewStartingHashKey=str(1 << 126))
    kinesis.register_stream_consumer(StreamARN=STREAM, ConsumerName="app")


def _secrets(world: World) -> None:
    """A key with an alias, parameters in the open and encrypted, a secret, and a repository."""
    kms, ssm = world.client("kms"), world.client("ssm")
    kms.create_alias(AliasName="alias/app", TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    ssm.put_parameter(Name="/app/url", Value="u", Type="String")
    ssm.put_parameter(Name="/app/key", Value="k", Type="SecureString", KeyId="alias/app")
    world.client("secretsmanager").create_secret(Name="db", SecretString='{"user":"ann"}')
    world.client("ecr").create_repository(repositoryName="app")


def _machines(world: World) -> None:
    """A machine with a version and an alias, executions that wait and that have failed, and an activity."""
    states = world.client("stepfunctions")
    states.create_activity(name="hands")
    made = states.create_state_machine(name="waits", definition=WAITS, roleArn=ROLE, publish=True)
    routes = [{"stateMachineVersionArn": made["stateMachineVersionArn"], "weight": 100}]
    states.create_state_machine_alias(name="live", routingConfiguration=routes)
    states.start_execution(stateMachineArn=MACHINE, name="e", input='{"s": 60}')
    states.start_execution(stateMachineArn=MACHINE, name="failed", input="{}")


def _bus(world: World) -> None:
    """A rule that sends what the shop says to the queue and to the function."""
    events = world.client("events")
    events.put_rule(Name="r", EventPattern='{"source":["shop"]}', ScheduleExpression="rate(1 day)")
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": QUEUE}, {"Id": "2", "Arn": FUNCTION}])
    bus = f"arn:aws:events:us-east-1:{ACCOUNT}:event-bus/default"
    events.create_archive(ArchiveName="kept", EventSourceArn=bus, EventPattern='{"source":["shop"]}')
    key = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "value"}}
    events.create_connection(Name="known", AuthorizationType="API_KEY", AuthParameters=key)


def _topics(world: World) -> None:
    """A topic with a subscription that filters, and a FIFO topic."""
    sns = world.client("sns")
    sns.create_topic(Name="news")
    sns.create_topic(Name="news.fifo", Attributes={"FifoTopic": "true", "ContentBasedDeduplication": "true"})
    sns.subscribe(TopicArn=TOPIC, Protocol="sqs", Endpoint=QUEUE, Attributes={"FilterPolicy": '{"a":[{"prefix":"b"}]}'})


def _buckets(world: World) -> None:
    """Two buckets, one of them with objects: a small one, and one that lies in the store's bodies."""
    for name in ("pictures", "letters"):
        world.call("s3", "CreateBucket", Bucket=name)
    world.call("s3", "PutObject", Bucket="pictures", Key="a b/c", Body=b"hello")
    world.call("s3", "PutObject", Bucket="pictures", Key="large", Body=b"x" * 100_000)


def known() -> Mapping[str, tuple[object, ...]]:
    """What a caller may put under a member's name and be understood, most of the time."""
    policies = (json.dumps(ALLOW_ALL), json.dumps(TRUST))
    keys = ({"id": {"S": "1"}, "at": {"N": "1"}}, {"id": {"S": "2"}, "at": {"N": "5"}}, {"id": {"S": "nobody"}})
    url = f"http://127.0.0.1:4566/{ACCOUNT}/"
    return {
        "Bucket": ("pictures", "letters", "nowhere"),
        "CopySource": ("pictures/a%20b/c", "/pictures/large", "nowhere/x", "?"),
        "Prefix": ("", "a", "a b/"),
        "QueueUrl": (url + "orders", url + "orders.fifo", url + "dead", url + "nobody"),
        "TopicArn": (TOPIC, f"{TOPIC}.fifo", f"{TOPIC}x"),
        "QueueName": ("orders", "orders.fifo", "dead", "fresh", "fresh.fifo"),
        "SourceArn": (DLQ, QUEUE),
        "DestinationArn": (QUEUE, DLQ),
        "EventSourceArn": (QUEUE, DLQ),
        "MessageBody": ("{}", "hello", "x" * 262_144),
        "MessageGroupId": ("a", "b"),
        "MessageDeduplicationId": ("1", "2"),
        "QueueAttributeMap:key": (
            "VisibilityTimeout",
            "DelaySeconds",
            "RedrivePolicy",
            "Policy",
            "FifoQueue",
            "ContentBasedDeduplication",
            "MaximumMessageSize",
            "RedriveAllowPolicy",
            "KmsMasterKeyId",
        ),
        "RedrivePolicy": (
            json.dumps({"deadLetterTargetArn": DLQ, "maxReceiveCount": 1}),
            "{}",
            '{"maxReceiveCount":1e400}',
        ),
        "RoleName": ("worker", "other", "fresh"),
        "RoleArn": (ROLE,),
        "Role": (ROLE,),
        "PolicyArn": (f"arn:aws:iam::{ACCOUNT}:policy/all", "arn:aws:iam::aws:policy/AdministratorAccess"),
        "PolicySourceArn": (ROLE,),
        "ResourceArns": ([QUEUE], ["*"]),
        "ActionNames": (["sqs:SendMessage"], ["s3:*", "a"]),
        "PolicyName": ("inline", "all"),
        "PolicyDocument": policies,
        "AssumeRolePolicyDocument": policies,
        "PolicyInputList": ([policies[0]],),
        "VersionId": ("v1", "v2"),
        "PermissionsBoundary": (f"arn:aws:iam::{ACCOUNT}:policy/all",),
        "FunctionName": ("echo", "broken", FUNCTION, f"{FUNCTION}:$LATEST", "fresh"),
        "Code": ({"ZipFile": archive()},),
        "ZipFile": (archive(),),
        "Handler": ("index.handler", "index.fail", "gone.handler"),
        "Runtime": ("python3.12",),
        "Payload": (b"{}", b'{"Records":[]}', b"nonsense"),
        "InvocationType": ("Event", "RequestResponse", "DryRun"),
        "Qualifier": ("$LATEST", "1"),
        "Label": ("l",),
        "Id": ("1", "2"),
        "StatementId": ("s",),
        "Name": ("nightly", "once", "fresh", "default", "/app/url", "db"),
        "Names": (["/app/url", "/app/key"], ["/app/url:1", "/gone"]),
        "Path": ("/app", "/"),
        "stateMachineArn": (MACHINE, f"{MACHINE}:1", f"{MACHINE}:live", f"{MACHINE}gone"),
        "stateMachineVersionArn": (f"{MACHINE}:1", f"{MACHINE}:9"),
        "stateMachineAliasArn": (f"{MACHINE}:live",),
        "executionArn": (EXECUTION, f"{EXECUTION[:-1]}failed", f"{EXECUTION}gone"),
        "activityArn": (ACTIVITY, f"{ACTIVITY}gone"),
        "roleArn": (ROLE,),
        "definition": (WAITS, "{}", '{"StartAt":"P","States":{"P":{"Type":"Pass","End":true}}}'),
        "input": ("{}", '{"s":1}', "[1,2]", "nonsense"),
        "output": ("{}", '"done"', "nonsense"),
        "SecretId": ("db", f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:db", "fresh"),
        "SecretString": ("{}", "secret"),
        "VersionStage": ("AWSCURRENT", "AWSPREVIOUS", "mine"),
        "KeyId": ("alias/app", "alias/aws/ssm", "alias/fresh", f"arn:aws:kms:us-east-1:{ACCOUNT}:alias/app"),
        "TargetKeyId": ("alias/app",),
        "AliasName": ("alias/app", "alias/fresh"),
        "EncryptionContext": ({}, {"a": "b"}),
        "repositoryName": ("app", "fresh"),
        "repositoryNames": (["app"],),
        "GroupName": ("default", "jobs", "fresh"),
        "ScheduleExpression": (
            "rate(1 minute)",
            "rate(365 days)",
            "cron(0 0 29 2 ? *)",
            "cron(* * L * ? 2199)",
            "at(2025-01-01T00:00:30)",
            "cron(0/1 * ? * 2#5 *)",
        ),
        "ScheduleExpressionTimezone": ("UTC", "Europe/Paris", "America/Sao_Paulo", "Nowhere/Nowhere"),
        "FlexibleTimeWindow": ({"Mode": "OFF"}, {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 5}),
        "Target": (
            {"Arn": QUEUE, "RoleArn": ROLE, "Input": "<aws.scheduler.execution-id>"},
            {"Arn": FUNCTION, "RoleArn": ROLE, "RetryPolicy": {"MaximumRetryAttempts": 0}},
            {"Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage", "RoleArn": ROLE, "Input": '{"QueueUrl":1}'},
        ),
        "StreamName": ("clicks", "fresh"),
        "StreamARN": (STREAM, f"{STREAM}2"),
        "ResourceARN": (STREAM,),
        "ConsumerName": ("app", "fresh"),
        "ShardId": ("shardId-000000000000", "shardId-000000000002"),
        "PartitionKey": ("k", "é"),
        "ExplicitHashKey": ("0", str((1 << 128) - 1), str(1 << 128)),
        "TableName": ("orders", "plain", "fresh"),
        "Key": (*keys, "a b/c", "large", "nothing", "x/../y"),
        "Item": keys,
        "KeyConditionExpression": ("id = :a", "id = :a AND #b > :b", "id = :a AND begins_with(#b, :b)"),
        "FilterExpression": ("attribute_exists(c)", "#b > :b OR contains(c, :a)", "NOT (size(c) < :b)"),
        "ConditionExpression": ("attribute_not_exists(id)", "c = :a", "c.d[0] <> :b"),
        "UpdateExpression": ("SET c = :a", "ADD n :b", "REMOVE c.d[1] SET e = if_not_exists(e, :b) + :b"),
        "ProjectionExpression": ("id, c.d[0]", "#b"),
        "ExpressionAttributeNames": ({"#b": "at"}, {}),
        "ExpressionAttributeValues": ({":a": {"S": "1"}, ":b": {"N": "1"}}, {":a": {"S": "1"}}),
        "ExclusiveStartKey": keys,
        "KeySchema": ([{"AttributeName": "id", "KeyType": "HASH"}],),
        "AttributeDefinitions": ([{"AttributeName": "id", "AttributeType": "S"}],),
        "BillingMode": ("PAY_PER_REQUEST",),
        "RequestItems": ({"orders": [{"PutRequest": {"Item": keys[0]}}]}, {"orders": {"Keys": [keys[0], keys[1]]}}),
        "logGroupName": (GROUP, "/fresh"),
        "logStreamName": ("one", "fresh"),
        "logGroupIdentifier": (GROUP,),
        "logGroupNamePrefix": ("/",),
        "filterPattern": ("ERROR", "{ $.a = 1 }", "-x %a.*% ?b", "{ $.a[0].b = x* || $.c IS NULL }"),
        "logEvents": ([{"timestamp": 1_735_689_600_000, "message": '{"a":1}'}],),
        "StackName": ("shop", "fresh"),
        "TemplateBody": (TEMPLATE, TEMPLATE.replace("made", "another"), "{}", "a: [b"),
        "ChangeSetName": ("change", "fresh"),
        "Capabilities": (["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],),
        "LogicalResourceId": ("Queue",),
        "ExportName": ("shop-url",),
        "ParameterKey": ("Name",),
        "ParameterValue": ("made",),
        "Namespace": ("Shop", "AWS/SQS"),
        "MetricName": ("Orders",),
        "Period": (60, 1),
        "StartTime": (Moment(1_735_689_000),),
        "EndTime": (Moment(1_735_700_000),),
        "Resource": (FUNCTION,),
        "Expression": ("SUM(METRICS())", "m1 + RATE(m2) / 0", "-(1", "m1^m1^m1"),
        "ResourceArn": (
            QUEUE,
            FUNCTION,
            f"arn:aws:scheduler:us-east-1:{ACCOUNT}:schedule-group/jobs",
            f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/orders",
            f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:{GROUP}",
        ),
        "StreamArn": (f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/orders/stream/2025-01-01T00:00:00.000",),
        "RoleSessionName": ("session",),
        "Tags": ([{"Key": "a", "Value": "b"}], {"a": "b"}),
        "TagKeys": (["a"],),
        "Limit": (1, 10),
        "MaxResults": (1, 10),
        "NextToken": ("", "a", "eyJhIjoxfQ=="),
        "MaxNumberOfMessages": (1, 10),
        "Marker": ("", "a", "eyJhIjoxfQ=="),
        "WaitTimeSeconds": (0, 20),
    }


def _queues(world: World) -> None:
    sqs = world.client("sqs")
    sqs.create_queue(QueueName="dead")
    redrive = json.dumps({"deadLetterTargetArn": DLQ, "maxReceiveCount": 2})
    url = sqs.create_queue(QueueName="orders", Attributes={"RedrivePolicy": redrive}, tags={"a": "b"})["QueueUrl"]
    fifo = sqs.create_queue(QueueName="orders.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    for number in range(4):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
        sqs.send_message(QueueUrl=fifo, MessageBody=str(number), MessageGroupId="a", MessageDeduplicationId=str(number))


def _roles(world: World) -> None:
    iam = world.client("iam")
    for name in ("worker", "other"):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))
        iam.put_role_policy(RoleName=name, PolicyName="inline", PolicyDocument=json.dumps(ALLOW_ALL))
    iam.create_policy(PolicyName="all", PolicyDocument=json.dumps(ALLOW_ALL))


def _functions(world: World) -> None:
    functions = world.client("lambda")
    for name, handler in (("echo", "index.handler"), ("broken", "index.fail")):
        functions.create_function(
            FunctionName=name, Runtime="python3.12", Role=ROLE, Handler=handler, Code={"ZipFile": archive()}
        )
    functions.create_event_source_mapping(EventSourceArn=DLQ, FunctionName="echo")
    functions.add_permission(
        FunctionName="echo", StatementId="rotation", Action="lambda:InvokeFunction",
        Principal="secretsmanager.amazonaws.com",
    )  # fmt: skip


def _schedules(world: World) -> None:
    scheduler = world.client("scheduler")
    scheduler.create_schedule_group(Name="jobs")
    for name, expression in (("nightly", "cron(0 0 * * ? *)"), ("once", "at(2025-01-01T00:01:00)")):
        scheduler.create_schedule(
            Name=name, ScheduleExpression=expression, FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": QUEUE, "RoleArn": ROLE},
        )  # fmt: skip


def _table(world: World) -> None:
    dynamodb = world.client("dynamodb")
    keys = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
    types = [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "at", "AttributeType": "N"}]
    for name, count in (("plain", 1), ("orders", 2)):
        dynamodb.create_table(
            TableName=name, KeySchema=keys[:count], AttributeDefinitions=types[:count], BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )  # fmt: skip
    for number in range(3):
        item = {"id": {"S": "1"}, "at": {"N": str(number)}, "c": {"M": {"d": {"L": [{"N": "1"}, {"S": "x"}]}}}}
        dynamodb.put_item(TableName="orders", Item=item)


def _logs(world: World) -> None:
    logs = world.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="one")
    events = [{"timestamp": world.now, "message": text} for text in ('{"a":1}', "ERROR b", "x")]
    logs.put_log_events(logGroupName=GROUP, logStreamName="one", logEvents=events)
