"""Fair queues: groups that hold much of what is in flight wait for those that hold little."""

from __future__ import annotations

import pytest

from redrive.services.sqs.model.groups import noisy_groups


@pytest.fixture
def send(call, queue):
    def send(group: str | None, count: int = 1) -> None:
        ids = {} if group is None else {"MessageGroupId": group}
        for _ in range(count):
            call("SendMessage", QueueUrl=queue, MessageBody=group or "-", **ids)

    return send


@pytest.fixture
def receive(call, queue):
    """The groups of up to so many received messages, in order."""

    def receive(count: int = 10) -> str:
        received = call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=count)
        return "".join(message["Body"] for message in received.get("Messages", []))

    return receive


def test_messages_of_a_quiet_group_come_before_those_of_a_noisy_one(send, receive):
    send("n", 40)
    assert receive() == "n" * 10
    send("q", 2)

    assert sorted(receive(3)) == ["n", "q", "q"]


def test_noisy_group_gives_its_messages_when_there_are_no_others(send, receive):
    send("n", 40)

    assert [receive() for _ in range(5)] == ["n" * 10] * 4 + [""]


def test_messages_come_in_order_until_ten_of_a_group_are_in_flight(send, receive):
    send("n", 20)
    receive(9)
    send("q")

    assert receive(1) == "n"


def test_group_is_noisy_no_longer_when_its_messages_have_come_back(world, send, receive):
    send("n", 20)
    receive()
    send("q")
    world.advance(seconds=30)

    assert receive(1) == "n"


def test_quiet_groups_are_served_oldest_first(world, send, receive):
    send("n", 20)
    receive()
    for group in "zab":
        send(group)
        world.advance(seconds=1)

    assert [receive(1) for _ in range(4)] == ["z", "a", "b", "n"]


def test_delayed_messages_of_quiet_groups_wait_for_their_time(world, call, queue, send, receive):
    send("n", 20)
    receive()
    call("SendMessage", QueueUrl=queue, MessageBody="q", MessageGroupId="q", DelaySeconds=5)

    assert receive(1) == "n"
    world.advance(seconds=5)
    assert receive(1) == "q"


def test_messages_without_a_group_keep_their_order(send, receive):
    send(None, 5)
    send("n", 20)

    assert receive() == "-----nnnnn"


@pytest.mark.parametrize(
    ("in_flight", "noisy"),
    [
        ({}, []),
        ({"a": 9}, []),
        ({"a": 10}, ["a"]),
        ({"a": 10, None: 90}, []),
        ({"a": 11, None: 90}, ["a"]),
        ({"a": 50, "b": 50, "c": 1}, ["a", "b"]),
        ({None: 500}, []),
    ],
)
def test_group_is_noisy_with_ten_messages_and_more_than_a_tenth_of_all(in_flight, noisy):
    assert noisy_groups(in_flight) == noisy
