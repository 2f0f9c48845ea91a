"""What a run does beside the usual: canaries, overridden gates, refusals, returns, lost answers, its pace."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError

from redrive.deadletters.destinations import Destination, Nowhere, To, of_arn, read_destination, usual
from redrive.deadletters.journal import Journal, Known, MalformedJournal, open_journal
from redrive.deadletters.letter import Failure, Form, Letter, Origin, Work
from redrive.deadletters.outcomes import Accepted, Parcel, Refused, Unknown
from redrive.deadletters.pace import Pace
from redrive.deadletters.plan import Canary, MalformedPlan, Stop, plan_document, read_plan
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Wishes
from redrive.handler.failures import Kind
from redrive.testing.world import World
from tests.unit.deadletters.killing import Life, Parts, Stage, mixed_stage

URL = "http://sqs/dead"
STATES = "arn:aws:states:r:1:stateMachine:s"


@pytest.fixture
def stage() -> Iterator[Stage]:
    with mixed_stage() as stage:
        yield stage


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


def a_letter(origin: Origin = Origin.QUEUE, text: str = "{}", target_arn: str = "") -> Letter:
    return Letter("m-1", origin, "arn:aws:sqs:us-east-1:1:orders", Failure(), Work(text, Form.JSON, "m-1", target_arn))


def failing_once(stage: Stage) -> None:
    """The queue that letters go back to moves each message to the dead-letter queue at its second receive."""
    sqs = stage.world.client("sqs")
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})


def test_overridden_gate_sends_its_letters_and_the_journal_has_the_reason(stage: Stage) -> None:
    account = stage.run(Parts(), Life(), Wishes(override="asked the owner"))

    assert account is not None
    assert (account.gated, account.overridden, account.sent) == (0, 2, 23)
    assert b'"reason":"asked the owner"' in stage.disk
    assert stage.left() == {"denied-0"}


def test_letter_that_was_sent_and_comes_back_stays(stage: Stage) -> None:
    stage.run(Parts(), Life())
    failing_once(stage)
    stage.delivered()
    stage.world.advance(minutes=11)
    stage.delivered()

    again = stage.run(Parts(), Life())

    assert again is not None
    assert (again.came_back, again.sent) == (13, 0)
    assert "have failed again" in again.stopped


def test_letter_that_came_back_is_sent_again_by_a_run_that_may_and_once_only(stage: Stage) -> None:
    stage.run(Parts(), Life())
    failing_once(stage)
    stage.delivered()
    stage.world.advance(minutes=11)
    stage.delivered()

    again = stage.run(Parts(), Life(), Wishes(stage=2))
    after = stage.run(Parts(), Life(), Wishes(stage=2))

    assert again is not None
    assert after is not None
    assert (again.came_back, again.sent) == (0, 13)
    assert after.sent == 0


def test_group_whose_first_letters_were_refused_goes_no_further(stage: Stage) -> None:
    nowhere = Destination(To.FUNCTION, "nowhere")
    stage.plan = replace(stage.plan, rules=tuple(replace(rule, to=nowhere) for rule in stage.plan.rules))

    account = stage.run(Parts(), Life())

    assert account is not None
    assert (account.sent, account.refused) == (0, 5)
    assert {name for name in stage.letters.values() if not name.startswith("bad")} == stage.left()


def test_run_stops_after_so_many_refused_letters(stage: Stage) -> None:
    nowhere = Destination(To.FUNCTION, "nowhere")
    rules = tuple(replace(rule, to=nowhere) for rule in stage.plan.rules)
    stage.plan = replace(stage.plan, rules=rules, canary=Canary(0, 0), stop=Stop(errors=1))

    account = stage.run(Parts(), Life())

    assert account is not None
    assert account.stopped == f"{account.refused} letters were refused, or their answer was lost"


def test_rate_bounds_how_fast_letters_go(stage: Stage) -> None:
    stage.plan = replace(stage.plan, rate=2.0, rate_max=2.0, canary=Canary(0, 0))
    began = stage.world.now

    account = stage.run(Parts(), Life())

    assert account is not None
    assert account.sent == 21
    assert 9_000 <= stage.world.now - began <= 13_000


def test_pace_doubles_while_nothing_goes_wrong_and_halves_when_something_does() -> None:
    pace = Pace(5, 40, 0)
    rates = []
    for now in (5_000, 6_000, 10_000, 15_000, 20_000):
        pace.sent(1, now)
        rates.append(pace.rate)

    pace.went_wrong(20_000)

    assert rates == [10, 10, 20, 40, 40]
    assert pace.rate == 20


def journal_of(content: bytes) -> tuple[Journal, io.BytesIO]:
    file = io.BytesIO(content)
    return open_journal(file, lambda: None, URL), file


def test_journal_is_read_again_without_its_torn_line() -> None:
    journal, file = journal_of(b"")
    journal.sending(["a", "b", "c"], "queue:x", 5)
    journal.sent({"a": "new"}, 6)
    journal.refused({"b": "Throttled"}, 6)

    again, _ = journal_of(file.getvalue() + b'{"sent": {"c"')

    assert [again.known(one) for one in "abc"] == [Known.SENT, None, Known.SENDING]
    assert (again.came_from("new"), set(again.doubts), set(again.undeleted)) == ("a", {"c"}, {"a"})


def test_refusal_of_a_repetition_does_not_settle_the_first_request() -> None:
    journal, _ = journal_of(b"")
    journal.sending(["a"], "queue:x", 5)
    journal.sending(["a"], "queue:x", 9)
    journal.refused({"a": "Throttled"}, 9)

    assert (journal.known("a"), journal.doubts["a"].at) == (Known.SENDING, 5)


@pytest.mark.parametrize("content", [b"notes\n", b'{"redrive_journal": 1, "queue": "other"}\n', b"my notes"])
def test_file_that_is_no_journal_of_the_queue_is_refused(content: bytes) -> None:
    with pytest.raises(MalformedJournal):
        journal_of(content)


@pytest.mark.parametrize(
    ("letter", "text"),
    [
        (a_letter(), "queue:arn:aws:sqs:us-east-1:1:orders"),
        (a_letter(Origin.SCHEDULE, "{}", "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"), "api:sqs:sendMessage"),
        (a_letter(Origin.RULE, "{}", "arn:aws:lambda:r:1:function:f"), "function:arn:aws:lambda:r:1:function:f"),
        (a_letter(Origin.RULE, "{}", STATES), f"stateMachine:{STATES}"),
        (a_letter(Origin.FUNCTION), "function:arn:aws:lambda:r:1:function:g"),
    ],
)  # fmt: skip
def test_destination_follows_from_the_letter(letter: Letter, text: str) -> None:
    source = {"kind": "function", "name": "g", "arn": "arn:aws:lambda:r:1:function:g"}

    to = usual(letter, lambda: [source])

    assert isinstance(to, Destination)
    assert to.text == text
    assert read_destination(text) == to


@pytest.mark.parametrize("origin", [Origin.FUNCTION, Origin.SUBSCRIPTION, Origin.UNKNOWN, Origin.STREAM, Origin.RULE])
def test_letter_that_does_not_say_where_it_goes_stays(origin: Origin) -> None:
    assert isinstance(usual(a_letter(origin), list), Nowhere)
    assert isinstance(of_arn("arn:aws:firehose:r:1:deliverystream/s"), Nowhere)


class Answering:
    """A client whose every operation answers, or raises, the same: what a network does that no server of ours does."""

    def __init__(self, client: Any, answer: Mapping[str, Any] | Exception) -> None:
        self._answer = answer
        self.meta = client.meta

    def __getattr__(self, name: str) -> Any:
        def call(**params: Any) -> Any:
            if isinstance(self._answer, Exception):
                raise self._answer
            return self._answer

        return call


def error(code: str, status: int) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}, "X")


@pytest.mark.parametrize(
    ("to", "answer", "outcome"),
    [
        ("function:f", ReadTimeoutError(endpoint_url="x"), Unknown),
        ("function:f", error("ServiceException", 500), Unknown),
        ("function:f", error("TooManyRequestsException", 429), Refused),
        ("function:f", error("ResourceNotFoundException", 404), Refused),
        (f"queue:{URL}", {"Successful": []}, Unknown),
        (f"queue:{URL}", {"Successful": [{"Id": "0", "MessageId": "n"}]}, Accepted),
        ("stateMachine:s", error("ExecutionAlreadyExists", 400), Accepted),
        ("bus:b", {"Entries": [{"ErrorCode": "InternalFailure"}]}, Refused),
        ("bus:b", {"Entries": []}, Unknown),
    ],
)
def test_outcome_is_unknown_where_the_work_may_have_been_done(
    world: World, to: str, answer: Mapping[str, Any] | Exception, outcome: type
) -> None:
    sender = Sender(lambda service: Answering(world.client(service), answer))
    event = json.dumps({"source": "shop", "detail-type": "Order", "detail": {}})

    (found,) = sender.send(read_destination(to), [Parcel(a_letter(), event)])

    assert isinstance(found, outcome)


def test_event_of_aws_is_not_sent_to_a_bus(world: World) -> None:
    event = json.dumps({"source": "aws.ec2", "detail-type": "State", "detail": {}})

    (found,) = Sender(world.client).send(read_destination("bus:default"), [Parcel(a_letter(), event)])

    assert isinstance(found, Refused)
    assert found.kind is Kind.PERMANENT


def test_request_of_a_schedule_is_made_again_with_its_execution_id(world: World) -> None:
    sqs = world.client("sqs")
    url = sqs.create_queue(QueueName="nightly")["QueueUrl"]
    request = json.dumps({"QueueUrl": url, "MessageBody": "execution 7"})

    (found,) = Sender(world.client).send(read_destination("api:sqs:sendMessage"), [Parcel(a_letter(), request)])

    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert found == Accepted(message["MessageId"])
    assert message["Body"] == "execution 7"


def test_client_that_repeats_requests_is_refused(world: World) -> None:
    sender = Sender(lambda service: world.client(service, config=Config(retries={"total_max_attempts": 3})))

    with pytest.raises(ValueError, match="repeats requests"):
        sender.send(read_destination(f"queue:{URL}"), [Parcel(a_letter(), "x")])


def test_plan_is_read_as_it_was_written(stage: Stage) -> None:
    assert read_plan(json.dumps(plan_document(stage.plan))) == replace(stage.plan)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"redrive_plan": 1}',
        '{"redrive_plan": 1, "queue": "q", "groups": [1]}',
        '{"redrive_plan": 1, "queue": "q", "groups": [], "repairs": {}}',
        '{"redrive_plan": 1, "queue": "q", "groups": [], "repairs": [{"kind": "delete queue", "resource": "r"}]}',
        '{"redrive_plan": 1, "queue": "q", "groups": [], "repairs": [{"kind": "enable rule"}]}',
    ],
)
def test_text_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(MalformedPlan):
        read_plan(text)
