"""Queues are created once, found by name, listed in pages, purged once a minute, and deleted with all they hold."""

from __future__ import annotations

import pytest

from redrive.core.scope import Caller, Scope
from redrive.testing.world import World

MISSING = ("QueueDoesNotExist", "The specified queue does not exist.")


def test_created_queue_has_a_url_of_host_account_and_name(call):
    created = call("CreateQueue", QueueName="orders")

    assert created == {"QueueUrl": "http://127.0.0.1:4566/000000000000/orders"}
    assert call("GetQueueUrl", QueueName="orders") == created


def test_creating_again_with_the_same_attributes_finds_the_queue(call):
    first = call("CreateQueue", QueueName="orders", Attributes={"DelaySeconds": "5"})

    assert call("CreateQueue", QueueName="orders", Attributes={"DelaySeconds": "5"}) == first
    assert call("CreateQueue", QueueName="orders") == first


def test_creating_again_with_another_attribute_is_refused(call, refusal):
    call("CreateQueue", QueueName="orders", Attributes={"DelaySeconds": "5", "VisibilityTimeout": "9"})

    assert refusal("CreateQueue", QueueName="orders", Attributes={"VisibilityTimeout": "9", "DelaySeconds": "6"}) == (
        "QueueNameExists",
        "A queue already exists with the same name and a different value for attribute DelaySeconds",
    )


@pytest.mark.parametrize("name", ["a.b", "a b", "x" * 81, "ä"])
def test_queue_name_outside_the_charset_or_too_long_is_refused(refusal, name):
    assert refusal("CreateQueue", QueueName=name) == (
        "InvalidParameterValueException",
        "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
    )


@pytest.mark.parametrize("name", ["orders", ".fifo", "a b.fifo", "a.b.fifo", "a" * 76 + ".fifo"])
def test_name_of_a_fifo_queue_ends_in_fifo(refusal, name):
    answer = refusal("CreateQueue", QueueName=name, Attributes={"FifoQueue": "true"})

    assert answer == (
        "InvalidParameterValueException",
        (
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, "
            "must end with .fifo suffix and be 1 to 80 in length."
        ),
    )


def test_standard_queue_cannot_be_named_as_a_fifo_queue(refusal):
    code, message = refusal("CreateQueue", QueueName="orders.fifo")

    assert (code, message[:12]) == ("InvalidParameterValueException", "Can only inc")


def test_queue_cannot_be_created_as_no_fifo_queue(refusal):
    answer = refusal("CreateQueue", QueueName="orders", Attributes={"FifoQueue": "false"})

    assert answer == ("InvalidAttributeName", "Unknown Attribute FifoQueue.")


def test_refused_creation_leaves_no_queue_behind(call, refusal):
    refusal("CreateQueue", QueueName="orders", Attributes={"DelaySeconds": "901"})

    assert refusal("GetQueueUrl", QueueName="orders") == MISSING
    assert call("ListQueues") == {}


def test_queues_of_other_accounts_and_regions_are_other_queues(world: World):
    world.client("sqs", account="111111111111").create_queue(QueueName="orders")

    assert "QueueUrls" not in world.client("sqs").list_queues()
    assert "QueueUrls" not in world.client("sqs", account="111111111111", region="eu-west-1").list_queues()


@pytest.mark.parametrize(
    "url",
    [
        "orders",
        "000000000000/orders",
        "https://sqs.us-east-1.amazonaws.com/000000000000/orders",
        "http://localhost:4566/queue/us-east-1/000000000000/orders",
        "http://elsewhere/000000000000/orders/",
    ],
)
def test_queue_is_found_by_the_end_of_any_url(call, queue, url):
    assert call("SendMessage", QueueUrl=url, MessageBody="1")["MessageId"]


@pytest.mark.parametrize(
    "url", ["nothing", "http://[", "/", "http://h/000000000000/nothing", "http://h/111111111111/orders"]
)
def test_url_of_no_queue_is_refused(refusal, queue, url):
    assert refusal("SendMessage", QueueUrl=url, MessageBody="1") == MISSING


def test_empty_queue_url_is_a_missing_parameter(refusal):
    assert refusal("ReceiveMessage", QueueUrl="") == (
        "MissingRequiredParameterException",
        "The request must contain the parameter QueueUrl.",
    )


def test_queues_are_listed_by_prefix_in_order_of_names(call):
    for name in ("b-2", "a", "b-1"):
        call("CreateQueue", QueueName=name)

    urls = call("ListQueues", QueueNamePrefix="b-")["QueueUrls"]

    assert [url.rsplit("/", 1)[1] for url in urls] == ["b-1", "b-2"]


def test_pages_of_queues_follow_one_another_without_gap(call):
    for name in ("a", "b", "c"):
        call("CreateQueue", QueueName=name)

    first = call("ListQueues", MaxResults=2)
    second = call("ListQueues", MaxResults=2, NextToken=first["NextToken"])

    assert [url[-1] for url in first["QueueUrls"] + second["QueueUrls"]] == ["a", "b", "c"]
    assert "NextToken" not in second


def test_page_that_ends_with_the_last_queue_gives_no_token(call, queue):
    assert call("ListQueues", MaxResults=1) == {"QueueUrls": [queue]}


def test_list_without_max_results_gives_no_token(call, queue):
    assert "NextToken" not in call("ListQueues")


@pytest.mark.parametrize("size", [0, 1001])
def test_page_size_outside_its_range_is_refused(refusal, size):
    assert refusal("ListQueues", MaxResults=size)[0] == "InvalidParameterValueException"


def test_token_of_nobody_is_refused(refusal):
    assert refusal("ListQueues", MaxResults=1, NextToken="?")[0] == "InvalidParameterValueException"


def test_purge_forgets_messages_in_every_state(call, queue):
    for body in ("in flight", "visible"):
        call("SendMessage", QueueUrl=queue, MessageBody=body)
    call("SendMessage", QueueUrl=queue, MessageBody="delayed", DelaySeconds=9)
    call("ReceiveMessage", QueueUrl=queue)

    call("PurgeQueue", QueueUrl=queue)

    shown = call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert [shown[name] for name in shown if name.startswith("Approximate")] == ["0", "0", "0"]


def test_second_purge_within_a_minute_is_refused(world, call, refusal, queue):
    call("PurgeQueue", QueueUrl=queue)
    world.advance(seconds=59.999)

    assert refusal("PurgeQueue", QueueUrl=queue) == (
        "PurgeQueueInProgress",
        "Only one PurgeQueue operation on orders is allowed every 60 seconds.",
    )
    world.advance(seconds=0.001)
    assert call("PurgeQueue", QueueUrl=queue) == {}


def test_deleted_queue_is_gone_and_a_new_one_of_its_name_is_empty(call, refusal, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    call("DeleteQueue", QueueUrl=queue)

    assert refusal("DeleteQueue", QueueUrl=queue) == MISSING
    call("CreateQueue", QueueName="orders")
    assert call("ReceiveMessage", QueueUrl=queue) == {}


def test_messages_of_a_deleted_queue_take_no_room(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    call("DeleteQueue", QueueUrl=queue)

    assert world.store.rows(["messages"]) == [[]]


def test_deleting_a_queue_wakes_those_who_wait_for_it(world, call, queue):
    topics: list[frozenset[str]] = []
    world.store.on_commit(topics.append)

    call("DeleteQueue", QueueUrl=queue)

    assert [topic.split(":")[0] for topic in topics[-1]] == ["queue"]


def test_tags_are_added_replaced_listed_and_taken_off(call, queue):
    call("TagQueue", QueueUrl=queue, Tags={"team": "a", "stage": "test"})
    call("TagQueue", QueueUrl=queue, Tags={"team": "b"})
    call("UntagQueue", QueueUrl=queue, TagKeys=["stage", "unknown"])

    assert call("ListQueueTags", QueueUrl=queue) == {"Tags": {"team": "b"}}


def test_queue_without_tags_lists_none(call, queue):
    assert call("ListQueueTags", QueueUrl=queue) == {}


def test_queue_is_created_with_its_tags(call):
    created = call("CreateQueue", QueueName="orders", tags={"team": "a"})

    assert call("ListQueueTags", QueueUrl=created["QueueUrl"]) == {"Tags": {"team": "a"}}


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ({"": "x"}, "Tag keys must be between 1 and 128 characters in length."),
        ({"k" * 129: "x"}, "Tag keys must be between 1 and 128 characters in length."),
        ({"k": "v" * 257}, "Tag values must be between 0 and 256 characters in length."),
        ({"aws:x": "y"}, "Tag key aws:x is reserved: keys that begin with aws: belong to AWS."),
    ],
)
def test_tag_outside_the_rules_is_refused(refusal, queue, tags, message):
    assert refusal("TagQueue", QueueUrl=queue, Tags=tags) == ("InvalidParameterValueException", message)


def test_queues_of_one_name_in_two_regions_have_two_urls_and_each_url_means_its_own(world):
    regions = ("us-east-1", "eu-west-1", "ap-south-1")
    callers = [Caller(Scope("000000000000", region), "r") for region in regions]
    urls = [world.engine.call(one, "sqs", "CreateQueue", {"QueueName": "orders"})["QueueUrl"] for one in callers]
    asked = [{"QueueUrl": url, "AttributeNames": ["QueueArn"]} for url in urls]

    arns = [world.engine.call(callers[0], "sqs", "GetQueueAttributes", one)["Attributes"]["QueueArn"] for one in asked]

    assert len(set(urls)) == 3
    assert arns == [f"arn:aws:sqs:{region}:000000000000:orders" for region in regions]
