"""Effects are counted by what they leave behind, not by how often they were asked for."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from redrive.prove.calls.calls import Call, call_of
from redrive.prove.calls.sorting import Sorting
from redrive.prove.calls.tokens import MEMORY_ELSEWHERE_MS
from redrive.prove.effects.declared import Declared
from redrive.prove.effects.journal import Journal

ID = "5068e532-bca5-4efc-be63-c93601fe6344"
OTHER = "11111111-2222-4333-8444-555555555555"


def journal() -> Journal:
    return Journal([f'{{"id": "{ID}"}}'], lambda _: ("id",))


def put(key: str) -> Call:
    return call_of("dynamodb", "PutItem", {"TableName": "reports", "Item": {"id": {"S": key}, "n": {"N": "1"}}})


def delete(key: str) -> Call:
    return call_of("dynamodb", "DeleteItem", {"TableName": "reports", "Key": {"id": {"S": key}}})


def update(expression: str, **more: Any) -> Call:
    params = {"TableName": "totals", "Key": {"id": {"S": "all"}}, "UpdateExpression": expression}
    values = {":x": {"N": "1"}, ":s": {"SS": ["a"]}, ":l": {"L": []}}
    used = {name: value for name, value in values.items() if name in expression}
    return call_of("dynamodb", "UpdateItem", params | {"ExpressionAttributeValues": used} | more)


def test_write_under_one_key_twice_leaves_one_item() -> None:
    written = journal()

    written.note(put(ID), {}, 0)
    written.note(put(ID), {}, 0)

    assert sum(written.counts().values()) == 1


def test_items_whose_keys_are_new_with_each_run_are_the_same_kind_twice() -> None:
    written = journal()

    written.note(put(OTHER), {}, 0)
    written.note(put(OTHER.replace("1", "2")), {}, 0)

    assert list(written.counts().values()) == [2]


def test_id_of_the_message_is_no_accident_of_a_run() -> None:
    assert journal().stable(f"{ID} {OTHER} 2025-01-01T00:00:00Z") == f"{ID} <id or time> <id or time>"


@pytest.mark.parametrize(
    ("expression", "adds"),
    [
        ("ADD n :x", True),
        ("SET n = n + :x", True),
        ("SET n = if_not_exists(n, :x) + :x", True),
        ("SET n = n - :x", True),
        ("SET tags = list_append(tags, :l)", True),
        ("ADD tags :s", False),
        ("SET n = :x", False),
        ("SET n = if_not_exists(n, :x)", False),
        ("REMOVE n", False),
        ("DELETE tags :s", False),
    ],
)
def test_update_counts_each_time_if_it_adds_up(expression: str, adds: bool) -> None:
    call = update(expression)
    if ":" not in expression:
        call = Call(call.service, call.operation, call.target, {**call.params, "ExpressionAttributeValues": None})
    written = journal()

    written.note(call, {}, 0)
    written.note(call, {}, 0)

    increases = sum(count for (kind, _), count in written.counts().items() if kind == "increase of totals")
    assert increases == (2 if adds else 0)


def test_deduplicated_message_is_one_message() -> None:
    call = call_of("sqs", "SendMessage", {"QueueUrl": "https://host/0/mails.fifo", "MessageBody": "hello"})
    written = journal()

    for message_id in ("a", "a", "b"):
        written.note(call, {"MessageId": message_id}, 0)

    assert written.counts() == {("message to mails.fifo", "hello"): 2}


def test_item_that_is_made_and_deleted_again_leaves_nothing_behind() -> None:
    written = journal()

    written.note(put(ID), {}, 0)
    written.note(delete(ID), {}, 0)

    assert not written.counts()


def test_deleted_item_of_somebody_else_names_its_table() -> None:
    written = journal()

    written.note(delete(ID), {}, 0)

    assert [kind for kind, _ in written.counts()] == ["deleted item in reports"]


@pytest.mark.parametrize(
    ("service", "operation", "member", "memory_ms"),
    [
        ("sns", "Publish", "MessageDeduplicationId", 5 * MINUTE_MS),
        ("stepfunctions", "StartExecution", "name", 90 * DAY_MS),
        ("ecs", "RunTask", "clientToken", DAY_MS),
        ("ec2", "RunInstances", "ClientToken", DAY_MS),
        ("newservice", "StartThing", "clientToken", MEMORY_ELSEWHERE_MS),
    ],
)
def test_token_is_known_again_as_long_as_its_service_says(
    service: str, operation: str, member: str, memory_ms: int
) -> None:
    call = call_of(service, operation, {member: "order-1"})
    written = journal()

    written.note(call, {}, 0)
    written.note(call, {}, memory_ms - 1)
    within = sum(written.counts().values())
    written.note(call, {}, memory_ms)

    assert (within, sum(written.counts().values())) == (1, 2)


def test_another_token_is_another_call() -> None:
    written = journal()

    for token in ("a", "a", "b"):
        written.note(call_of("ecs", "RunTask", {"taskDefinition": "x", "clientToken": token}), {}, 0)

    assert list(written.counts().values()) == [2]


@pytest.mark.parametrize(("after_ms", "count"), [(10 * MINUTE_MS - 1, 1), (10 * MINUTE_MS, 2)])
def test_transaction_with_a_known_token_adds_nothing(after_ms: int, count: int) -> None:
    add = {"TableName": "totals", "Key": {"id": {"S": "all"}}, "UpdateExpression": "ADD n :x",
           "ExpressionAttributeValues": {":x": {"N": "1"}}}  # fmt: skip
    call = call_of(
        "dynamodb", "TransactWriteItems", {"TransactItems": [{"Update": add}], "ClientRequestToken": "order-1"}
    )
    written = journal()

    written.note(call, {}, 0)
    written.note(call, {}, after_ms)

    assert sum(count for (kind, _), count in written.counts().items() if kind == "increase of totals") == count


def test_members_of_transactions_and_batches_are_writes_of_their_own() -> None:
    batch = {"reports": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}, {"DeleteRequest": {"Key": {"id": {"S": "b"}}}}]}
    members = [
        {"Put": {"TableName": "reports", "Item": {"id": {"S": "a"}}}},
        {"ConditionCheck": {"TableName": "ledger", "Key": {"id": {"S": "a"}}}},
    ]
    written = journal()

    for _ in range(2):
        written.note(call_of("dynamodb", "BatchWriteItem", {"RequestItems": batch}), {}, 0)
        written.note(call_of("dynamodb", "TransactWriteItems", {"TransactItems": members}), {}, 0)

    assert written.counts() == {("item in reports", "id=a"): 1, ("deleted item in reports", "id=b"): 1}


def test_ignored_attribute_is_no_increase() -> None:
    written = journal()
    written.sorting = Sorting(ignored=("dynamodb:UpdateItem:totals#n",))

    written.note(update("ADD n :x"), {}, 0)

    assert [kind for kind, _ in written.counts()] == ["item in totals"]


@pytest.mark.parametrize(
    ("memory_ms", "after_ms", "count"), [(None, 10**9, 1), (HOUR_MS, 1, 1), (HOUR_MS, HOUR_MS, 2), (0, 1, 2)]
)
def test_declared_effect_counts_again_when_its_key_is_forgotten(
    memory_ms: int | None, after_ms: int, count: int
) -> None:
    written = journal()

    written.note_declared(Declared("charge", "key", memory_ms), 1000)
    written.note_declared(Declared("charge", "key", memory_ms), 1000 + after_ms)

    assert list(written.counts().values()) == [count]


@pytest.mark.parametrize(
    ("service", "operation", "params"),
    [
        ("secretsmanager", "TagResource", {"SecretId": "s", "Tags": [{"Key": "a", "Value": "2025-01-01T00:00:00Z"}]}),
        ("ec2", "StopInstances", {"InstanceIds": ["i-1"]}),
        ("ec2", "WithdrawByoipCidr", {"Cidr": "203.0.113.0/24"}),
        ("rds", "AddTagsToResource", {"ResourceName": "r", "Tags": []}),
        ("events", "PutRule", {"Name": "r"}),
        ("newservice", "PutThingPolicy", {"Policy": "{}"}),
        ("stepfunctions", "SendTaskSuccess", {"taskToken": "t", "output": "{}"}),
        ("ssm", "CreateOpsItem", {"OperationalData": {"/aws/dedup": {"Value": '{"dedupString": "alarm"}'}}}),
    ],
)
def test_call_that_sets_a_state_leaves_the_same_again(service: str, operation: str, params: dict[str, Any]) -> None:
    call = call_of(service, operation, params)
    written = journal()

    written.note(call, {}, 0)
    written.note(call, {}, HOUR_MS)

    assert list(written.counts().values()) == [1]


def test_states_of_two_resources_are_two() -> None:
    written = journal()

    for instance in ("i-1", "i-2"):
        written.note(call_of("ec2", "StopInstances", {"InstanceIds": [instance]}), {}, 0)

    assert sum(written.counts().values()) == 2


@pytest.mark.parametrize(
    ("service", "operation", "params"),
    [
        ("kinesis", "PutRecord", {"Data": b"x"}),
        ("ssm", "CreateOpsItem", {"Title": "t"}),
        ("ecs", "UpdateService", {"service": "web", "forceNewDeployment": True}),
        ("emr", "AddJobFlowSteps", {"JobFlowId": "j"}),
    ],
)
def test_call_that_adds_something_counts_each_time(service: str, operation: str, params: dict[str, Any]) -> None:
    call = call_of(service, operation, params)
    written = journal()

    written.note(call, {}, 0)
    written.note(call, {}, 0)

    assert sum(written.counts().values()) == 2
