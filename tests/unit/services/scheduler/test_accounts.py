"""Queues of other accounts, as targets and for dead letters: their policies decide, together with the role's."""

from __future__ import annotations

import json
from typing import Any

import pytest

STRANGER = "111111111111"
ELSEWHERE = f"arn:aws:sqs:us-east-1:{STRANGER}:elsewhere"


@pytest.fixture
def elsewhere(desk: Any) -> Any:
    """A queue of another account, and the verbs to open it to everyone and to read it."""
    owner = desk.world.caller(account=STRANGER)
    call = desk.world.engine.call
    url = call(owner, "sqs", "CreateQueue", {"QueueName": "elsewhere"})["QueueUrl"]

    class Elsewhere:
        def open_to(self, principal: str) -> None:
            statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "sqs:SendMessage"}
            policy = {"Version": "2012-10-17", "Statement": {**statement, "Resource": ELSEWHERE}}
            attributes = {"Policy": json.dumps(policy)}
            call(owner, "sqs", "SetQueueAttributes", {"QueueUrl": url, "Attributes": attributes})

        def take(self) -> list[Any]:
            answer = call(owner, "sqs", "ReceiveMessage", {"QueueUrl": url, "MessageAttributeNames": ["All"]})
            return list(answer.get("Messages", []))

    return Elsewhere()


@pytest.mark.parametrize("principal", ["000000000000", "arn:aws:iam::000000000000:role/runs"])
def test_queue_of_another_account_is_reached_if_its_policy_allows_it(desk, elsewhere, principal):
    elsewhere.open_to(principal)
    desk.create("rate(1 hour)", Target=desk.target(ELSEWHERE, Input="hello"))

    desk.world.advance(minutes=1)

    assert [message["Body"] for message in elsewhere.take()] == ["hello"]


@pytest.mark.parametrize("principal", [None, "arn:aws:iam::000000000000:role/other"])
def test_queue_of_another_account_that_does_not_allow_it_is_a_permanent_failure(desk, elsewhere, principal):
    if principal is not None:
        elsewhere.open_to(principal)
    desk.create("rate(1 hour)", Target=desk.target(ELSEWHERE, DeadLetterConfig={"Arn": desk.dead}))

    desk.world.advance(minutes=1)

    (letter,) = desk.take("dead")
    told = {name: value["StringValue"] for name, value in letter["MessageAttributes"].items()}
    assert elsewhere.take() == []
    assert "no resource-based policy allows the sqs:SendMessage action" in told["ERROR_MESSAGE"]


def test_role_must_allow_it_too_whatever_the_policy_says(desk, elsewhere):
    elsewhere.open_to("*")
    weak = desk.make_role("weak")
    desk.create("rate(1 hour)", Target={"Arn": ELSEWHERE, "RoleArn": weak})

    desk.world.advance(minutes=1)

    assert elsewhere.take() == []


@pytest.mark.parametrize(("principal", "letters"), [("000000000000", 1), ("222222222222", 0)])
def test_dead_letters_go_to_another_account_if_its_policy_allows_it(desk, elsewhere, principal, letters):
    elsewhere.open_to(principal)
    missing = "arn:aws:sqs:us-east-1:000000000000:missing"
    desk.create("rate(1 hour)", Target=desk.target(missing, DeadLetterConfig={"Arn": ELSEWHERE}))

    desk.world.advance(minutes=1)

    assert len(elsewhere.take()) == letters
