"""The pytest plugin as a user's test suite meets it."""

from __future__ import annotations

import pytest

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
