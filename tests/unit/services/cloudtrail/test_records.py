"""API calls on the default bus: who called what, with what answer, and which rules get it.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-event-cloudtrail.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

ACCOUNT = "000000000000"
CALLS = {"detail-type": ["AWS API Call via CloudTrail"]}
ALL = "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS"


class Audit:
    """A world with a trail that logs, and a queue for the records that a rule wants."""

    def __init__(self, **trail: Any) -> None:
        self.world = World(seed=1)
        self.trails = self.world.client("cloudtrail")
        self.trails.create_trail(Name="audit", S3BucketName="logs", **trail)
        self.trails.start_logging(Name="audit")
        anybody = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [anybody]})
        self.world.call("sqs", "CreateQueue", QueueName="records", Attributes={"Policy": policy})

    def rule(self, *names: str, region: str = "us-east-1", **more: Any) -> None:
        """Make a rule for the calls with these names."""
        events = self.world.client("events", region=region)
        pattern = {**CALLS, "detail": {"eventName": list(names)}}
        events.put_rule(Name="r", EventPattern=json.dumps(pattern), **more)
        events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:records"}])

    def records(self) -> list[dict[str, Any]]:
        """The events that the rule has sent so far."""
        self.world.settle()
        queue = self.world.call("sqs", "GetQueueUrl", QueueName="records")["QueueUrl"]
        found: list[dict[str, Any]] = []
        while more := self.world.call("sqs", "ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
            found += [json.loads(one["Body"]) for one in more]
        return found

    def keys(self, user_name: str, *actions: str) -> dict[str, str]:
        """The keys of a new user who may do these actions."""
        iam = self.world.client("iam")
        iam.create_user(UserName=user_name)
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_user_policy(UserName=user_name, PolicyName="allowed", PolicyDocument=document)
        key = iam.create_access_key(UserName=user_name)["AccessKey"]
        return {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}


@pytest.fixture
def audit() -> Iterator[Audit]:
    audit = Audit()
    yield audit
    audit.world.close()


def test_call_that_writes_is_an_event_of_its_service(audit: Audit) -> None:
    audit.rule("CreateQueue")

    answer = audit.world.client("sqs").create_queue(QueueName="jobs", Attributes={"DelaySeconds": "3"})

    (event,) = audit.records()
    detail = event["detail"]
    agent = detail.pop("userAgent")
    event_id = detail.pop("eventID")
    assert (event["source"], event["resources"], event["region"]) == ("aws.sqs", [], "us-east-1")
    assert ("Boto3/" in agent, len(event_id)) == (True, 36)
    assert detail == {
        "eventVersion": "1.11",
        "userIdentity": {
            "type": "Root", "principalId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:root", "accountId": ACCOUNT,
        },
        "eventTime": "2025-01-01T00:00:00Z", "eventSource": "sqs.amazonaws.com", "eventName": "CreateQueue",
        "awsRegion": "us-east-1", "sourceIPAddress": "127.0.0.1",
        "requestParameters": {"queueName": "jobs", "attributes": {"DelaySeconds": "3"}},
        "responseElements": {"queueUrl": answer["QueueUrl"]},
        "requestID": answer["ResponseMetadata"]["RequestId"], "readOnly": False, "eventType": "AwsApiCall",
        "managementEvent": True, "recipientAccountId": ACCOUNT, "eventCategory": "Management",
    }  # fmt: skip


def test_call_that_fails_is_an_event_with_its_error(audit: Audit) -> None:
    audit.rule("DeleteFunction20150331")

    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        audit.world.client("lambda").delete_function(FunctionName="none")

    (event,) = audit.records()
    detail = event["detail"]
    assert (detail["errorCode"], detail["responseElements"]) == ("ResourceNotFoundException", None)
    assert detail["errorMessage"] == f"Function not found: arn:aws:lambda:us-east-1:{ACCOUNT}:function:none"


def test_call_that_fails_writes_nothing_but_its_record(audit: Audit) -> None:
    """PutTargets of many entries writes before some of them fail; SetQueueAttributes fails as a whole."""
    audit.rule("SetQueueAttributes")
    sqs = audit.world.client("sqs")
    queue = sqs.create_queue(QueueName="jobs")["QueueUrl"]

    with pytest.raises(ClientError):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"DelaySeconds": "5", "VisibilityTimeout": "-1"})

    shown = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["DelaySeconds"])["Attributes"]
    assert (len(audit.records()), shown) == (1, {"DelaySeconds": "0"})


def test_forbidden_call_is_an_event_that_names_its_user(audit: Audit) -> None:
    audit.rule("CreateQueue")
    ann = audit.world.client("sqs", **audit.keys("ann", "sqs:ListQueues"))
    user_id = audit.world.client("iam").get_user(UserName="ann")["User"]["UserId"]

    with pytest.raises(ClientError, match="AccessDenied"):
        ann.create_queue(QueueName="jobs")

    (event,) = audit.records()
    assert event["detail"]["errorCode"] == "AccessDeniedException"
    assert event["detail"]["userIdentity"] == {
        "type": "IAMUser", "principalId": user_id, "arn": f"arn:aws:iam::{ACCOUNT}:user/ann", "accountId": ACCOUNT,
        "userName": "ann",
    }  # fmt: skip


def test_session_of_a_role_is_named_with_its_role(audit: Audit) -> None:
    audit.rule("CreateQueue")
    iam = audit.world.client("iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}
    role = iam.create_role(
        RoleName="deployer", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    )["Role"]
    statement = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName="deployer", PolicyName="all", PolicyDocument=policy)
    session = audit.world.client("sts").assume_role(RoleArn=role["Arn"], RoleSessionName="ci")["Credentials"]

    audit.world.client(
        "sqs", aws_access_key_id=session["AccessKeyId"], aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    ).create_queue(QueueName="jobs")  # fmt: skip

    (event,) = audit.records()
    assert event["detail"]["userIdentity"] == {
        "type": "AssumedRole", "principalId": f"{role['RoleId']}:ci",
        "arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/ci", "accountId": ACCOUNT,
        "sessionContext": {"sessionIssuer": {
            "type": "Role", "principalId": role["RoleId"], "arn": role["Arn"], "accountId": ACCOUNT,
            "userName": "deployer",
        }},
    }  # fmt: skip


@pytest.mark.parametrize(("state", "expected"), [("ENABLED", 0), (ALL, 1)])
def test_call_that_reads_reaches_only_rules_that_ask_for_such_calls(audit: Audit, state: str, expected: int) -> None:
    audit.rule("ListSchedules", State=state)

    audit.world.client("scheduler").list_schedules()

    records = audit.records()
    assert len(records) == expected
    assert [(one["detail"]["readOnly"], one["detail"]["responseElements"]) for one in records] == [
        (True, None)
    ] * expected


def test_rule_learns_of_reading_calls_when_its_state_changes(audit: Audit) -> None:
    audit.rule("ListSchedules")
    audit.world.client("scheduler").list_schedules()
    audit.rule("ListSchedules", State=ALL)

    audit.world.client("scheduler").list_schedules()

    assert len(audit.records()) == 1


def test_calls_about_data_are_no_events(audit: Audit) -> None:
    audit.rule("SendMessage", "ReceiveMessage", "PutEvents", "PutMetricData", "GetQueueUrl", State=ALL)
    sqs = audit.world.client("sqs")

    queue = sqs.get_queue_url(QueueName="records")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody="{}")
    sqs.receive_message(QueueUrl=queue, VisibilityTimeout=900)
    entry = {"Source": "shop", "DetailType": "d", "Detail": "{}"}
    audit.world.client("events").put_events(Entries=[entry])

    assert audit.records() == []


def test_without_a_trail_that_logs_calls_are_no_events(audit: Audit) -> None:
    audit.rule("CreateQueue")
    audit.trails.stop_logging(Name="audit")

    audit.world.client("sqs").create_queue(QueueName="jobs")

    assert audit.records() == []


def test_trail_of_one_region_records_no_other(audit: Audit) -> None:
    audit.rule("CreateQueue", region="eu-west-1")
    far = audit.world.client("sqs", region="eu-west-1")

    far.create_queue(QueueName="one")
    audit.trails.update_trail(Name="audit", IsMultiRegionTrail=True)
    far.create_queue(QueueName="two")

    assert [one["detail"]["requestParameters"]["queueName"] for one in audit.records()] == ["two"]


def test_services_without_regions_are_recorded_in_one(audit: Audit) -> None:
    audit.rule("CreateUser")

    audit.world.client("iam", region="eu-west-1").create_user(UserName="ann")

    (event,) = audit.records()
    assert (event["region"], event["detail"]["awsRegion"]) == ("us-east-1", "us-east-1")


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ({"EventSelectors": [{"ReadWriteType": "ReadOnly"}]}, []),
        ({"EventSelectors": [{"ReadWriteType": "WriteOnly"}]}, ["CreateQueue", "CreateUser"]),
        ({"EventSelectors": [{"IncludeManagementEvents": False}]}, []),
        ({"AdvancedEventSelectors": [{"FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Management"]},
            {"Field": "eventSource", "NotEquals": ["iam.amazonaws.com"]}]}]}, ["CreateQueue"]),
        ({"AdvancedEventSelectors": [{"FieldSelectors": [
            {"Field": "eventCategory", "Equals": ["Management"]},
            {"Field": "eventName", "StartsWith": ["Create"], "NotEndsWith": ["Queue"]}]}]}, ["CreateUser"]),
        ({"AdvancedEventSelectors": [{"FieldSelectors": [{"Field": "eventCategory", "Equals": ["Data"]}]}]}, []),
    ],
)  # fmt: skip
def test_trail_records_what_its_selectors_want(audit: Audit, selectors: dict[str, Any], expected: list[str]) -> None:
    audit.rule("CreateQueue", "CreateUser")
    audit.trails.put_event_selectors(TrailName="audit", **selectors)

    audit.world.client("sqs").create_queue(QueueName="jobs")
    audit.world.client("iam").create_user(UserName="ann")

    assert sorted(one["detail"]["eventName"] for one in audit.records()) == expected


def test_secrets_and_bytes_are_in_no_record(audit: Audit) -> None:
    audit.rule("CreateAccessKey", "CreateStack")
    audit.world.client("iam").create_user(UserName="ann")
    secret = audit.world.client("iam").create_access_key(UserName="ann")["AccessKey"]["SecretAccessKey"]
    template: dict[str, Any] = {"Parameters": {"P": {"Type": "String", "NoEcho": True}}, "Resources": {
        "Q": {"Type": "AWS::SQS::Queue"}}}  # fmt: skip

    audit.world.client("cloudformation").create_stack(
        StackName="s", TemplateBody=json.dumps(template), Parameters=[{"ParameterKey": "P", "ParameterValue": "hush"}]
    )

    records = {one["detail"]["eventName"]: one["detail"] for one in audit.records()}
    assert records["CreateAccessKey"]["responseElements"]["accessKey"]["createDate"] == "Jan 1, 2025, 12:00:00 AM"
    assert records["CreateStack"]["requestParameters"] == {"stackName": "s", "parameters": [{"parameterKey": "P"}]}
    assert (secret in json.dumps(records), "hush" in json.dumps(records)) == (False, False)


def test_parameters_that_are_too_large_are_omitted(audit: Audit) -> None:
    audit.rule("CreateSchedule")
    role = f"arn:aws:iam::{ACCOUNT}:role/none"
    target = {"Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:records", "RoleArn": role, "Input": "x" * 110_000}

    with pytest.raises(ClientError):
        audit.world.client("scheduler").create_schedule(
            Name="nightly", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target
        )

    (event,) = audit.records()
    shown = event["detail"]["requestParameters"]
    assert (shown["omitted"], shown["reason"]) == (True, "requestParameters too large")
    assert shown["originalSize"] > 110_000


def test_calls_of_a_stack_name_who_makes_them(audit: Audit) -> None:
    audit.rule("CreateQueue")
    template: dict[str, Any] = {"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "jobs"}}}}

    audit.world.client("cloudformation").create_stack(StackName="s", TemplateBody=json.dumps(template))

    (event,) = audit.records()
    detail = event["detail"]
    assert detail["userIdentity"]["invokedBy"] == "cloudformation.amazonaws.com"
    assert (detail["sourceIPAddress"], detail["userAgent"]) == ("cloudformation.amazonaws.com",) * 2


def test_function_that_a_rule_runs_for_every_call_ends(audit: Audit) -> None:
    """The function writes logs, which are calls as well; the rule does not run the function for ever."""
    runs: list[str] = []

    def note(event: Any, _: object) -> None:
        runs.append(event["detail"]["eventName"])

    audit.world.functions.register("watch", note)
    pattern: dict[str, Any] = {**CALLS, "detail": {"eventName": [{"prefix": "Create"}, {"prefix": "Put"}]}}
    function: dict[str, Any] = {"Type": "AWS::Serverless::Function", "Properties": {
        "FunctionName": "watch", "Handler": "index.handler", "Runtime": "python3.12",
        "InlineCode": "def handler(event, context): pass",
        "Events": {"Calls": {"Type": "EventBridgeRule", "Properties": {"Pattern": pattern}}},
    }}  # fmt: skip
    template: dict[str, Any] = {"Transform": "AWS::Serverless-2016-10-31", "Resources": {"Watch": function}}
    audit.world.client("cloudformation").create_stack(
        StackName="watch", TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
    )
    audit.world.settle()
    runs.clear()

    audit.world.client("sqs").create_queue(QueueName="jobs")
    audit.world.advance(minutes=1)

    assert runs[0] == "CreateQueue"
    assert len(runs) <= 4
