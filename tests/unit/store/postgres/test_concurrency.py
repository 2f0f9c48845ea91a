"""Eight nodes on one database, each in a thread of its own, with batches of steps that run beside each other.

Nothing happens twice, nothing is lost, groups stay in order, sums are right. The number of rounds is bounded.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.retry import Backoff, RetryPolicy
from redrive.core.scope import Scope
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, OUTSIDE, Delivery
from redrive.store.tables.messages import NewMessage
from redrive.store.tables.tokens import UsedToken
from redrive.testing.world import START
from tests.support.postgresql import database
from tests.support.stores import PostgresWorld
from tests.unit.services.dynamodb.stream_readers import records_of

NODES = 8
BATCH = 16
ROUNDS_MAX = 200
HERE = Scope("000000000000", "us-east-1")
POLICY = RetryPolicy(retries_max=3, backoff=Backoff(steps_ms=(60_000,)))

Nodes = Sequence[PostgresWorld]


@pytest.fixture(scope="module")
def nodes(postgresql_url: str) -> Iterator[Nodes]:
    with database(postgresql_url) as url:
        made = [PostgresWorld(url, seed=seed) for seed in range(NODES)]
        yield made
        for node in made:
            node.close()


def at_once(work: Callable[[int, PostgresWorld], None], nodes: Nodes) -> None:
    """Do this on all nodes at the same time, each in a thread of its own."""
    started = threading.Barrier(len(nodes))

    def run(number: int, node: PostgresWorld) -> None:
        started.wait()
        work(number, node)

    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(run, range(len(nodes)), nodes))


def succeeded(answers: Sequence[object]) -> list[Any]:
    """The answers, of which none may be an exception."""
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return list(answers)


def create_queue(nodes: Nodes, name: str, **attributes: str) -> str:
    url: str = nodes[0].call("sqs", "CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def create_table(nodes: Nodes, name: str) -> None:
    nodes[0].call(
        "dynamodb", "CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
    )  # fmt: skip
    nodes[0].settle()


def drain(
    node: PostgresWorld, url: str, found: Callable[[list[dict[str, Any]]], None], is_done: Callable[[], bool]
) -> None:
    """Receive batches of messages, report and delete them, until all is done."""
    for _ in range(ROUNDS_MAX):
        if is_done():
            return
        answers = succeeded(node.calls("sqs", "ReceiveMessage", [{"QueueUrl": url, "MaxNumberOfMessages": 10}] * 4))
        messages = [message for answer in answers for message in answer.get("Messages", [])]
        found(messages)
        handles = [{"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]} for message in messages]
        succeeded(node.calls("sqs", "DeleteMessage", handles)) if handles else None
    raise AssertionError("messages are missing")


def test_message_is_received_by_one_node_once(nodes: Nodes) -> None:
    url = create_queue(nodes, "orders")
    sent = [f"{node}/{number}" for node in range(NODES) for number in range(4 * BATCH)]
    received: list[str] = []

    def send(number: int, node: PostgresWorld) -> None:
        for batch in range(4):
            bodies = [f"{number}/{batch * BATCH + place}" for place in range(BATCH)]
            succeeded(node.calls("sqs", "SendMessage", [{"QueueUrl": url, "MessageBody": body} for body in bodies]))
        drain(
            node, url, lambda messages: received.extend(one["Body"] for one in messages),
            lambda: len(received) >= len(sent),
        )  # fmt: skip

    at_once(send, nodes)

    assert Counter(received) == Counter(sent)
    assert {len(node.store.rows(["messages"])[0]) for node in nodes} == {0}


def test_groups_stay_in_order_and_a_deduplication_id_counts_once(nodes: Nodes) -> None:
    """Each node sends to groups of its own; all nodes send the same deduplication ids to one group."""
    url = create_queue(nodes, "orders.fifo", FifoQueue="true")
    received: dict[str, list[str]] = {}
    count = [0]
    expected = NODES * 2 * BATCH + BATCH

    def note(messages: list[dict[str, Any]]) -> None:
        for message in messages:
            group, _, body = message["Body"].partition("/")
            received.setdefault(group, []).append(body)
        count[0] += len(messages)

    def work(number: int, node: PostgresWorld) -> None:
        for batch in range(2):
            places = [batch * BATCH + place for place in range(BATCH)]
            own = [
                {
                    "QueueUrl": url, "MessageBody": f"{number}/{place}", "MessageGroupId": str(number),
                    "MessageDeduplicationId": f"{number}-{place}",
                }
                for place in places
            ]  # fmt: skip
            same = [
                {
                    "QueueUrl": url, "MessageBody": f"all/{place}", "MessageGroupId": "all",
                    "MessageDeduplicationId": f"all-{place}",
                }
                for place in range(BATCH)
            ]  # fmt: skip
            succeeded(node.calls("sqs", "SendMessage", own))
            succeeded(node.calls("sqs", "SendMessage", same))
        drain(node, url, note, lambda: count[0] >= expected)

    at_once(work, nodes)

    in_order = [str(place) for place in range(2 * BATCH)]
    assert {group: bodies for group, bodies in received.items() if group != "all"} == {
        str(number): in_order for number in range(NODES)
    }
    assert Counter(received["all"]) == Counter(map(str, range(BATCH)))


def test_counter_has_every_addition(nodes: Nodes) -> None:
    create_table(nodes, "counters")

    def add(number: int, node: PostgresWorld) -> None:
        for _ in range(3):
            updates = [
                {
                    "TableName": "counters", "Key": {"k": {"S": f"k{place % 4}"}}, "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
                for place in range(BATCH)
            ]  # fmt: skip
            succeeded(node.calls("dynamodb", "UpdateItem", updates))

    at_once(add, nodes)

    found = nodes[0].call("dynamodb", "Scan", TableName="counters")["Items"]
    assert {item["k"]["S"]: int(item["n"]["N"]) for item in found} == {
        f"k{place}": NODES * 3 * BATCH // 4 for place in range(4)
    }


def test_stream_tells_the_changes_of_each_item_in_their_order(nodes: Nodes) -> None:
    """Each record's old image is the new image of the record before, and the last one is the item."""
    create_table(nodes, "told")
    described = nodes[0].call(
        "dynamodb", "UpdateTable", TableName="told",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )  # fmt: skip

    def change(number: int, node: PostgresWorld) -> None:
        for turn in range(6):
            adds = [
                {
                    "TableName": "told", "Key": {"k": {"S": str((number + each) % 9)}},
                    "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
                for each in range(BATCH)
            ]  # fmt: skip
            succeeded(node.calls("dynamodb", "UpdateItem", adds))
            keys = [{"k": {"S": str((number + turn + each) % 9)}} for each in range(3)]
            both = [{"Delete": {"TableName": "told", "Key": key}} for key in keys]
            succeeded(node.calls("dynamodb", "TransactWriteItems", [{"TransactItems": both}]))

    at_once(change, nodes)

    told: dict[str, Any] = {}
    for record in records_of(nodes[0], described["TableDescription"]["LatestStreamArn"]):
        body = record["dynamodb"]
        assert told.pop(body["Keys"]["k"]["S"], None) == body.get("OldImage")
        if "NewImage" in body:
            told[body["Keys"]["k"]["S"]] = body["NewImage"]
    items = nodes[0].call("dynamodb", "Scan", TableName="told")["Items"]
    assert told == {item["k"]["S"]: item for item in items}


def test_conditional_put_has_one_winner(nodes: Nodes) -> None:
    create_table(nodes, "locks")
    won: list[str] = []

    def put(number: int, node: PostgresWorld) -> None:
        keys = [f"k{place}" for place in range(BATCH)] * 2
        answers = node.calls(
            "dynamodb", "PutItem",
            [
                {
                    "TableName": "locks", "Item": {"k": {"S": key}, "by": {"N": str(number)}},
                    "ConditionExpression": "attribute_not_exists(k)",
                }
                for key in keys
            ],
        )  # fmt: skip
        for key, answer in zip(keys, answers, strict=True):
            if isinstance(answer, ServiceError):
                assert answer.code == "ConditionalCheckFailedException"
            else:
                succeeded([answer])
                won.append(key)

    at_once(put, nodes)

    assert sorted(won) == sorted(f"k{place}" for place in range(BATCH))


def test_money_is_neither_made_nor_lost_nor_overdrawn(nodes: Nodes) -> None:
    create_table(nodes, "accounts")
    accounts = [f"a{place}" for place in range(5)]
    for key in accounts:
        item = {"k": {"S": key}, "balance": {"N": "20"}}
        nodes[0].call("dynamodb", "PutItem", TableName="accounts", Item=item)
    moved: list[int] = []

    def change(key: str, amount: int) -> dict[str, object]:
        values = {":amount": {"N": str(amount)}, ":least": {"N": str(max(0, -amount))}}
        return {
            "Update": {
                "TableName": "accounts", "Key": {"k": {"S": key}}, "UpdateExpression": "ADD balance :amount",
                "ConditionExpression": "balance >= :least", "ExpressionAttributeValues": values,
            }
        }  # fmt: skip

    def move(number: int, node: PostgresWorld) -> None:
        for batch in range(2):
            transfers = [
                {"TransactItems": [change(accounts[a], -7), change(accounts[(a + 1 + number % 4) % 5], 7)]}
                for a in [(place + batch) % 5 for place in range(BATCH)]
            ]
            for answer in node.calls("dynamodb", "TransactWriteItems", transfers):
                if isinstance(answer, ServiceError):
                    assert answer.code == "TransactionCanceledException"
                else:
                    moved.extend([1] * len(succeeded([answer])))

    at_once(move, nodes)

    found = nodes[0].call("dynamodb", "Scan", TableName="accounts")["Items"]
    balances = [int(item["balance"]["N"]) for item in found]
    assert sum(balances) == 100
    assert min(balances) >= 0
    assert len(moved) >= 10


def leave_mark(tx: Transaction, queue: str, id: str) -> None:
    at = tx.now
    tx.messages.put_many([NewMessage(queue, id, id, "md5", "sender", at, at, 10**15)])


def marks(nodes: Nodes, queue: str) -> Counter[str]:
    found = nodes[0].store.run(lambda tx: tx.messages.visible(queue, tx.now, limit=10_000))
    return Counter(one.body for one in found)


def promises(ids: Sequence[str], place: str) -> list[Delivery]:
    return [Delivery(id, HERE, "test", "arn:s", place, {}, POLICY, place, START, START) for id in ids]  # noqa: A001


def set_timer(tx: Transaction, name: str) -> None:
    tx.timers.set("test", name, START)


def until_idle(node: PostgresWorld, step: Callable[[Transaction], int]) -> None:
    """Run a step until it has found nothing. Another node may hold what is left, and then settles it."""
    for _ in range(ROUNDS_MAX):
        (found,) = succeeded(node.together(step))
        if not found:
            return
    raise AssertionError("there is always more to do")


def test_delivery_inside_is_made_by_one_node_once(nodes: Nodes) -> None:
    ids = [f"inside/{number}" for number in range(160)]
    nodes[0].store.run(lambda tx: [tx.deliveries.put(one) for one in promises(ids, INSIDE)])

    def deliver(tx: Transaction) -> int:
        found = tx.deliveries.due(INSIDE, START, limit=7)
        for one in found:
            leave_mark(tx, "delivered", one.id)
            tx.deliveries.delete(one.id, one.fence)
        return len(found)

    at_once(lambda _, node: until_idle(node, deliver), nodes)

    assert marks(nodes, "delivered") == Counter(ids)
    assert nodes[0].store.run(lambda tx: tx.deliveries.next([INSIDE])) is None


def test_delivery_outside_is_settled_once_also_by_late_holders(nodes: Nodes) -> None:
    """Each lease ends at once, so several nodes attempt a delivery; only the latest holder settles it."""
    ids = [f"outside/{number}" for number in range(40)]
    nodes[0].store.run(lambda tx: [tx.deliveries.put(one) for one in promises(ids, OUTSIDE)])

    def attempt(node: PostgresWorld) -> int:
        (claimed,) = succeeded(node.together(lambda tx: tx.deliveries.claim_due(OUTSIDE, START, lease_ms=0, limit=5)))
        for one in claimed:
            node.together(partial(settle, claimed=one))
        return len(claimed)

    def settle(tx: Transaction, claimed: Delivery) -> None:
        held = tx.deliveries.held(claimed.id, claimed.fence)
        if held is not None:
            leave_mark(tx, "settled", held.id)
            tx.deliveries.delete(held.id, held.fence)

    def work(_: int, node: PostgresWorld) -> None:
        for _ in range(ROUNDS_MAX):
            if not attempt(node):
                return

    at_once(work, nodes)
    for _ in range(ROUNDS_MAX):
        if not attempt(nodes[0]):
            break

    assert marks(nodes, "settled") == Counter(ids)


def test_timer_fires_on_one_node_once(nodes: Nodes) -> None:
    names = [f"timer/{number}" for number in range(160)]
    nodes[0].together(*[partial(set_timer, name=name) for name in names])

    def fire(tx: Transaction) -> int:
        found = tx.timers.due("test", START, 7)
        for name, _ in found:
            leave_mark(tx, "fired", name)
            tx.timers.clear("test", name)
        return len(found)

    at_once(lambda _, node: until_idle(node, fire), nodes)

    assert marks(nodes, "fired") == Counter(names)


def test_hastened_timers_reach_the_earliest_instant(nodes: Nodes) -> None:
    def hasten(number: int, node: PostgresWorld) -> None:
        succeeded(
            node.together(
                *[
                    lambda tx, n=n: tx.timers.hasten("hasty", f"t{n % 3}", START + 100 - n - number)
                    for n in range(BATCH)
                ]
            )
        )
        node.store.run(lambda tx: tx.timers.next("hasty"))

    at_once(hasten, nodes)

    found = nodes[0].store.run(lambda tx: tx.timers.due("hasty", START + 1_000, 10))
    latest = {f"t{n % 3}": START + 100 - n - (NODES - 1) for n in range(BATCH)}
    assert dict(found) == latest


def test_token_has_its_effect_once(nodes: Nodes) -> None:
    def use(tx: Transaction, token: str) -> str:
        used = tx.tokens.find("test", HERE, token, START)
        if used is not None:
            return str(used.answer["by"])
        answer = tx.entropy.hex(8)
        leave_mark(tx, "used", token)
        tx.tokens.keep("test", HERE, token, UsedToken("digest", {"by": answer}), expires_at=START + 1_000_000)
        return answer

    told: list[tuple[str, str]] = []

    def work(_: int, node: PostgresWorld) -> None:
        tokens = [f"token-{number % 5}" for number in range(BATCH)]
        answers = succeeded(node.together(*[lambda tx, token=token: use(tx, token) for token in tokens]))
        told.extend(zip(tokens, answers, strict=True))

    at_once(work, nodes)

    assert marks(nodes, "used") == Counter(f"token-{number}" for number in range(5))
    assert len(set(told)) == 5


def test_name_belongs_to_one_of_those_who_ask_for_it_at_once(nodes: Nodes) -> None:
    """Each node asks for other attributes, so only one of the requests can succeed; all nodes see its queue."""
    created: list[int] = []

    def create(number: int, node: PostgresWorld) -> None:
        for name in ("one", "two"):
            params = {"QueueName": name, "Attributes": {"DelaySeconds": str(number + 1)}}
            (answer,) = node.calls("sqs", "CreateQueue", [params])
            if isinstance(answer, ServiceError):
                assert answer.code == "QueueNameExists"
            else:
                succeeded([answer])
                created.append(number)

    at_once(create, nodes)

    assert len(created) == 2
    seen = {json.dumps(sorted(node.call("sqs", "ListQueues", QueueNamePrefix="o")["QueueUrls"])) for node in nodes}
    assert len(seen) == 1


def test_definition_that_one_node_changes_is_what_all_nodes_use_next(nodes: Nodes) -> None:
    """Each node remembers the queue, and asks for nothing but whether a definition has changed."""
    create_queue(nodes, "changing")

    def told(node: PostgresWorld) -> str:
        params = {"QueueUrl": "changing", "AttributeNames": ["DelaySeconds"]}
        (answer,) = succeeded(node.calls("sqs", "GetQueueAttributes", [params]))
        return str(answer["Attributes"]["DelaySeconds"])

    seen = [[told(node) for node in nodes]]
    for number in (1, 2):
        nodes[number].call("sqs", "SetQueueAttributes", QueueUrl="changing", Attributes={"DelaySeconds": str(number)})
        seen.append([told(node) for node in nodes])
    nodes[3].call("sqs", "DeleteQueue", QueueUrl="changing")
    refused = [node.calls("sqs", "SendMessage", [{"QueueUrl": "changing", "MessageBody": "m"}])[0] for node in nodes]

    assert seen == [["0"] * NODES, ["1"] * NODES, ["2"] * NODES]
    assert {one.code for one in refused if isinstance(one, ServiceError)} == {"QueueDoesNotExist"}
    assert all(isinstance(one, ServiceError) for one in refused)


def test_message_that_was_accepted_is_not_lost_beside_a_purge(nodes: Nodes) -> None:
    """The purge comes first; whatever is sent in its minute after it may be deleted, but later messages stay."""
    create_queue(nodes, "brief")
    sent: list[str] = []

    def work(number: int, node: PostgresWorld) -> None:
        if number == 0:
            node.call("sqs", "PurgeQueue", QueueUrl="brief")
            return
        for batch in range(3):
            sends = [{"QueueUrl": "brief", "MessageBody": f"{number}/{batch}/{place}"} for place in range(4)]
            sent.extend(answer["MessageId"] for answer in succeeded(node.calls("sqs", "SendMessage", sends)))

    at_once(work, nodes)
    after = [
        str(answer["MessageId"])
        for node in nodes
        for answer in succeeded(node.calls("sqs", "SendMessage", [{"QueueUrl": "brief", "MessageBody": "after"}] * 4))
    ]
    found: list[str] = []
    url = nodes[0].call("sqs", "GetQueueUrl", QueueName="brief")["QueueUrl"]
    drain(
        nodes[5], url, lambda messages: found.extend(one["MessageId"] for one in messages),
        lambda: set(after) <= set(found),
    )  # fmt: skip

    assert set(found) <= {*sent, *after}
    assert len(found) == len(set(found))


def test_tail_shows_each_event_of_all_nodes_once(nodes: Nodes) -> None:
    """Who asks while others commit skips nothing: the numbers of a tail's events are in the order of the commits."""
    tail = nodes[0].call("redrive", "StartTail")["tail"]
    put = [f"{number}/{place}" for number in range(1, NODES) for place in range(6 * BATCH)]
    seen: list[str] = []

    def work(number: int, node: PostgresWorld) -> None:
        if number == 0:
            after = ""
            for _ in range(50 * ROUNDS_MAX):
                answer = node.call("redrive", "GetTail", tail=tail, after=after)
                after = answer["after"]
                seen.extend(json.loads(one["event"])["detail-type"] for one in answer["events"])
                if len(seen) >= len(put):
                    return
            return
        for batch in range(6):
            names = [f"{number}/{batch * BATCH + place}" for place in range(BATCH)]
            entries = [{"Source": "shop", "DetailType": name, "Detail": "{}"} for name in names]
            succeeded(node.calls("events", "PutEvents", [{"Entries": [entry]} for entry in entries]))

    at_once(work, nodes)

    nodes[0].call("redrive", "EndTail", tail=tail)
    assert sorted(seen) == sorted(put)
