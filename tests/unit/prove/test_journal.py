"""Effects are counted by what they leave behind, not by how often they were asked for."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.clock import HOUR_MS
from redrive.prove.calls import Call, call_of
from redrive.prove.journal import Journal

ID = "5068e532-bca5-4efc-be63-c93601fe6344"
OTHER = "11111111-2222-4333-8444-555555555555"


def journal() -> Journal:
    return Journal([f'{{"id": "{ID}"}}'], lambda _: ("id",))


def put(key: str) -> Call:
    return call_of("dynamodb", "PutItem", {"TableName": "reports", "Item": {"id": {"S": key}, "n": {"N": "1"}}})


def update(expression: str, **more: Any) -> Call:
    params = {"TableName": "totals", "Key": {"id": {"S": "all"}}, "UpdateExpression": expression}
    values = {":x": {"N": "1"}, ":s": {"SS": ["a"]}, ":l": {"L": []}}
    used = {name: value for name, value in values.items() if name in expression}
    return call_of("dynamodb", "UpdateItem", params | {"ExpressionAttributeValues": used} | more)


def test_write_under_one_key_twice_leaves_one_item() -> None:
    written = journal()

    written.note(put(ID), {})
    written.note(put(ID), {})

    assert sum(written.counts().values()) == 1


def test_items_whose_keys_are_new_with_each_run_are_the_same_kind_twice() -> None:
    written = journal()

    written.note(put(OTHER), {})
    written.note(put(OTHER.replace("1", "2")), {})

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

    written.note(call, {})
    written.note(call, {})

    increases = sum(count for (kind, _), count in written.counts().items() if kind == "increase of totals")
    assert increases == (2 if adds else 0)


def test_deduplicated_message_is_one_message() -> None:
    call = call_of("sqs", "SendMessage", {"QueueUrl": "https://host/0/mails.fifo", "MessageBody": "hello"})
    written = journal()

    for message_id in ("a", "a", "b"):
        written.note(call, {"MessageId": message_id})

    assert written.counts() == {("message to mails.fifo", "hello"): 2}


def test_deleted_item_is_no_longer_left_behind() -> None:
    written = journal()

    written.note(put(ID), {})
    written.note(call_of("dynamodb", "DeleteItem", {"TableName": "reports", "Key": {"id": {"S": ID}}}), {})

    assert [kind for kind, _ in written.counts()] == ["deleted item"]


def test_call_with_an_idempotency_key_counts_once_for_each_key() -> None:
    written = journal()

    for token in ("a", "a", "b"):
        written.note(call_of("ecs", "RunTask", {"Name": "x", "ClientToken": token}), {})

    assert list(written.counts().values()) == [2]


@pytest.mark.parametrize(
    ("memory_ms", "after_ms", "count"), [(None, 10**9, 1), (HOUR_MS, 1, 1), (HOUR_MS, HOUR_MS, 2), (0, 1, 2)]
)
def test_declared_effect_counts_again_when_its_key_is_forgotten(
    memory_ms: int | None, after_ms: int, count: int
) -> None:
    written = journal()

    written.note_declared("charge", "key", memory_ms, 1000)
    written.note_declared("charge", "key", memory_ms, 1000 + after_ms)

    assert list(written.counts().values()) == [count]
