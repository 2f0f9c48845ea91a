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
    ("events", {"Name": "r"}, []),
])  # fmt: skip
def test_resources_are_found_in_the_parameters(service: str, params: dict[str, Any], arns: list[str]) -> None:
    assert list(arns_of(service, params, SCOPE)) == arns
