"""However a run ends, the record says no more than is true, and the user hears what went wrong first."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from redrive.handler import DynamoDBLedger, Ledger, Record, ResultNotStorable, Status, StillRunning, idempotent, path
from redrive.testing.world import World
from tests.unit.handler.conftest import START, TABLE, FakeContext, HandClock


class Troubled:
    """A client that raises some of its writes' errors, by their number from 1, before or after the write is made."""

    def __init__(self, client, *, answers_lost: bool = False, **troubles: Exception) -> None:
        self.client = client
        self.troubles = {int(number.removeprefix("write")): error for number, error in troubles.items()}
        self.answers_lost = answers_lost
        self.writes = 0

    def update_item(self, **request):
        self.writes += 1
        trouble = self.troubles.get(self.writes)
        if trouble is not None and not self.answers_lost:
            raise trouble
        answer = self.client.update_item(**request)
        if trouble is not None:
            raise trouble
        return answer

    def get_item(self, **request):
        return self.client.get_item(**request)


def throttled() -> ClientError:
    return ClientError({"Error": {"Code": "ProvisionedThroughputExceededException", "Message": "m"}}, "UpdateItem")


def denied() -> ClientError:
    return ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "UpdateItem")


class Runs:
    """An idempotent function on a ledger whose client has troubles."""

    def __init__(self, world: World, clock: HandClock, *, fails: bool = False, lost: bool = False, **troubles) -> None:
        self.client = Troubled(world.client("dynamodb"), answers_lost=lost, **troubles)
        self.ledger = DynamoDBLedger(TABLE, client=self.client, clock=clock)
        self.runs = 0
        self.fails = fails
        self.decorate = idempotent(
            key=path("id"), ledger=self.ledger, lease=timedelta(seconds=30), sleep=clock.sleep, random=lambda: 0.5
        )

    def work(self, event: dict[str, str], context: object = None) -> str:
        self.runs += 1
        if self.fails:
            raise LookupError("the user's own")
        return "done"

    def __call__(self, *, is_async: bool = False, context: object = None) -> object:
        async def work_async(event: dict[str, str], context: object) -> str:
            return self.work(event)

        if is_async:
            return asyncio.run(self.decorate(work_async)({"id": "e"}, context))
        return self.decorate(self.work)({"id": "e"}, context)

    def record(self) -> Record:
        record = self.ledger.read("e")
        assert record is not None
        return record


both = pytest.mark.parametrize("is_async", [False, True])


@both
def test_success_that_is_throttled_is_recorded_a_little_later(world: World, clock: HandClock, is_async: bool) -> None:
    runs = Runs(world, clock, write2=throttled(), write3=throttled())

    assert runs(is_async=is_async) == "done"

    assert (runs.record().status, runs.runs, clock.slept) == (Status.SUCCESS, 1, [0.5, 1.0])


@both
def test_success_whose_answer_was_lost_is_told_again(world: World, clock: HandClock, is_async: bool) -> None:
    runs = Runs(world, clock, lost=True, write2=ConnectionResetError())

    assert runs(is_async=is_async) == "done"
    assert runs.record().status is Status.SUCCESS


@both
def test_success_that_cannot_be_recorded_is_no_failure(world: World, clock: HandClock, is_async: bool) -> None:
    """A FAILED execution runs again at once, though its work is done. This one is left until its lease ends."""
    runs = Runs(world, clock, write2=denied())

    with pytest.raises(ClientError, match="AccessDenied") as raised:
        runs(is_async=is_async)

    assert "has done its work" in raised.value.__notes__[-1]
    assert runs.record().status is Status.RUNNING
    with pytest.raises(StillRunning):
        runs(is_async=is_async)
    assert runs.runs == 1


def test_tries_to_record_a_success_end_before_the_invocation_does(world: World, clock: HandClock) -> None:
    runs = Runs(world, clock, **{f"write{number}": throttled() for number in range(2, 99)})

    with pytest.raises(ClientError, match="ThroughputExceeded"):
        runs(context=FakeContext(START + 1_600, clock))

    assert clock.slept == [0.5]


@both
def test_error_of_the_function_is_not_hidden_by_one_of_the_ledger(
    world: World, clock: HandClock, is_async: bool
) -> None:
    runs = Runs(world, clock, fails=True, write2=denied())

    with pytest.raises(LookupError, match="the user's own") as raised:
        runs(is_async=is_async)

    assert "could not be recorded: ClientError: An error occurred (AccessDenied" in raised.value.__notes__[-1]
    assert runs.record().status is Status.RUNNING


def test_failure_that_is_throttled_is_recorded_a_little_later(world: World, clock: HandClock) -> None:
    runs = Runs(world, clock, fails=True, write2=throttled())

    with pytest.raises(LookupError):
        runs()

    assert (runs.record().status, clock.slept) == (Status.FAILED, [0.5])


def test_half_a_surrogate_pair_is_refused_as_a_result_and_shown_in_an_error(ledger: Ledger) -> None:
    """AWS takes neither: such a text has no UTF-8."""

    @idempotent(key=path("id"), ledger=ledger)
    def run(event: dict[str, str]) -> list[str]:
        if event["id"] == "raises":
            raise ValueError("name: \ud83d")
        return ["ok", "name: \ud83d"]

    with pytest.raises(ResultNotStorable, match="surrogate"):
        run({"id": "returns"})
    with pytest.raises(ValueError, match="name"):
        run({"id": "raises"})

    record = ledger.read("raises")
    assert record is not None
    assert record.attempts[0].error == "ValueError: name: \\ud83d"
