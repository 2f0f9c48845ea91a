"""Each resource type makes, changes and unmakes its resource through the service it belongs to."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import pytest

from redrive.services.cloudformation.types import TYPES
from redrive.services.cloudformation.types.inline_code import zip_inline
from redrive.services.cloudformation.types.schema import TAGS, Kind, PropertyError, scalar
from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks, queue, trust_for

RUN = '{"run": "<aws.scheduler.execution-id>"}'

IAM: dict[str, Any] = {"Capabilities": ["CAPABILITY_NAMED_IAM"]}


def document(action: str, resource: Any = "*") -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": resource}]}


def role(service: str, **properties: Any) -> dict[str, Any]:
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    return {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust, **properties}}


def of(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def get(logical_id: str, attribute: str = "Arn") -> dict[str, Any]:
    return {"Fn::GetAtt": [logical_id, attribute]}


def pipeline() -> dict[str, Any]:
    """A schedule that sends to a queue, and a function that takes from it and keeps what it took in a table."""
    send = document("sqs:SendMessage", get("Inbox"))
    take = document("sqs:*", get("Inbox"))
    keep = document("dynamodb:PutItem", get("Seen"))
    return {
        "Spilled": queue(),
        "Inbox": queue(RedrivePolicy={"deadLetterTargetArn": get("Spilled"), "maxReceiveCount": "2"}),
        "SenderRole": role("scheduler", Policies=[{"PolicyName": "send", "PolicyDocument": send}]),
        "Tick": of(
            "AWS::Scheduler::Schedule", ScheduleExpression="rate(1 hour)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": get("Inbox"), "RoleArn": get("SenderRole"), "Input": RUN},
        ),
        "Seen": of(
            "AWS::DynamoDB::Table", BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "run", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "run", "AttributeType": "S"}],
            TimeToLiveSpecification={"AttributeName": "expires", "Enabled": "true"},
        ),
        "WorkerRole": role(
            "lambda", ManagedPolicyArns=["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"],
            Policies=[{"PolicyName": "take", "PolicyDocument": take}, {"PolicyName": "keep", "PolicyDocument": keep}],
        ),
        "Worker": of(
            "AWS::Lambda::Function", Runtime="python3.9", Handler="index.handler", Role=get("WorkerRole"),
            Environment={"Variables": {"TABLE": {"Ref": "Seen"}}},
            Code={"ZipFile": "def handler(event, context):\n    return None\n"},
        ),
        "Feed": of(
            "AWS::Lambda::EventSourceMapping", EventSourceArn=get("Inbox"), FunctionName={"Ref": "Worker"},
            BatchSize="1",
        ),
    }  # fmt: skip


def test_pipeline_of_all_services_is_deployed_and_deleted(stacks: Stacks, world: World) -> None:
    stack_id = stacks.create("pipe", pipeline(), outputs={"Table": {"Value": {"Ref": "Seen"}}}, **IAM)

    assert stacks.status("pipe") == "CREATE_COMPLETE"
    name = stacks.physical_id("pipe", "Worker")
    function = world.client("lambda").get_function_configuration(FunctionName=name)
    assert function["Environment"]["Variables"] == {"TABLE": stacks.outputs("pipe")["Table"]}
    ttl = world.client("dynamodb").describe_time_to_live(TableName=stacks.outputs("pipe")["Table"])
    assert ttl["TimeToLiveDescription"] == {"AttributeName": "expires", "TimeToLiveStatus": "ENABLED"}
    mapping = world.client("lambda").get_event_source_mapping(UUID=stacks.physical_id("pipe", "Feed"))
    assert mapping["BatchSize"] == 1

    world.advance(hours=1)
    url = stacks.physical_id("pipe", "Inbox")
    counted = world.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert counted["ApproximateNumberOfMessages"] == "0"
    logs = world.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{name}")["events"]
    assert any(event["message"].startswith("END") for event in logs)

    stacks.delete("pipe")
    assert stacks.status(stack_id) == "DELETE_COMPLETE"
    assert world.client("lambda").list_functions()["Functions"] == []
    assert world.client("iam").list_roles()["Roles"] == []


def test_function_is_changed_in_code_and_configuration(stacks: Stacks, world: World) -> None:
    def resources(code: str, **settings: Any) -> dict[str, Any]:
        function = of(
            "AWS::Lambda::Function", FunctionName="work", Runtime="python3.12", Handler="index.handler",
            Role=get("Role"), Code={"ZipFile": code}, **settings,
        )  # fmt: skip
        return {"Role": role("lambda"), "Work": function}

    client = world.client("lambda")
    stacks.create("fn", resources("a = 1", Timeout=9, ReservedConcurrentExecutions=2), **IAM)
    before = client.get_function_configuration(FunctionName="work")

    stacks.update("fn", resources("a = 2", Description="new", Tags=[{"Key": "a", "Value": "b"}]), **IAM)

    assert stacks.status("fn") == "UPDATE_COMPLETE"
    after = client.get_function(FunctionName="work")
    assert after["Configuration"]["CodeSha256"] != before["CodeSha256"]
    assert (before["Timeout"], after["Configuration"]["Timeout"]) == (9, 3)
    assert (after["Configuration"]["Description"], after["Tags"]) == ("new", {"a": "b"})
    assert "Concurrency" not in after


def test_function_has_permissions_and_settings_for_its_events(stacks: Stacks, world: World) -> None:
    def resources(retries: int) -> dict[str, Any]:
        return {
            "Role": role("lambda"),
            "Work": of(
                "AWS::Lambda::Function", FunctionName="work", Runtime="python3.12", Handler="index.handler",
                Role=get("Role"), Code={"ZipFile": "a = 1"},
            ),
            "Allow": of(
                "AWS::Lambda::Permission", FunctionName={"Ref": "Work"}, Action="lambda:InvokeFunction",
                Principal="events.amazonaws.com",
            ),
            "Events": of(
                "AWS::Lambda::EventInvokeConfig", FunctionName={"Ref": "Work"}, Qualifier="$LATEST",
                MaximumRetryAttempts=retries,
            ),
        }  # fmt: skip

    stacks.create("fn", resources(0), **IAM)

    stacks.update("fn", resources(1), **IAM)

    client = world.client("lambda")
    statement = json.loads(client.get_policy(FunctionName="work")["Policy"])["Statement"][0]
    assert statement["Sid"] == stacks.physical_id("fn", "Allow")
    assert client.get_function_event_invoke_config(FunctionName="work")["MaximumRetryAttempts"] == 1
    assert stacks.physical_id("fn", "Events") == "work|$LATEST"


def test_layer_and_its_permission_come_and_go_with_the_stack(stacks: Stacks, world: World) -> None:
    archive = base64.b64encode(zip_inline("a = 1", "python3.12")).decode()
    client = world.client("lambda")

    stack_id = stacks.create(
        "layers",
        {
            "Role": role("lambda"),
            "Deps": of("AWS::Lambda::LayerVersion", LayerName="deps", Content={"ZipFile": archive}),
            "Share": of(
                "AWS::Lambda::LayerVersionPermission", LayerVersionArn={"Ref": "Deps"}, Principal="*",
                Action="lambda:GetLayerVersion",
            ),
            "Work": of(
                "AWS::Lambda::Function", FunctionName="work", Runtime="python3.12", Handler="index.handler",
                Role=get("Role"), Code={"ZipFile": "a = 1"}, Layers=[{"Ref": "Deps"}],
                LoggingConfig={"LogFormat": "JSON", "ApplicationLogLevel": "WARN"},
            ),
        },
        **IAM,
    )  # fmt: skip
    found = client.get_function_configuration(FunctionName="work")
    policy = json.loads(client.get_layer_version_policy(LayerName="deps", VersionNumber=1)["Policy"])
    stacks.delete("layers")

    assert [layer["Arn"].rpartition(":layer:")[2] for layer in found["Layers"]] == ["deps:1"]
    assert found["LoggingConfig"]["ApplicationLogLevel"] == "WARN"
    assert policy["Statement"][0]["Principal"] == "*"
    assert stacks.status(stack_id) == "DELETE_COMPLETE"
    assert client.list_layers()["Layers"] == []


def test_role_and_its_policies_follow_the_template(stacks: Stacks, world: World) -> None:
    def resources(**properties: Any) -> dict[str, Any]:
        return {"Role": role("lambda", RoleName="worker", **properties)}

    client = world.client("iam")
    basic = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
    stacks.create("r", resources(Policies=[{"PolicyName": "a", "PolicyDocument": document("sqs:*")}]), **IAM)

    stacks.update(
        "r", resources(
            ManagedPolicyArns=[basic], Description="works", Tags=[{"Key": "k", "Value": "v"}],
            Policies=[{"PolicyName": "b", "PolicyDocument": json.dumps(document("sqs:*"))}],
        ), **IAM,
    )  # fmt: skip

    assert stacks.status("r") == "UPDATE_COMPLETE"
    assert client.list_role_policies(RoleName="worker")["PolicyNames"] == ["b"]
    attached = client.list_attached_role_policies(RoleName="worker")["AttachedPolicies"]
    assert [one["PolicyArn"] for one in attached] == [basic]
    found = client.get_role(RoleName="worker")["Role"]
    assert (found["Description"], found["Tags"]) == ("works", [{"Key": "k", "Value": "v"}])


def test_policies_are_resources_of_their_own(stacks: Stacks, world: World) -> None:
    def resources(action: str) -> dict[str, Any]:
        return {
            "Role": role("lambda", RoleName="worker"),
            "Inline": of("AWS::IAM::Policy", PolicyName="in", PolicyDocument=document(action), Roles=[{"Ref": "Role"}]),
            "Managed": of("AWS::IAM::ManagedPolicy", PolicyDocument=document(action), Roles=[{"Ref": "Role"}]),
        }

    client = world.client("iam")
    stack_id = stacks.create("p", resources("sqs:SendMessage"), **IAM)
    arn = stacks.physical_id("p", "Managed")

    for number in range(6):
        stacks.update("p", resources(f"sqs:Action{number}"), **IAM)

    assert stacks.status("p") == "UPDATE_COMPLETE"
    assert len(client.list_policy_versions(PolicyArn=arn)["Versions"]) == 5
    inline = client.get_role_policy(RoleName="worker", PolicyName="in")["PolicyDocument"]
    assert inline["Statement"][0]["Action"] == "sqs:Action5"
    stacks.delete("p")
    assert stacks.status(stack_id) == "DELETE_COMPLETE"


def test_user_and_access_key_are_changed_in_place(stacks: Stacks, world: World) -> None:
    def resources(action: str, status: str, **properties: Any) -> dict[str, Any]:
        policies = [{"PolicyName": "own", "PolicyDocument": document(action)}]
        return {
            "User": of("AWS::IAM::User", UserName="ann", Policies=policies, **properties),
            "Key": of("AWS::IAM::AccessKey", UserName={"Ref": "User"}, Status=status),
            "Queue": of("AWS::SQS::Queue", QueueName={"Fn::Select": [0, [{"Ref": "Key"}]]}),
        }

    client = world.client("iam")
    stack_id = stacks.create("u", resources("sqs:SendMessage", "Inactive"), **IAM)
    key_id = stacks.physical_id("u", "Key")
    before = client.list_access_keys(UserName="ann")["AccessKeyMetadata"]

    stacks.update("u", resources("sqs:ListQueues", "Active", Path="/ops/", Tags=[{"Key": "k", "Value": "v"}]), **IAM)

    assert [(key["AccessKeyId"], key["Status"]) for key in before] == [(key_id, "Inactive")]
    assert client.list_access_keys(UserName="ann")["AccessKeyMetadata"][0]["Status"] == "Active"
    user = client.get_user(UserName="ann")["User"]
    assert (user["Path"], user["Tags"]) == ("/ops/", [{"Key": "k", "Value": "v"}])
    world.client("sqs", aws_access_key_id=key_id).list_queues()
    stacks.delete("u")
    assert stacks.status(stack_id) == "DELETE_COMPLETE"


def test_table_is_changed_in_place(stacks: Stacks, world: World) -> None:
    def table(**properties: Any) -> dict[str, Any]:
        return {
            "T": of(
                "AWS::DynamoDB::Table", TableName="things", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}], **properties,
            )
        }  # fmt: skip

    stacks.create(
        "t", table(BillingMode="PAY_PER_REQUEST", TimeToLiveSpecification={"AttributeName": "x", "Enabled": True})
    )
    world.advance(hours=2)

    stacks.update("t", table(BillingMode="PAY_PER_REQUEST", DeletionProtectionEnabled=True))

    client = world.client("dynamodb")
    assert stacks.status("t") == "UPDATE_COMPLETE"
    assert client.describe_table(TableName="things")["Table"]["DeletionProtectionEnabled"] is True
    assert client.describe_time_to_live(TableName="things")["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED"


def test_indexes_of_a_table_are_made_added_and_deleted(stacks: Stacks, world: World) -> None:
    def indexed(*names: str) -> dict[str, Any]:
        indexes = [
            {"IndexName": f"by-{name}", "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "ALL"}}
            for name in names
        ]  # fmt: skip
        keys = [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
        local = {
            "IndexName": "local", "Projection": {"ProjectionType": "KEYS_ONLY"},
            "KeySchema": [keys[0], {"AttributeName": "other", "KeyType": "RANGE"}],
        }  # fmt: skip
        attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "at", "other", *names)]
        return {
            "T": of(
                "AWS::DynamoDB::Table", TableName="things", KeySchema=keys, BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=attributes, GlobalSecondaryIndexes=indexes, LocalSecondaryIndexes=[local],
            )
        }  # fmt: skip

    def names() -> list[str]:
        table = world.client("dynamodb").describe_table(TableName="things")["Table"]
        return [index["IndexName"] for index in table["GlobalSecondaryIndexes"] + table["LocalSecondaryIndexes"]]

    stacks.create("t", indexed("city"))
    made = names()
    stacks.update("t", indexed("city", "day"))
    added = names()
    stacks.update("t", indexed("day"))

    assert stacks.status("t") == "UPDATE_COMPLETE"
    assert (made, added, names()) == (["by-city", "local"], ["by-city", "by-day", "local"], ["by-day", "local"])


def test_global_table_of_one_region_is_a_table(stacks: Stacks, world: World) -> None:
    def table(region: str = "us-east-1", **of_replica: Any) -> dict[str, Any]:
        return {
            "T": of(
                "AWS::DynamoDB::GlobalTable", TableName="things", BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "city")],
                GlobalSecondaryIndexes=[{
                    "IndexName": "by-city", "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                    "WriteOnDemandThroughputSettings": {"MaxWriteRequestUnits": 7},
                }],
                Replicas=[{"Region": region, **of_replica}],
            )
        }  # fmt: skip

    stacks.create("t", table(Tags=[{"Key": "a", "Value": "b"}]))
    made = world.client("dynamodb").describe_table(TableName="things")["Table"]
    stacks.update("t", table(DeletionProtectionEnabled=True))
    changed = world.client("dynamodb").describe_table(TableName="things")["Table"]
    stacks.create("elsewhere", table("eu-west-1"))
    reason = stacks.reason("elsewhere", "T", "CREATE_FAILED")

    (index,) = made["GlobalSecondaryIndexes"]
    assert (index["IndexName"], index["OnDemandThroughput"]) == ("by-city", {"MaxWriteRequestUnits": 7})
    assert (stacks.status("t"), changed["DeletionProtectionEnabled"]) == ("UPDATE_COMPLETE", True)
    assert world.client("dynamodb").list_tags_of_resource(ResourceArn=made["TableArn"])["Tags"] == []
    assert stacks.status("elsewhere") == "ROLLBACK_COMPLETE"
    assert "must contain an entry for the current region" in reason


def test_global_table_has_replicas_in_other_regions(stacks: Stacks, world: World) -> None:
    def table(*others: dict[str, Any]) -> dict[str, Any]:
        return {
            "T": of(
                "AWS::DynamoDB::GlobalTable", TableName="things", BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                StreamSpecification={"StreamViewType": "NEW_AND_OLD_IMAGES"},
                Replicas=[{"Region": "us-east-1"}, *others],
            )
        }  # fmt: skip

    def replicas() -> list[str]:
        found = world.client("dynamodb").describe_table(TableName="things")["Table"].get("Replicas", [])
        return [replica["RegionName"] for replica in found]

    away = world.client("dynamodb", region="eu-west-1")
    stacks.create("t", table({"Region": "eu-west-1", "Tags": [{"Key": "a", "Value": "b"}]}))
    made = replicas()
    world.client("dynamodb").put_item(TableName="things", Item={"id": {"S": "1"}})
    read = away.scan(TableName="things")["Count"]
    described = away.describe_table(TableName="things")["Table"]
    tags = away.list_tags_of_resource(ResourceArn=described["TableArn"])["Tags"]
    stacks.update("t", table({"Region": "eu-west-1", "DeletionProtectionEnabled": True}, {"Region": "ap-south-1"}))
    added, protected = replicas(), away.describe_table(TableName="things")["Table"]["DeletionProtectionEnabled"]
    stacks.update("t", table({"Region": "eu-west-1"}))
    left = replicas()
    stacks.delete("t")

    assert (made, added, left) == (["eu-west-1"], ["eu-west-1", "ap-south-1"], ["eu-west-1"])
    assert (read, protected, tags) == (1, True, [{"Key": "a", "Value": "b"}])
    assert away.list_tables()["TableNames"] == world.client("dynamodb").list_tables()["TableNames"] == []


def test_filters_and_saved_queries_of_logs_are_made_changed_and_deleted(stacks: Stacks, world: World) -> None:
    def resources(pattern: str, fields: list[str]) -> dict[str, Any]:
        made = {
            "MetricName": "Errors", "MetricNamespace": "Shop", "MetricValue": "$.n", "Unit": "Count",
            "Dimensions": [{"Key": "Path", "Value": "$.path"}],
        }  # fmt: skip
        return {
            "Logs": of("AWS::Logs::LogGroup", LogGroupName="/shop", FieldIndexPolicies=[{"Fields": fields}]),
            "Filter": of(
                "AWS::Logs::MetricFilter", LogGroupName={"Ref": "Logs"}, FilterPattern=pattern,
                MetricTransformations=[made],
            ),
            "Saved": of("AWS::Logs::QueryDefinition", Name="errors", QueryString=f"filter {fields[0]} = 1"),
        }  # fmt: skip

    logs = world.client("logs")
    stacks.create("l", resources("{ $.n > 0 }", ["a"]))
    made = logs.describe_metric_filters(logGroupName="/shop")["metricFilters"]
    stacks.update("l", resources("{ $.n > 1 }", ["b"]))
    changed = logs.describe_metric_filters(logGroupName="/shop")["metricFilters"]
    saved = logs.describe_query_definitions()["queryDefinitions"]
    (index,) = logs.describe_index_policies(logGroupIdentifiers=["/shop"])["indexPolicies"]
    stacks.delete("l")

    assert made[0]["metricTransformations"][0]["dimensions"] == {"Path": "$.path"}
    assert [one["filterPattern"] for one in changed] == ["{ $.n > 1 }"]
    assert made[0]["filterName"] == changed[0]["filterName"]
    assert [(one["name"], one["queryString"]) for one in saved] == [("errors", "filter b = 1")]
    assert json.loads(index["policyDocument"]) == {"Fields": ["b"]}
    assert logs.describe_query_definitions()["queryDefinitions"] == []
    assert logs.describe_metric_filters()["metricFilters"] == []


def test_transformers_and_policies_of_accounts_are_made_changed_and_deleted(stacks: Stacks, world: World) -> None:
    def resources(value: str) -> dict[str, Any]:
        entry = {"Key": "team", "Value": value, "OverwriteIfExists": "true"}
        document = json.dumps([{"parseJSON": {}}, {"deleteKeys": {"withKeys": [value]}}])
        return {
            "Logs": of("AWS::Logs::LogGroup", LogGroupName="/shop"),
            "Transformer": of(
                "AWS::Logs::Transformer", LogGroupIdentifier={"Ref": "Logs"},
                TransformerConfig=[{"ParseJSON": {}}, {"AddKeys": {"Entries": [entry]}}],
            ),
            "Policy": of(
                "AWS::Logs::AccountPolicy", PolicyName="p", PolicyType="TRANSFORMER_POLICY", PolicyDocument=document,
                SelectionCriteria='LogGroupNamePrefix IN ["/other"]',
            ),
        }  # fmt: skip

    logs = world.client("logs")
    stacks.create("t", resources("a"))
    stacks.update("t", resources("b"))
    config = logs.get_transformer(logGroupIdentifier="/shop")["transformerConfig"]
    (policy,) = logs.describe_account_policies(policyType="TRANSFORMER_POLICY")["accountPolicies"]
    stacks.delete("t")

    added = {"entries": [{"key": "team", "value": "b", "overwriteIfExists": True}]}
    assert config == [{"parseJSON": {}}, {"addKeys": added}]
    assert json.loads(policy["policyDocument"])[1] == {"deleteKeys": {"withKeys": ["b"]}}
    assert logs.describe_account_policies(policyType="TRANSFORMER_POLICY")["accountPolicies"] == []


def test_mute_rules_of_alarms_are_made_changed_and_deleted(stacks: Stacks, world: World) -> None:
    def resources(duration: str) -> dict[str, Any]:
        return {
            "Alarm": of(
                "AWS::CloudWatch::Alarm", Namespace="Shop", MetricName="m", Statistic="Sum", Period=60, Threshold=1,
                EvaluationPeriods=1, ComparisonOperator="GreaterThanThreshold",
            ),
            "Quiet": of(
                "AWS::CloudWatch::AlarmMuteRule", Name="nights", MuteTargets={"AlarmNames": [{"Ref": "Alarm"}]},
                Rule={"Schedule": {"Expression": "cron(0 22 * * *)", "Duration": duration}},
                ExpireDate="2040-01-01T00:00",
            ),
        }  # fmt: skip

    cloudwatch = world.client("cloudwatch")
    stacks.create("m", resources("PT8H"))
    stacks.update("m", resources("PT9H"))
    rule = cloudwatch.get_alarm_mute_rule(AlarmMuteRuleName="nights")
    stacks.delete("m")

    assert rule["Rule"]["Schedule"] == {"Expression": "cron(0 22 * * *)", "Duration": "PT9H"}
    assert rule["ExpireDate"].year == 2040
    assert len(rule["MuteTargets"]["AlarmNames"]) == 1
    assert cloudwatch.list_alarm_mute_rules()["AlarmMuteRuleSummaries"] == []


def test_log_groups_streams_and_queue_policies_are_made(stacks: Stacks, world: World) -> None:
    def resources(days: int) -> dict[str, Any]:
        return {
            "Logs": of("AWS::Logs::LogGroup", LogGroupName="/shop", RetentionInDays=days),
            "Stream": of("AWS::Logs::LogStream", LogGroupName={"Ref": "Logs"}, LogStreamName="main"),
            "Q": queue(),
            "Allow": of(
                "AWS::SQS::QueuePolicy",
                Queues=[{"Ref": "Q"}],
                PolicyDocument={
                    "Version": "2012-10-17",
                    "Statement": {"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": "*"},
                },
            ),
        }

    stacks.create("l", resources(7))
    stacks.update("l", resources(14))

    group = world.client("logs").describe_log_groups(logGroupNamePrefix="/shop")["logGroups"][0]
    assert group["retentionInDays"] == 14
    streams = world.client("logs").describe_log_streams(logGroupName="/shop")["logStreams"]
    assert [one["logStreamName"] for one in streams] == ["main"]
    url = stacks.physical_id("l", "Q")
    found = world.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    assert json.loads(found["Policy"])["Version"] == "2012-10-17"


def test_generated_name_of_a_fifo_queue_ends_in_fifo(stacks: Stacks, world: World) -> None:
    """Also where stack and logical id leave no room for it."""
    stacks.create("s" * 60, {"Q" * 40: queue(FifoQueue=True, ContentBasedDeduplication=True)})

    url = stacks.physical_id("s" * 60, "Q" * 40)
    found = world.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    name = url.rpartition("/")[2]
    assert stacks.status("s" * 60) == "CREATE_COMPLETE"
    assert name.endswith(".fifo")
    assert len(name) == 80
    assert (found["FifoQueue"], found["ContentBasedDeduplication"]) == ("true", "true")


def test_queue_that_a_template_says_is_not_fifo_is_a_standard_queue(stacks: Stacks, world: World) -> None:
    """CreateQueue knows no `FifoQueue` of `false`."""
    stacks.create("s", {"Q": queue(FifoQueue="false", DelaySeconds=5)})

    url = stacks.physical_id("s", "Q")
    found = world.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert stacks.status("s") == "CREATE_COMPLETE"
    assert "FifoQueue" not in found
    assert found["DelaySeconds"] == "5"


def test_schedule_is_updated_as_a_whole(stacks: Stacks, world: World) -> None:
    resources = pipeline()
    kept = {name: resources[name] for name in ("Spilled", "Inbox", "SenderRole", "Tick")}
    stacks.create("s", kept, **IAM)
    name = stacks.physical_id("s", "Tick")

    kept["Tick"]["Properties"] |= {"State": "DISABLED", "EndDate": "2026-01-01T00:00:00.000Z"}
    stacks.update("s", kept, **IAM)

    schedule = world.client("scheduler").get_schedule(Name=name)
    assert (schedule["State"], schedule["EndDate"].year) == ("DISABLED", 2026)


@pytest.mark.parametrize("date", ["2026-01-01T00:00:00Z", "2026-01-01", "2026-13-01T00:00:00.000Z"])
def test_date_of_a_schedule_without_milliseconds_is_refused(stacks: Stacks, date: str) -> None:
    """Recorded in us-east-1 on 2026-09-07 by https://github.com/badmintoncryer/cdk-preflight."""
    resources = pipeline()
    kept = {name: resources[name] for name in ("Spilled", "Inbox", "SenderRole", "Tick")}
    kept["Tick"]["Properties"]["EndDate"] = date

    stacks.create("s", kept, **IAM)

    reason = "Invalid request provided: EndDate needs to follow the format yyyy-MM-ddTHH:mm:ss.SSSZ"
    failed = [why for name, status, why in stacks.events("s") if (name, status) == ("Tick", "CREATE_FAILED")]
    assert [reason in why for why in failed] == [True]


def test_archive_of_inline_code_is_the_same_for_the_same_text() -> None:
    archive = zip_inline("a = 1", "python3.12")

    assert archive == zip_inline("a = 1", "python3.12")
    with zipfile.ZipFile(io.BytesIO(archive)) as entries:
        assert entries.read("index.py") == b"a = 1"
    assert zipfile.ZipFile(io.BytesIO(zip_inline("", "nodejs22.x"))).namelist() == ["index.js"]


def test_inline_code_is_for_runtimes_of_scripts_only() -> None:
    with pytest.raises(PropertyError):
        zip_inline("a", "java21")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Kind.NUMBER, "1e999", None),
        (Kind.NUMBER, "1.5", 1.5),
        (Kind.INTEGER, "7.0", 7),
        (Kind.INTEGER, True, None),
        (Kind.BOOLEAN, "TRUE", True),
        (Kind.BOOLEAN, "yes", None),
        (Kind.TEXT, False, "false"),
        (Kind.TEXT, 8, "8"),
        (Kind.TEXT, [], None),
    ],
)
def test_scalar_is_converted_to_the_kind_that_is_wanted(kind: Kind, value: Any, expected: object) -> None:
    if expected is None:
        with pytest.raises(PropertyError):
            scalar("", "#/X", kind, value)
    else:
        assert scalar("", "#/X", kind, value) == expected


def test_feature_that_does_not_exist_here_is_refused_by_name(stacks: Stacks) -> None:
    stacks.create("l", {"Logs": of("AWS::Logs::LogGroup", DataProtectionPolicy={"Version": "1"})})

    assert stacks.reason("l", "Logs", "CREATE_FAILED") == (
        "redrive does not serve the property DataProtectionPolicy, which AWS has. Take it out, or have it left out: "
        "redrive deploy --on-unknown warn, or the tag redrive:on-unknown=warn of the stack."
    )


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_type_knows_the_property_it_is_named_by(name: str) -> None:
    named = TYPES[name].name_property

    assert named is None or TYPES[name].properties[named].replaces
    assert TYPES[name].has_tags == (TYPES[name].properties.get("Tags") == TAGS)


def test_role_with_an_unknown_policy_of_aws_is_made_with_a_warning(stacks: Stacks) -> None:
    arn = "arn:aws:iam::aws:policy/AmazonMarsRoverFullAccess"
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    properties = {"AssumeRolePolicyDocument": trust, "ManagedPolicyArns": [arn]}

    stacks.create("shop", {"R": {"Type": "AWS::IAM::Role", "Properties": properties}}, Capabilities=["CAPABILITY_IAM"])

    reasons = [reason for logical_id, status, reason in stacks.events("shop") if logical_id == "R"]
    assert stacks.status("shop") == "CREATE_COMPLETE"
    assert (
        "redrive has no document of the AWS managed policy AmazonMarsRoverFullAccess: it allows nothing here."
        in reasons
    )
    policy = stacks.world.client("iam").get_policy(PolicyArn=arn)["Policy"]
    assert (policy["PolicyName"], policy["AttachmentCount"]) == ("AmazonMarsRoverFullAccess", 1)


def test_group_its_users_and_an_instance_profile_are_made_changed_and_deleted(stacks: Stacks, world: World) -> None:
    iam = world.client("iam")
    for user in ("bob", "eve"):
        iam.create_user(UserName=user)
    allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}
    resources: dict[str, Any] = {
        "Admins": {"Type": "AWS::IAM::Group", "Properties": {"Policies": [
            {"PolicyName": "p", "PolicyDocument": allow}]}},
        "Ann": {"Type": "AWS::IAM::User", "Properties": {"UserName": "ann", "Groups": [{"Ref": "Admins"}]}},
        "More": {"Type": "AWS::IAM::UserToGroupAddition",
                 "Properties": {"GroupName": {"Ref": "Admins"}, "Users": ["bob"]}},
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust_for("ec2.amazonaws.com")}},
        "Web": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
    }  # fmt: skip
    outputs = {"Group": {"Value": {"Fn::GetAtt": ["Admins", "Arn"]}}, "Web": {"Value": {"Fn::GetAtt": ["Web", "Arn"]}}}
    capabilities = ["CAPABILITY_NAMED_IAM"]
    stacks.create("shop", resources, outputs=outputs, Capabilities=capabilities)
    group, web = stacks.physical_id("shop", "Admins"), stacks.physical_id("shop", "Web")
    users = [user["UserName"] for user in iam.get_group(GroupName=group)["Users"]]
    profile = iam.get_instance_profile(InstanceProfileName=web)["InstanceProfile"]
    resources["More"]["Properties"]["Users"] = ["eve"]
    resources["Ann"]["Properties"]["Groups"] = []
    stacks.update("shop", resources, outputs=outputs, Capabilities=capabilities)
    changed = [user["UserName"] for user in iam.get_group(GroupName=group)["Users"]]
    stacks.delete("shop")

    assert (users, changed) == (["ann", "bob"], ["eve"])
    assert profile["Roles"][0]["RoleName"].startswith("shop-Role-")
    assert profile["Arn"].endswith(f":instance-profile/{web}")
    assert (iam.list_groups()["Groups"], iam.list_instance_profiles()["InstanceProfiles"]) == ([], [])
    assert [user["UserName"] for user in iam.list_users()["Users"]] == ["bob", "eve"]
