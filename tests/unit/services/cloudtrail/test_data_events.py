"""Events of data on the default bus: only those that a trail's selectors ask for."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from redrive.core.scope import Scope
from redrive.services.cloudtrail.model.data_events import arns_of
from tests.unit.services.cloudtrail.test_records import ACCOUNT, ALL, Audit
from tests.unit.services.events.test_story import make_function

SCOPE = Scope(ACCOUNT, "us-east-1")
QUEUES = f"arn:aws:sqs:us-east-1:{ACCOUNT}:"
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/orders"
FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


@pytest.fixture
def audit() -> Iterator[Audit]:
    audit = Audit()
    yield audit
    audit.world.close()


def select(audit: Audit, type: str, **fields: list[str]) -> None:
    """Let the trail record the events of data of this type alone."""
    chosen = [{"Field": name.replace("_", "."), "Equals": value} for name, value in fields.items()]
    wanted = [{"Field": "eventCategory", "Equals": ["Data"]}, {"Field": "resources.type", "Equals": [type]}, *chosen]
    audit.trails.put_event_selectors(
        TrailName="audit", AdvancedEventSelectors=[{"Name": "data", "FieldSelectors": wanted}]
    )


def send(audit: Audit, queue: str) -> None:
    sqs = audit.world.client("sqs")
    url = sqs.create_queue(QueueName=queue)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="secret", DelaySeconds=1)


def table(audit: Audit) -> Any:
    dynamodb = audit.world.client("dynamodb")
    dynamodb.create_table(
        TableName="orders", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )  # fmt: skip
    audit.world.advance(minutes=1)
    return dynamodb


def test_message_is_an_event_of_data_without_its_body(audit: Audit) -> None:
    select(audit, "AWS::SQS::Queue")
    audit.rule("SendMessage")

    send(audit, "jobs")

    (event,) = audit.records()
    detail = event["detail"]
    assert (event["source"], detail["eventCategory"], detail["managementEvent"]) == ("aws.sqs", "Data", False)
    assert detail["resources"] == [{"accountId": ACCOUNT, "type": "AWS::SQS::Queue", "ARN": f"{QUEUES}jobs"}]
    assert detail["requestParameters"]["messageBody"] == "HIDDEN_DUE_TO_SECURITY_REASONS"
    assert detail["requestParameters"]["delaySeconds"] == 1
    assert detail["responseElements"] is None
    assert "secret" not in str(event)


def test_function_that_is_awaited_is_an_event_as_well(audit: Audit) -> None:
    make_function(SimpleNamespace(world=audit.world), f"{QUEUES}records")
    audit.world.functions.register("import-file", lambda event, context: None)
    select(audit, "AWS::Lambda::Function")
    audit.rule("Invoke")
    functions = audit.world.client("lambda")

    functions.invoke(FunctionName="import-file", Payload=b'"secret"')
    functions.invoke(FunctionName="import-file", InvocationType="Event", Payload=b'"secret"')

    shown = [event["detail"]["requestParameters"] for event in audit.records()]
    assert sorted(shown, key=len) == [
        {"functionName": "import-file"}, {"functionName": "import-file", "invocationType": "Event"},
    ]  # fmt: skip


def test_selector_chooses_resources_by_their_arns(audit: Audit) -> None:
    select(audit, "AWS::SQS::Queue", resources_ARN=[f"{QUEUES}wanted"])
    audit.rule("SendMessage")

    send(audit, "other")
    send(audit, "wanted")

    assert [event["detail"]["resources"][0]["ARN"] for event in audit.records()] == [f"{QUEUES}wanted"]


def test_items_are_events_by_a_basic_selector(audit: Audit) -> None:
    dynamodb = table(audit)
    resources = [{"Type": "AWS::DynamoDB::Table", "Values": [TABLE]}]
    selector = {"ReadWriteType": "All", "IncludeManagementEvents": False, "DataResources": resources}
    audit.trails.put_event_selectors(TrailName="audit", EventSelectors=[selector])
    audit.rule("PutItem", "DeleteItem", "CreateQueue")

    dynamodb.put_item(TableName="orders", Item={"id": {"S": "1"}, "name": {"S": "secret"}})
    dynamodb.delete_item(TableName="orders", Key={"id": {"S": "1"}})
    audit.world.client("sqs").create_queue(QueueName="jobs")

    put, deleted = sorted(audit.records(), key=lambda event: event["detail"]["eventName"], reverse=True)
    assert put["detail"]["requestParameters"] == {"tableName": "orders"}
    assert deleted["detail"]["requestParameters"] == {"tableName": "orders", "key": {"id": {"s": "1"}}}
    assert "secret" not in str(put)


def test_object_is_an_event_with_its_bucket_and_without_its_content(audit: Audit) -> None:
    s3 = audit.world.client("s3")
    select(audit, "AWS::S3::Object", resources_ARN=["arn:aws:s3:::uploads/in/a b.txt"])
    audit.rule("PutObject", "CopyObject", "DeleteObjects")
    s3.create_bucket(Bucket="uploads")

    s3.put_object(Bucket="uploads", Key="in/a b.txt", Body=b"secret", ContentType="text/plain")
    s3.copy_object(Bucket="uploads", Key="in/other.txt", CopySource="uploads/in/a b.txt")
    s3.get_object(Bucket="uploads", Key="in/a b.txt")
    s3.delete_objects(Bucket="uploads", Delete={"Objects": [{"Key": "in/a b.txt"}, {"Key": "in/other.txt"}]})

    put, deleted = sorted(audit.records(), key=lambda event: event["detail"]["eventName"], reverse=True)
    bucket = {"accountId": ACCOUNT, "type": "AWS::S3::Bucket", "ARN": "arn:aws:s3:::uploads"}
    named = {"bucketName": "uploads", "Host": "uploads.s3.us-east-1.amazonaws.com"}
    assert (put["source"], put["resources"], put["detail"]["eventSource"]) == ("aws.s3", [], "s3.amazonaws.com")
    assert put["detail"]["requestParameters"] == {**named, "key": "in/a b.txt"}
    assert put["detail"]["resources"] == [
        {"type": "AWS::S3::Object", "ARN": "arn:aws:s3:::uploads/in/a b.txt"}, bucket,
    ]  # fmt: skip
    assert deleted["detail"]["requestParameters"] == named
    assert deleted["detail"]["resources"] == [
        {"type": "AWS::S3::Object", "ARNPrefix": "arn:aws:s3:::uploads/"}, bucket,
    ]  # fmt: skip


def test_large_object_and_parts_of_an_upload_are_events_too(audit: Audit) -> None:
    s3 = audit.world.client("s3")
    resources = [{"Type": "AWS::S3::Object", "Values": ["arn:aws:s3:::uploads/"]}]
    audit.trails.put_event_selectors(
        TrailName="audit", EventSelectors=[{"IncludeManagementEvents": False, "DataResources": resources}]
    )
    audit.rule("PutObject", "CopyObject", "UploadPart", "CompleteMultipartUpload", "CreateBucket")
    s3.create_bucket(Bucket="uploads")

    s3.put_object(Bucket="uploads", Key="large", Body=b"x" * 300_000)
    s3.copy_object(Bucket="uploads", Key="copy", CopySource="uploads/large")
    upload = s3.create_multipart_upload(Bucket="uploads", Key="parts")["UploadId"]
    part = s3.upload_part(Bucket="uploads", Key="parts", UploadId=upload, PartNumber=1, Body=b"x" * 70_000)
    s3.complete_multipart_upload(
        Bucket="uploads", Key="parts", UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )  # fmt: skip

    told = {event["detail"]["eventName"]: event["detail"]["requestParameters"] for event in audit.records()}
    assert sorted(told) == ["CompleteMultipartUpload", "CopyObject", "PutObject", "UploadPart"]
    assert told["CopyObject"]["x-amz-copy-source"] == "uploads/large"
    assert (told["UploadPart"]["partNumber"], told["UploadPart"]["uploadId"]) == ("1", upload)


def test_calls_that_only_read_data_reach_no_rule(audit: Audit) -> None:
    dynamodb = table(audit)
    select(audit, "AWS::DynamoDB::Table")
    audit.rule("GetItem", "Query", State=ALL)

    dynamodb.get_item(TableName="orders", Key={"id": {"S": "1"}})

    assert audit.records() == []


def test_management_events_alone_cost_data_no_statement(audit: Audit) -> None:
    sqs = audit.world.client("sqs")
    url = sqs.create_queue(QueueName="jobs")["QueueUrl"]

    def statements() -> int:
        seen: list[str] = []
        audit.world.store.connection.set_trace_callback(seen.append)
        sqs.send_message(QueueUrl=url, MessageBody="x")
        audit.world.store.connection.set_trace_callback(None)
        return len([text for text in seen if not text.startswith(FRAME)])

    sqs.send_message(QueueUrl=url, MessageBody="x")
    with_trail = statements()
    audit.trails.delete_trail(Name="audit")
    sqs.send_message(QueueUrl=url, MessageBody="x")

    assert with_trail == statements()


@pytest.mark.parametrize(("service", "params", "arns"), [
    ("sqs", {"QueueUrl": f"http://localhost:4566/{ACCOUNT}/q"}, [f"{QUEUES}q"]),
    ("sqs", {}, []),
    ("lambda", {"FunctionName": "f"}, [f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"]),
    ("lambda", {"FunctionName": "f:live"}, [f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"]),
    ("lambda", {"FunctionName": f"{ACCOUNT}:function:f:1"}, [f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"]),
    ("lambda", {"FunctionName": f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f:1"},
     [f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"]),
    ("dynamodb", {"TableName": TABLE}, [TABLE]),
    ("dynamodb", {"RequestItems": {"orders": []}}, [TABLE]),
    ("dynamodb", {"TransactItems": [{"Put": {"TableName": "orders"}}, {"Delete": {"TableName": "orders"}}]}, [TABLE]),
    ("s3", {"Bucket": "b", "Key": "a/b"}, ["arn:aws:s3:::b/a/b"]),
    ("s3", {"Bucket": "b", "Delete": {"Objects": [{"Key": "a"}, {"Key": "c"}]}},
     ["arn:aws:s3:::b/a", "arn:aws:s3:::b/c"]),
    ("s3", {"Bucket": "b"}, ["arn:aws:s3:::b/"]),
    ("events", {"Name": "r"}, []),
])  # fmt: skip
def test_resources_are_found_in_the_parameters(service: str, params: dict[str, Any], arns: list[str]) -> None:
    assert list(arns_of(service, params, SCOPE)) == arns
