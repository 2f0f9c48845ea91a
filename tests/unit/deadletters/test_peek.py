"""A look at a queue sees each letter once and leaves the queue as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from redrive.deadletters.peek import HIDDEN_S_MAX, HIDDEN_S_MIN, depth_of, hidden_s_for, looking
from redrive.testing.world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def sqs(world: World) -> Any:
    return world.client("sqs")


def queue(sqs: Any, count: int, **attributes: str) -> str:
    name = "dead.fifo" if attributes else "dead"
    url = str(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])
    for number in range(count):
        more = {"MessageGroupId": f"g{number % 2}", "MessageDeduplicationId": str(number)} if attributes else {}
        sqs.send_message(QueueUrl=url, MessageBody=f"letter {number}", **more)
    return url


def test_look_sees_each_letter_once_and_shows_all_again(sqs: Any, world: World) -> None:
    url = queue(sqs, 37)

    with looking(sqs, url, hidden_s=60, now=world.clock.now) as look:
        bodies = [letter.body for letter in look.letters()]
        assert depth_of(sqs, url).visible == 0

    assert sorted(bodies) == sorted(f"letter {number}" for number in range(37))
    assert depth_of(sqs, url).visible == look.seen == 37


def test_look_takes_no_more_letters_than_it_may(sqs: Any, world: World) -> None:
    url = queue(sqs, 37)

    with looking(sqs, url, hidden_s=60, now=world.clock.now) as look:
        assert len(list(look.letters(13))) == 13
        assert depth_of(sqs, url).hidden == 13


def test_look_that_is_broken_off_shows_its_letters_again(sqs: Any, world: World) -> None:
    url = queue(sqs, 37)

    def interrupted() -> None:
        with looking(sqs, url, hidden_s=60, now=world.clock.now) as look:
            for _ in look.letters():
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert depth_of(sqs, url).visible == 37


def test_letters_come_back_by_themselves_after_a_look_that_was_killed(sqs: Any, world: World) -> None:
    url = queue(sqs, 3)
    with looking(sqs, url, hidden_s=60, now=world.clock.now) as killed:
        list(killed.letters())
        world.advance(seconds=60)

        assert depth_of(sqs, url).visible == 3


def test_letter_that_somebody_else_received_meanwhile_stays_with_him(sqs: Any, world: World) -> None:
    url = queue(sqs, 1)
    with looking(sqs, url, hidden_s=60, now=world.clock.now) as look:
        list(look.letters())
        world.advance(seconds=61)
        (held,) = sqs.receive_message(QueueUrl=url, VisibilityTimeout=600)["Messages"]

    assert depth_of(sqs, url).hidden == 1
    sqs.delete_message(QueueUrl=url, ReceiptHandle=held["ReceiptHandle"])
    assert depth_of(sqs, url).visible == 0


def test_look_at_a_fifo_queue_sees_the_first_of_each_group_and_keeps_the_order(sqs: Any, world: World) -> None:
    url = queue(sqs, 6, FifoQueue="true")

    with looking(sqs, url, hidden_s=60, now=world.clock.now) as look:
        seen = [(letter.group_id, letter.body) for letter in look.letters()]

    assert {group for group, _ in seen} == {"g0", "g1"}
    after = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [one["Body"] for one in after if one["Body"][-1] in "024"] == ["letter 0", "letter 2", "letter 4"]
    assert depth_of(sqs, url).is_fifo


@pytest.mark.parametrize(("messages", "hidden"), [(0, HIDDEN_S_MIN), (100_000, 560), (10**9, HIDDEN_S_MAX)])
def test_letters_are_hidden_for_longer_than_a_slow_look_takes(messages: int, hidden: int) -> None:
    assert hidden_s_for(messages) == hidden
