"""The pytest plugin as a user's test suite meets it."""

from __future__ import annotations

import pytest

from redrive.testing.clients import reached_by_user_code
from redrive.testing.world import World

pytest_plugins = ["pytester"]


def test_fixture_gives_an_engine_in_virtual_time_with_boto3_clients(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_delayed_message_arrives_after_its_delay(redrive):
            sqs = redrive.client("sqs")
            queue = sqs.create_queue(QueueName="orders")["QueueUrl"]
            sqs.send_message(QueueUrl=queue, MessageBody="hello", DelaySeconds=900)
            assert "Messages" not in sqs.receive_message(QueueUrl=queue)
            redrive.advance(minutes=15)
            assert sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == "hello"

        def test_each_test_has_an_engine_of_its_own(redrive, redrive_clock):
            assert redrive.client("sqs").list_queues().get("QueueUrls", []) == []
            assert redrive_clock.now() == redrive.now
        """
    )

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=2)


def test_client_of_a_world_used_inside_a_function_makes_each_call_once() -> None:
    """A test's own client, used by a handler that runs in the world, is answered by one gateway, once."""
    world = World()
    sqs = world.client("sqs")
    queue_url = sqs.create_queue(QueueName="orders")["QueueUrl"]

    with reached_by_user_code(world.gateway):
        sqs.send_message(QueueUrl=queue_url, MessageBody="once")

    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["ApproximateNumberOfMessages"])
    assert attributes["Attributes"]["ApproximateNumberOfMessages"] == "1"
