"""What S3 tells: the records byte by byte, who gets them, what happens if a destination refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redrive.core.scope import Caller
from redrive.delivery.faults import Fault, add_fault, clear_faults
from redrive.services.s3.model.happened import Happened
from tests.unit.services.lambda_.functions import archive
from tests.unit.services.s3.notified import HERE, PUT, Uploads, on

MARKER = Happened("ObjectRemoved:DeleteMarkerCreated", "k", version_id="v2", sequencer="0A", reason="DeleteObject")
DELETE = Happened("ObjectRemoved:Delete", "k", version_id="v1", sequencer="0B", reason="DeleteObject")
TAGS = Happened("ObjectTagging:Put", "k", etag="e2")
EXPIRED = Happened("LifecycleExpiration:Delete", "k", sequencer="0C", reason="Lifecycle Expiration")
ALL = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectTagging:*", "s3:LifecycleExpiration:*")


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    made = Uploads()
    yield made
    made.world.close()


def told(uploads: Uploads, *events: Happened) -> list[Any]:
    """The records that a queue gets of these events."""
    uploads.configure(QueueConfigurations=[on(uploads.queue(), *ALL)])
    uploads.bodies()
    for happened in events:
        uploads.happen(happened)
        uploads.world.advance(seconds=1)
    return [body["Records"][0] for body in uploads.bodies()]


def on_bus(uploads: Uploads, caller: Caller | None, *events: Happened) -> list[Any]:
    """What a rule for all of S3's events gets of these events."""
    bus_queue = uploads.queue("bus", principal={"Service": "events.amazonaws.com"}, condition={"Null": {"x": "true"}})
    uploads.call("PutRule", "events", Name="s3", EventPattern=json.dumps({"source": ["aws.s3"]}))
    uploads.call("PutTargets", "events", Rule="s3", Targets=[{"Id": "1", "Arn": bus_queue}])
    uploads.configure(EventBridgeConfiguration={})
    for happened in events:
        uploads.happen(happened, caller=caller)
        uploads.world.advance(seconds=1)
    return uploads.bodies("bus")


def test_record_of_a_put_is_aws_record_byte_by_byte(uploads: Uploads) -> None:
    uploads.configure(QueueConfigurations=[on(uploads.queue())])
    uploads.bodies()
    caller = replace(uploads.world.caller(), request_id="R1")

    uploads.happen(PUT, caller=caller)

    url = uploads.call("GetQueueUrl", "sqs", QueueName="q")["QueueUrl"]
    (message,) = uploads.call("ReceiveMessage", "sqs", QueueUrl=url)["Messages"]
    owner = json.loads(message["Body"])["Records"][0]["s3"]["bucket"]["ownerIdentity"]["principalId"]
    host_id = json.loads(message["Body"])["Records"][0]["responseElements"]["x-amz-id-2"]
    assert message["Body"] == (
        '{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"us-east-1",'
        '"eventTime":"2025-01-01T00:00:00.123Z","eventName":"ObjectCreated:Put",'
        f'"userIdentity":{{"principalId":"{owner}"}},"requestParameters":{{"sourceIPAddress":"192.0.2.7"}},'
        f'"responseElements":{{"x-amz-request-id":"R1","x-amz-id-2":"{host_id}"}},'
        '"s3":{"s3SchemaVersion":"1.0","configurationId":"all",'
        f'"bucket":{{"name":"uploads","ownerIdentity":{{"principalId":"{owner}"}},"arn":"arn:aws:s3:::uploads"}},'
        '"object":{"key":"in/a.csv","size":5,"eTag":"e1","sequencer":"0000000000000000A1"}}}]}'
    )
    assert (len(owner), len(host_id)) == (14, 64)


def test_each_type_of_event_has_its_own_members(uploads: Uploads) -> None:
    records = told(uploads, replace(PUT, version_id="v0"), MARKER, DELETE, TAGS, EXPIRED)

    assert [(record["eventName"], record["eventVersion"]) for record in records] == [
        ("ObjectCreated:Put", "2.1"), ("ObjectRemoved:DeleteMarkerCreated", "2.1"), ("ObjectRemoved:Delete", "2.1"),
        ("ObjectTagging:Put", "2.3"), ("LifecycleExpiration:Delete", "2.3"),
    ]  # fmt: skip
    assert [list(record["s3"]["object"]) for record in records] == [
        ["key", "size", "eTag", "versionId", "sequencer"],
        ["key", "eTag", "versionId", "sequencer"],
        ["key", "versionId", "sequencer"],
        ["key", "eTag"],
        ["key", "sequencer"],
    ]
    assert records[1]["s3"]["object"]["eTag"] == "d41d8cd98f00b204e9800998ecf8427e"


@pytest.mark.parametrize(
    ("key", "encoded"),
    [("a b+c@d/é.csv", "a+b%2Bc%40d/%C3%A9.csv"), ("plain/key.txt", "plain/key.txt"), ("(1)&=%", "%281%29%26%3D%25")],
)
def test_key_of_a_record_is_encoded_as_in_a_form(key: str, encoded: str, uploads: Uploads) -> None:
    (record,) = told(uploads, replace(PUT, key=key))

    assert record["s3"]["object"]["key"] == encoded


def test_filter_sees_the_key_as_it_is(uploads: Uploads) -> None:
    uploads.configure(QueueConfigurations=[on(uploads.queue(), prefix="in @", suffix=".csv")])
    uploads.bodies()

    uploads.happen(*(replace(PUT, key=key) for key in ("in @a.csv", "in+%40a.csv", "in @a.txt", "x/in @a.csv")))

    assert uploads.keys() == ["in+%40a.csv"]


def test_event_goes_to_the_configuration_that_names_it(uploads: Uploads) -> None:
    uploads.configure(
        QueueConfigurations=[
            on(uploads.queue("made"), "s3:ObjectCreated:*", id="1"),
            on(uploads.queue("gone"), "s3:ObjectRemoved:Delete", id="2"),
        ]
    )
    uploads.bodies("made"), uploads.bodies("gone")

    uploads.happen(PUT, MARKER, DELETE, TAGS)

    assert [body["Records"][0]["eventName"] for body in uploads.bodies("made")] == ["ObjectCreated:Put"]
    assert [body["Records"][0]["eventName"] for body in uploads.bodies("gone")] == ["ObjectRemoved:Delete"]


def test_user_and_session_are_named_by_their_ids(uploads: Uploads) -> None:
    trust = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]})
    role = uploads.call("CreateRole", "iam", RoleName="writer", AssumeRolePolicyDocument=trust)["Role"]
    uploads.configure(QueueConfigurations=[on(uploads.queue())])
    uploads.bodies()

    uploads.happen(PUT, caller=replace(uploads.world.caller(), role_arn=role["Arn"], session_name="nightly"))

    (body,) = uploads.bodies()
    assert body["Records"][0]["userIdentity"] == {"principalId": f"AWS:{role['RoleId']}:nightly"}


def test_topic_gets_the_record_as_its_message_with_s3_subject(uploads: Uploads) -> None:
    uploads.configure(TopicConfigurations=[on(uploads.topic())])
    uploads.bodies("of-t")

    uploads.happen(PUT)
    uploads.world.advance(seconds=1)

    (envelope,) = uploads.bodies("of-t")
    assert envelope["Subject"] == "Amazon S3 Notification"
    assert json.loads(envelope["Message"])["Records"][0]["s3"]["object"]["key"] == "in/a.csv"


def test_function_is_run_with_the_record_asynchronously(uploads: Uploads) -> None:
    seen: list[Any] = []
    uploads.world.functions.register("work", lambda event, context: seen.append(event))
    arn = function(uploads)
    uploads.configure(LambdaFunctionConfigurations=[on(arn)])

    uploads.happen(PUT)
    at_once = list(seen)
    uploads.world.advance(seconds=1)

    assert at_once == []
    assert [event["Records"][0]["eventName"] for event in seen] == ["ObjectCreated:Put"]


def function(uploads: Uploads) -> str:
    """A function that S3 may invoke for the bucket."""
    trust = json.dumps(
        {
            "Statement": [
                {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
            ]
        }
    )
    role = uploads.call("CreateRole", "iam", RoleName="work", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    made = uploads.world.client("lambda").create_function(
        FunctionName="work", Role=role, Runtime="python3.12", Handler="a.b", Code={"ZipFile": archive()}
    )
    uploads.call(
        "AddPermission", "lambda", FunctionName="work", StatementId="s3", Action="lambda:InvokeFunction",
        Principal="s3.amazonaws.com", SourceArn="arn:aws:s3:::uploads", SourceAccount="000000000000",
    )  # fmt: skip
    return str(made["FunctionArn"])


def test_detail_on_the_bus_has_the_members_of_its_type(uploads: Uploads) -> None:
    caller = replace(uploads.world.caller(), request_id="R1")

    events = on_bus(uploads, caller, replace(PUT, key="in/ä b.csv"), MARKER, DELETE, TAGS, EXPIRED)

    common = {"version": "0", "bucket": {"name": "uploads"}, "request-id": "R1", "requester": "000000000000"}
    assert [(event["detail-type"], event["detail"]) for event in events] == [
        ("Object Created", {
            **common, "object": {"key": "in/ä b.csv", "size": 5, "etag": "e1", "sequencer": "0000000000000000A1"},
            "source-ip-address": "192.0.2.7", "reason": "PutObject",
        }),
        ("Object Deleted", {
            **common, "object": {"key": "k", "version-id": "v2", "sequencer": "0A"}, "source-ip-address": "127.0.0.1",
            "reason": "DeleteObject", "deletion-type": "Delete Marker Created",
        }),
        ("Object Deleted", {
            **common, "object": {"key": "k", "version-id": "v1", "sequencer": "0B"}, "source-ip-address": "127.0.0.1",
            "reason": "DeleteObject", "deletion-type": "Permanently Deleted",
        }),
        ("Object Tags Added", {
            **common, "object": {"key": "k", "etag": "e2"}, "source-ip-address": "127.0.0.1",
        }),
        ("Object Deleted", {
            **common, "object": {"key": "k", "sequencer": "0C"}, "requester": "s3.amazonaws.com",
            "reason": "Lifecycle Expiration", "deletion-type": "Permanently Deleted",
        }),
    ]  # fmt: skip
    assert {(event["source"], *event["resources"]) for event in events} == {("aws.s3", "arn:aws:s3:::uploads")}


def test_events_say_from_which_address_the_request_came(uploads: Uploads) -> None:
    uploads.configure(QueueConfigurations=[on(uploads.queue(), *ALL)])
    uploads.bodies()
    caller = replace(uploads.world.caller(), source_ip="203.0.113.9")
    one = {"Bucket": "uploads", "Key": "k"}

    for operation, more in [("PutObject", {"Body": b"x"}), ("DeleteObject", {})]:
        uploads.world.engine.call(caller, "s3", operation, {**one, **more})

    told = [body["Records"][0]["requestParameters"] for body in uploads.bodies()]
    assert told == [{"sourceIPAddress": "203.0.113.9"}] * 2


def test_bucket_without_bus_configuration_tells_the_bus_nothing(uploads: Uploads) -> None:
    assert len(on_bus(uploads, None, PUT)) == 1
    uploads.configure()

    uploads.happen(PUT)
    uploads.world.advance(seconds=1)

    assert uploads.bodies("bus") == []


def test_notification_that_a_queue_refuses_for_now_is_sent_again(uploads: Uploads) -> None:
    queue = uploads.queue()
    uploads.configure(QueueConfigurations=[on(queue)])
    uploads.bodies()
    fault = Fault("", queue, "InternalError", times=3)
    uploads.world.store.run(lambda tx: add_fault(tx, fault))

    uploads.happen(PUT)
    uploads.world.advance(seconds=1)
    refused = uploads.keys()
    uploads.world.advance(minutes=1)

    assert (refused, uploads.keys()) == ([], ["in/a.csv"])


def test_notification_is_given_up_after_24_hours(uploads: Uploads) -> None:
    queue = uploads.queue()
    uploads.configure(QueueConfigurations=[on(queue)])
    uploads.bodies()
    uploads.world.store.run(lambda tx: add_fault(tx, Fault("", queue, "InternalError", rate=1.0)))
    uploads.happen(PUT)

    uploads.world.advance(hours=25)
    uploads.world.store.run(clear_faults)
    uploads.world.advance(hours=25)

    assert uploads.keys() == []


def test_notification_to_a_queue_that_is_gone_is_lost(uploads: Uploads) -> None:
    uploads.configure(QueueConfigurations=[on(uploads.queue())])
    url = uploads.call("GetQueueUrl", "sqs", QueueName="q")["QueueUrl"]
    uploads.call("DeleteQueue", "sqs", QueueUrl=url)

    uploads.happen(PUT)
    uploads.world.advance(minutes=2)
    uploads.queue()
    uploads.world.advance(hours=1)

    assert uploads.bodies() == []


def test_bus_that_does_not_answer_gets_the_event_later_with_its_own_time(uploads: Uploads) -> None:
    bus = f"arn:aws:events:{HERE}:event-bus/default"
    uploads.world.store.run(lambda tx: add_fault(tx, Fault("", bus, "InternalError", times=4)))

    early = on_bus(uploads, None, PUT)
    uploads.world.advance(minutes=5)

    (late,) = uploads.bodies("bus")
    assert (early, late["time"]) == ([], "2025-01-01T00:00:00Z")


def test_trace_of_the_request_goes_on_to_the_message(uploads: Uploads) -> None:
    uploads.configure(QueueConfigurations=[on(uploads.queue())])
    uploads.bodies()
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"

    uploads.happen(PUT, caller=replace(uploads.world.caller(), trace_header=trace))

    url = uploads.call("GetQueueUrl", "sqs", QueueName="q")["QueueUrl"]
    (message,) = uploads.call("ReceiveMessage", "sqs", QueueUrl=url, AttributeNames=["All"])["Messages"]
    assert message["Attributes"]["AWSTraceHeader"] == trace


def statements(uploads: Uploads, happened: Happened) -> list[str]:
    """The statements that telling of an event runs."""
    uploads.happen(happened)
    seen: list[str] = []
    uploads.world.store.connection.set_trace_callback(seen.append)
    uploads.happen(happened)
    uploads.world.store.connection.set_trace_callback(None)
    return [sql for sql in seen if not sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))]


def test_bucket_that_tells_nobody_runs_no_statement(uploads: Uploads) -> None:
    assert statements(uploads, PUT) == []

    uploads.configure(QueueConfigurations=[on(uploads.queue(), "s3:ObjectRemoved:*")], EventBridgeConfiguration={})

    assert statements(uploads, PUT) == []


def test_bucket_with_a_queue_runs_the_statements_of_a_message_and_its_history(uploads: Uploads) -> None:
    uploads.configure(QueueConfigurations=[on(uploads.queue())])

    assert len(statements(uploads, PUT)) <= 6
