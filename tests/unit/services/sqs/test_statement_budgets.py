"""What the hot operations cost, in statements: counts do not flake, milliseconds do."""

from __future__ import annotations

import itertools
import json
import re
from importlib import resources

import pytest

from redrive.store.queries import load_queries
from redrive.testing.world import World

FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


@pytest.fixture
def statements(world: World) -> list[str]:
    """What the store runs from now on, transactions' frames left out. Ask for it after what prepares the scene."""
    seen: list[str] = []
    world.store.connection.set_trace_callback(lambda sql: None if sql.startswith(FRAME) else seen.append(sql))
    return seen


@pytest.fixture
def redriven(call) -> str:
    """A queue with a redrive policy."""
    call("CreateQueue", QueueName="dead")
    policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1}
    url: str = call("CreateQueue", QueueName="source", Attributes={"RedrivePolicy": json.dumps(policy)})["QueueUrl"]
    return url


def test_sending_a_message_costs_one_statement(call, queue, statements):
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    assert len(statements) == 1


def test_policy_of_a_queue_costs_no_statement(call, queue, statements):
    statement = {"Effect": "Deny", "Principal": {"AWS": "111111111111"}, "Action": "sqs:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": statement})
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"Policy": policy})
    statements.clear()

    call("SendMessage", QueueUrl=queue, MessageBody="1")

    assert len(statements) == 1


def test_sending_a_batch_costs_one_statement_per_message(call, queue, statements):
    call("SendMessageBatch", QueueUrl=queue, Entries=[{"Id": entry_id, "MessageBody": "1"} for entry_id in "abc"])

    assert len(statements) == 3


def test_receiving_messages_costs_one_statement(call, queue, statements):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    statements.clear()

    assert "Messages" in call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)

    assert len(statements) == 1


def test_receiving_with_a_redrive_policy_costs_at_most_two(call, redriven, statements):
    call("SendMessage", QueueUrl=redriven, MessageBody="1")
    statements.clear()

    assert "Messages" in call("ReceiveMessage", QueueUrl=redriven, MaxNumberOfMessages=10)

    assert len(statements) <= 2


def test_deleting_a_message_costs_one_statement(call, queue, statements):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    handle = call("ReceiveMessage", QueueUrl=queue)["Messages"][0]["ReceiptHandle"]
    statements.clear()

    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)

    assert len(statements) == 1


def test_sending_to_a_fifo_queue_costs_two_statements_also_for_a_duplicate(call, fifo, statements):
    for count in (2, 4):
        call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g", MessageDeduplicationId="1")

        assert len(statements) == count


def test_receiving_from_a_fifo_queue_costs_two_statements(call, fifo, statements):
    for number in range(20):
        group, dedup = f"g{number % 3}", str(number)
        call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId=group, MessageDeduplicationId=dedup)
    statements.clear()

    assert len(call("ReceiveMessage", QueueUrl=fifo, MaxNumberOfMessages=10)["Messages"]) == 10

    assert len(statements) == 2


def test_deleting_from_a_fifo_queue_costs_two_statements(call, fifo, statements):
    call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g", MessageDeduplicationId="1")
    handle = call("ReceiveMessage", QueueUrl=fifo)["Messages"][0]["ReceiptHandle"]
    statements.clear()

    call("DeleteMessage", QueueUrl=fifo, ReceiptHandle=handle)

    assert len(statements) == 2


def test_group_ids_on_a_standard_queue_cost_one_statement_more_per_receive(call, queue, statements):
    for _ in range(2):
        call("SendMessage", QueueUrl=queue, MessageBody="1", MessageGroupId="g")
    statements.clear()
    call("SendMessage", QueueUrl=queue, MessageBody="1", MessageGroupId="g")
    assert len(statements) == 1

    call("ReceiveMessage", QueueUrl=queue)

    assert len(statements) == 3


def test_hot_statements_go_by_an_index_and_sort_nothing_that_grows(world):
    """Neither a walk over all messages, nor a sort of more than one call's worth: that of a subquery with a limit."""
    text = resources.files("redrive.store").joinpath("sql", "messages.sql").read_text("utf-8")
    hot = re.findall(r"^-- name: (\w+) -- hot", text, re.MULTILINE)

    for name in hot:
        statement = load_queries("messages")[name]
        named = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
        params = named or (1,) * statement.count("?")
        plan = [step[3] for step in world.store.connection.execute(f"EXPLAIN QUERY PLAN {statement}", params)]
        grown = [
            step
            for before, step in itertools.pairwise(["", *plan])
            if step.startswith("SCAN messages") or ("TEMP B-TREE" in step and not before.startswith("SCAN (subquery"))
        ]
        assert grown == [], name


def test_claim_in_order_goes_from_heads_along_their_groups(world):
    statement = load_queries("messages")["claim_in_order"]
    params = dict.fromkeys(("queue", "now", "visible_at", "receipt", "limit", "walk"), 1)

    plan = [step[3] for step in world.store.connection.execute(f"EXPLAIN QUERY PLAN {statement}", params)]

    assert [step for step in plan if step.startswith("SEARCH")] == [
        "SEARCH messages USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH messages USING INDEX messages_at_head (queue=? AND visible_at<?)",
        "SEARCH next USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH messages USING COVERING INDEX messages_by_group (queue=? AND group_id=? AND seq>?)",
    ]


def test_claim_finds_its_messages_by_key_whatever_the_backlog(world):
    """The update goes from the few chosen rows to the table, not over all that is visible."""
    params = dict.fromkeys(("queue", "now", "visible_at", "receipt", "limit"), 1)

    plan = world.store.connection.execute(f"EXPLAIN QUERY PLAN {load_queries('messages')['claim_visible']}", params)

    assert [step[3] for step in plan if step[3].startswith("SEARCH")] == [
        "SEARCH messages USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH messages USING INDEX messages_by_visibility (queue=? AND visible_at<?)",
        "SEARCH messages USING INDEX messages_returned (queue=? AND visible_at<?)",
    ]
