"""Bad letters, and bad days of AWS: a run says what is wrong, loses nothing, and its journal is right."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.deadletters.account import Account
from redrive.deadletters.causes import cause_of
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.gates import Gate
from redrive.deadletters.hiding import Hidden
from redrive.deadletters.journal import Journal, open_journal
from redrive.deadletters.plan import Action, Canary, Plan, Rule, Stop
from redrive.deadletters.ports import Ports
from redrive.deadletters.running import Redriving
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Wishes
from redrive.testing.world import World
from tests.unit.deadletters.killing import received


class Spoiled:
    """A client of which something goes wrong, as often as is said, before a call of an operation."""

    def __init__(self, client: Any, operation: str, spoil: Callable[[], None], after: int = 0) -> None:
        self._client = client
        self._operation = operation
        self._spoil = spoil
        self._left = after
        self.meta = client.meta

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**params: Any) -> Any:
            if name == self._operation:
                self._left -= 1
                if self._left < 0:
                    self._spoil()
            return getattr(self._client, name)(**params)

        return call


def failing(code: str, status: int = 400) -> Callable[[], None]:
    def fail() -> None:
        raise ClientError(
            {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}, "X"
        )

    return fail


@dataclass
class Yard:
    """A world with a dead-letter queue of messages, which go to the queue `aside`."""

    world: World
    dead: str
    aside: str
    bodies: list[str] = field(default_factory=list)
    disk: io.BytesIO = field(default_factory=io.BytesIO)
    waited: list[float] = field(default_factory=list)

    def put(self, *bodies: str, **attributes: str) -> None:
        shown = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
        for body in bodies:
            self.world.client("sqs").send_message(QueueUrl=self.dead, MessageBody=body, MessageAttributes=shown)
            self.bodies.append(body)

    @property
    def journal(self) -> Journal:
        return open_journal(self.disk, lambda: None, self.dead)

    def run(self, sqs: Any = None, sender: Any = None, *, gates: tuple[Gate, ...] = ()) -> Account:
        """Run the plan that sends all letters to `aside`; the clients may be spoiled."""
        own = self.world.client("sqs")
        sqs, sender = sqs or own, sender or own
        causes = {cause_of(read_letter(one)) for one in self.seen()}
        to = Destination(To.QUEUE, self.aside)
        rules = tuple(Rule(cause, Action.REDRIVE, to) for cause in causes)
        plan = Plan(self.dead, rules, canary=Canary(0, 0), stop=Stop(errors=5))
        now = self.world.clock.now
        ports = Ports(
            sqs, Sender(lambda _: sender), self.journal, now, self._wait, lambda: (), lambda _: None, gates, receives=2
        )  # fmt: skip
        run = Redriving(plan, ports, Hidden(sqs, self.dead, io.StringIO(), hidden_s=60, wait_s=0, now=now), Wishes())
        list(run.rounds())
        return run.account

    def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.world.advance(seconds=seconds)

    def seen(self) -> list[Any]:
        found = []
        while messages := self.world.client("sqs").receive_message(
            QueueUrl=self.dead, MaxNumberOfMessages=10, VisibilityTimeout=30, MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        ).get("Messages"):  # fmt: skip
            found += messages
        self.world.advance(seconds=31)
        return found

    def arrived(self) -> list[str]:
        with suppress(ClientError):
            return sorted(one["Body"] for one in received(self.world, self.aside))
        return []

    def left(self) -> list[str]:
        self.world.advance(seconds=61)
        return sorted(one["Body"] for one in received(self.world, self.dead))


@pytest.fixture
def yard() -> Iterator[Yard]:
    world = World(seed=1)
    sqs = world.client("sqs")
    yield Yard(world, sqs.create_queue(QueueName="dead")["QueueUrl"], sqs.create_queue(QueueName="aside")["QueueUrl"])
    world.close()


def test_letters_of_every_form_go_as_they_are(yard: Yard) -> None:
    """No JSON, JSON that ends early, JSON that is deep, a list, one of 1 MiB: each goes with its bytes unchanged."""
    yard.put("no JSON", '{"order": 1', "[" * 5_000, "[1, 2]", "null", "\u00e4\u20ac", "x" * 1_048_000, "y" * 1_048_000)

    account = yard.run()

    assert (account.sent, account.deleted, account.refused) == (8, 8, 0)
    assert yard.arrived() == sorted(yard.bodies)


def test_letter_whose_attributes_are_missing_in_part_is_of_an_unknown_kind_and_goes(yard: Yard) -> None:
    yard.put("{}", RULE_ARN="arn:aws:events:us-east-1:000000000000:rule/r")
    yard.put("{}", ERROR_CODE="TIMEOUT")
    yard.put('{"requestContext": {"condition": 7}, "requestPayload": null}')
    yard.put('{"KinesisBatchInfo": 3, "requestContext": []}', EXECUTION_ID="e")

    assert yard.run().sent == 4


def test_letters_that_somebody_else_takes_meanwhile_are_not_sent(yard: Yard) -> None:
    """The run is so slow that its letters are visible again; another consumer takes and deletes some."""
    yard.put(*(f"letter-{number}" for number in range(10)))
    taken: list[str] = []

    class Slow:
        """A gate that takes longer than letters are hidden, once."""

        def refusal(self, *_: object) -> None:
            if not taken:
                yard.world.advance(seconds=90)
                sqs = yard.world.client("sqs")
                for one in sqs.receive_message(QueueUrl=yard.dead, MaxNumberOfMessages=4)["Messages"]:
                    taken.append(one["Body"])
                    sqs.delete_message(QueueUrl=yard.dead, ReceiptHandle=one["ReceiptHandle"])

    account = yard.run(gates=(Slow(),))

    assert len(taken) == 4
    assert sorted([*yard.arrived(), *taken]) == sorted(yard.bodies)
    assert (account.sent, account.doubtful, yard.left()) == (6, [], [])


def test_target_that_is_deleted_in_the_middle_stops_the_run_and_the_rest_stays(yard: Yard) -> None:
    yard.put(*(f"letter-{number}" for number in range(30)))
    sqs = yard.world.client("sqs")

    def delete() -> None:
        with suppress(ClientError):
            sqs.delete_queue(QueueUrl=yard.aside)

    account = yard.run(sender=Spoiled(sqs, "send_message_batch", delete, after=1))

    assert account.sent == 10
    assert account.stopped == "10 letters were refused, or their answer was lost"
    assert any("NonExistentQueue" in reason or "does not exist" in reason for reason in account.stays)
    assert len(yard.left()) == 20
    assert (len(yard.journal.sent_letters), yard.journal.doubts) == (10, {})


@pytest.mark.parametrize("operation", ["receive_message", "send_message_batch", "delete_message_batch"])
def test_credentials_that_expire_stop_the_run_which_goes_on_when_they_are_renewed(yard: Yard, operation: str) -> None:
    yard.put(*(f"letter-{number}" for number in range(30)))
    own = yard.world.client("sqs")
    spoiled = Spoiled(own, operation, failing("ExpiredToken", 403), after=1)

    account = yard.run(sqs=spoiled, sender=spoiled)
    yard.world.advance(seconds=61)
    again = yard.run()

    assert "AWS does not accept the credentials any more (ExpiredToken): renew them" in account.stopped
    assert again.stopped == ""
    assert yard.arrived() == sorted(yard.bodies)
    assert yard.left() == []


@pytest.mark.parametrize("operation", ["receive_message", "send_message_batch", "delete_message_batch"])
def test_throttling_is_waited_for(yard: Yard, operation: str) -> None:
    yard.put(*(f"letter-{number}" for number in range(30)))
    times = iter(range(3))

    def throttle() -> None:
        if next(times, None) is not None:
            failing("RequestThrottled")()

    spoiled = Spoiled(yard.world.client("sqs"), operation, throttle, after=1)

    account = yard.run(sqs=spoiled, sender=spoiled)

    assert (account.sent, account.stopped) == (30, "")
    assert sum(yard.waited) > 0
    assert yard.arrived() == sorted(yard.bodies)


def test_patch_for_json_leaves_letters_that_are_none(yard: Yard) -> None:
    yard.put("no JSON")
    (message,) = yard.seen()
    rule = Rule(cause_of(read_letter(message)), Action.REDRIVE, patch=({"op": "add", "path": "/a", "value": 1},))

    with pytest.raises(ValueError, match="Expecting value"):
        rule.text_of(read_letter(message))

    assert json.loads(rule.text_of(read_letter({"Body": "{}"}))) == {"a": 1}
