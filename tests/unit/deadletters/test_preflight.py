"""The gates: what speaks against running a letter's work again now, and for how long."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import DAY_MS, MINUTE_MS, format_instant
from redrive.core.errors import UserError
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.findings import Answer, Finding, Tally, decided
from redrive.deadletters.letter import Letter
from redrive.deadletters.preflight import DEDUPLICATED_MS, Gates, Preflight, with_reason
from redrive.deadletters.proofs import Proof, read_proofs
from redrive.testing.world import World
from tests.unit.deadletters.makers import ACCOUNT, FIFO, QUEUE, of_function, of_queue, of_schedule

FUNCTION = f"arn:aws:lambda:{ACCOUNT}:function:orders"
TEMPLATE = """
Resources:
  Orders: {Type: AWS::SQS::Queue, Properties: {QueueName: orders}}
  Role:
    Type: AWS::IAM::Role
    Properties:
      RoleName: worker
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: sts:AssumeRole}]
      Policies:
        - PolicyName: all
          PolicyDocument: {Version: '2012-10-17', Statement: [{Effect: Allow, Action: '*', Resource: '*'}]}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: orders
      Runtime: python3.12
      Handler: index.handler
      Role: !GetAtt Role.Arn
      Code: {ZipFile: 'def handler(event, context): return 1'}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {FunctionName: !Ref Function, EventSourceArn: !GetAtt Orders.Arn}
"""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A queue with a function that reads it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWS_DEFAULT_REGION", "us-east-1")
        world = World(seed=1)
        world.deploy(TEMPLATE)
        world.client("sqs").create_queue(QueueName="orders.fifo", Attributes={"FifoQueue": "true"})
        yield world
        world.close()


def examined(world: World, letter: Letter, to: Destination | None = None, **gates: Any) -> list[Finding]:
    ((*found,),) = Preflight(world.client, world.clock.now, Gates(**gates)).examine([letter], to)
    return found


def of_gate(found: list[Finding], gate: str) -> list[tuple[Answer, str]]:
    return [(one.answer, one.reason) for one in found if one.gate == gate]


def test_queue_with_a_function_that_reads_it_takes_letters(world: World) -> None:
    found = examined(world, of_queue("hello", sent_at=world.now))

    assert of_gate(found, "target") == [(Answer.GO, "it exists"), (Answer.GO, "it exists")]
    assert decided(found) is Answer.CAUTION
    assert of_gate(found, "ledger")[0][1].startswith("no ledger was named")


def test_target_that_does_not_exist_refuses(world: World) -> None:
    gone = of_queue("hello", source=f"{QUEUE}-gone")

    assert of_gate(examined(world, gone), "target") == [(Answer.REFUSE, "it does not exist")]


def test_target_of_a_schedule_is_the_one_that_its_request_names(world: World) -> None:
    url = world.client("sqs").get_queue_url(QueueName="orders")["QueueUrl"]
    letter = of_schedule("e-1", sent_at=world.now)
    request = json.dumps(json.loads(letter.work.text) | {"QueueUrl": url})
    here = replace(letter, work=replace(letter.work, text=request))
    gone = replace(letter, work=replace(letter.work, text=request.replace("orders", "gone")))

    assert (Answer.GO, "it exists") in of_gate(examined(world, here), "target")
    assert of_gate(examined(world, gone), "target") == [(Answer.REFUSE, "it does not exist")]


def test_letter_of_a_function_goes_to_the_only_source_of_the_queue(world: World) -> None:
    source = {"kind": "function", "name": "orders", "arn": FUNCTION}
    letter = of_function({"id": 1})

    assert of_gate(examined(world, letter, sources=lambda: [source]), "target") == [(Answer.GO, "it exists")]
    assert of_gate(examined(world, letter), "target") == [(Answer.CAUTION, "the letter does not say what it goes to")]


def test_function_without_concurrency_takes_no_work(world: World) -> None:
    world.client("lambda").put_function_concurrency(FunctionName="orders", ReservedConcurrentExecutions=0)

    found = examined(world, of_queue("hello"))

    world.client("lambda").delete_function_concurrency(FunctionName="orders")
    assert (Answer.REFUSE, "its reserved concurrency is 0: it takes no work") in of_gate(found, "target")


def test_throttles_of_the_last_minutes_are_told(world: World) -> None:
    point = {
        "MetricName": "Throttles", "Dimensions": [{"Name": "FunctionName", "Value": "orders"}], "Value": 3,
        "Unit": "Count",
    }  # fmt: skip

    class Throttled:
        """Metrics of a function that is throttled: nobody but AWS may put metrics of AWS/Lambda."""

        def get_metric_statistics(self, **asked: Any) -> Any:
            assert asked["Dimensions"] == point["Dimensions"]
            return {"Datapoints": [{"Sum": 3.0}, {"Sum": 1.0}]}

    def client(service: str) -> Any:
        return Throttled() if service == "cloudwatch" else world.client(service)

    ((*found,),) = Preflight(client, world.clock.now, Gates()).examine([of_queue("hello")])

    assert [one.detail for one in found if "throttled" in one.reason] == ["orders: 4 in the last 5 minutes"]


def test_target_that_may_not_be_asked_refuses_nothing(world: World) -> None:
    class Denied:
        """SQS without permission."""

        def get_queue_url(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetQueueUrl")

    def client(service: str) -> Any:
        return Denied() if service == "sqs" else world.client(service)

    ((*found,),) = Preflight(client, world.clock.now, Gates()).examine([of_queue("hello")])

    assert of_gate(found, "target") == [(Answer.CAUTION, "it could not be asked: AccessDenied")]


def test_function_that_was_not_changed_refuses_the_same_input_again(world: World) -> None:
    function = world.client("lambda").get_function_configuration(FunctionName="orders")
    target = Destination(To.FUNCTION, function["FunctionArn"])
    letter = of_function({"id": 1}, sent_at=world.now + DAY_MS)
    poison = replace(letter, failure=replace(letter.failure, code="KeyError"))
    before = replace(poison, sent_at=world.now - DAY_MS)

    assert [answer for answer, _ in of_gate(examined(world, poison, to=target), "changed")] == [Answer.CAUTION]
    assert [answer for answer, _ in of_gate(examined(world, before, to=target), "changed")] == [Answer.GO]


def test_letter_that_was_cut_is_refused(world: World) -> None:
    letter = of_schedule("e-1", IS_PAYLOAD_TRUNCATED="true")

    assert [answer for answer, _ in of_gate(examined(world, letter), "whole")] == [Answer.REFUSE]


def test_placeholder_that_scheduler_does_not_know_is_refused_since_all_work_has_one_key(world: World) -> None:
    found = of_gate(examined(world, of_queue('{"execution_id": "<aws.scheduler.execution_id>"}')), "key")

    assert [answer for answer, _ in found] == [Answer.REFUSE]
    assert "<aws.scheduler.execution_id>" in found[0][1]


def test_parser_of_the_handler_decides_what_parses(world: World) -> None:
    taken = examined(world, of_queue("{}"), parse=json.loads)
    refused = examined(world, of_queue("{"), parse=json.loads)

    assert of_gate(taken, "parses") == [(Answer.GO, "the parser takes it")]
    assert of_gate(refused, "parses") == [(Answer.REFUSE, "the parser refuses it: JSONDecodeError")]


@pytest.mark.parametrize(
    ("code", "attempts", "answer"),
    [("NO_PERMISSIONS", "0", Answer.GO), ("NO_PERMISSIONS", "3", Answer.CAUTION), ("TIMEOUT", "0", Answer.CAUTION)],
)
def test_work_whose_only_attempt_was_refused_was_never_begun(
    world: World, code: str, attempts: str, answer: Answer
) -> None:
    letter = of_schedule("e-1", code=code, RETRY_ATTEMPTS=attempts)

    assert [one for one, _ in of_gate(examined(world, letter), "ledger")] == [answer]


def test_deduplication_id_of_the_producer_is_known_for_five_minutes(world: World) -> None:
    letter = of_queue(
        "hello", source=FIFO, sent_at=world.now, MessageGroupId="g", MessageDeduplicationId="producer's"
    )  # fmt: skip
    later = replace(letter, sent_at=world.now - DEDUPLICATED_MS)
    moved = replace(letter, deduplication_id=letter.message_id)

    (waits,) = [one for one in examined(world, letter) if one.gate == "deduplication"]

    assert (waits.answer, waits.until) == (Answer.WAIT, world.now + 5 * MINUTE_MS)
    assert [answer for answer, _ in of_gate(examined(world, later), "deduplication")] == [Answer.GO]
    assert [answer for answer, _ in of_gate(examined(world, moved), "deduplication")] == [Answer.GO]
    assert [answer for answer, _ in of_gate(examined(world, letter), "order")] == [Answer.CAUTION]


def test_standard_queue_has_no_gate_of_deduplication(world: World) -> None:
    assert of_gate(examined(world, of_queue("hello", sent_at=world.now)), "deduplication") == []


def test_letter_that_its_queue_deletes_within_a_day_is_told(world: World) -> None:
    soon = of_queue("hello", sent_at=world.now - 3 * DAY_MS - 1)
    not_yet = of_queue("hello", sent_at=world.now - 3 * DAY_MS)

    (told,) = [one for one in examined(world, soon, retention_ms=4 * DAY_MS) if one.gate == "retention"]

    assert (told.answer, told.until) == (Answer.CAUTION, world.now + DAY_MS - 1)
    assert of_gate(examined(world, not_yet, retention_ms=4 * DAY_MS), "retention") == []


@pytest.mark.parametrize(
    ("verdict", "digest", "answer"),
    [
        ("loses", "", Answer.REFUSE), ("proved", "", Answer.GO), ("gave up", "", Answer.CAUTION),
        ("proved", "of other code", Answer.CAUTION),
    ],
)  # fmt: skip
def test_last_verdict_on_the_handler_counts(world: World, verdict: str, digest: str, answer: Answer) -> None:
    older = Proof("index.handler", "loses", 0)
    last = Proof("index.handler", verdict, 1, digest=digest)

    found = examined(world, of_queue("hello"), proofs=[last, older, Proof("other.handler", "loses", 2)])

    assert [one for one, _ in of_gate(found, "proof")] == [answer]


def test_verdicts_are_read_and_a_file_of_another_form_is_refused(tmp_path: Any) -> None:
    good, bad = tmp_path / "verdicts.json", tmp_path / "other.json"
    at = format_instant(5_000)
    good.write_text(json.dumps({"verdicts": [{"handler": "app.handler", "verdict": "proved", "at": at}]}))
    bad.write_text('{"verdicts": [1]}')

    assert read_proofs(good) == [Proof("app.handler", "proved", 5_000)]
    assert read_proofs(tmp_path / "none.json") == []
    with pytest.raises(UserError, match="holds no verdicts"):
        read_proofs(bad)


def test_targets_are_asked_once_a_minute(world: World) -> None:
    asked: list[str] = []

    def client(service: str) -> Any:
        asked.append(service)
        return world.client(service)

    preflight = Preflight(client, world.clock.now, Gates())
    preflight.examine([of_queue("hello")] * 50)
    before = len(asked)
    world.advance(minutes=1)
    preflight.examine([of_queue("hello")])

    assert asked[:before].count("sqs") == 1
    assert asked.count("sqs") == 2


def test_overridden_gate_allows_and_keeps_both_reasons() -> None:
    refused = Finding("target", Answer.REFUSE, "it does not exist")

    told = with_reason(refused, "it is made tonight")

    assert decided([told]).allows
    assert told.reason == "it does not exist (overridden: it is made tonight)"


def test_tally_counts_letters_by_gate_and_reason_and_keeps_few_samples() -> None:
    tally = Tally()
    for number in range(10):
        tally.add(f"m-{number}", [Finding("ledger", Answer.WAIT, "it is running", f"lease {number}", 100 - number)])
    tally.add("m-10", [Finding("ledger", Answer.GO, "never begun")])

    waits, goes = tally.ordered

    assert tally.answers == {Answer.WAIT: 10, Answer.GO: 1}
    assert (waits.count, waits.until_first, waits.until_last) == (10, 91, 100)
    assert waits.samples == ["m-0: lease 0", "m-1: lease 1", "m-2: lease 2"]
    assert goes.count == 1


def test_letter_of_which_a_gate_says_the_same_twice_is_counted_once() -> None:
    tally = Tally()

    tally.add(
        "m-1", [Finding("target", Answer.GO, "it exists", "the queue"), Finding("target", Answer.GO, "it exists")]
    )

    assert [(row.count, row.samples) for row in tally.ordered] == [(1, ["m-1: the queue"])]
