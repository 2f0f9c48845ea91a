"""What a ledger says of a letter follows from the row that the handler's own ledger has written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.deadletters.execution_keys import KeySource, powertools_id
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.memories import EffectMemory, LedgerMemory, PowertoolsMemory
from redrive.handler.ledger import EffectRecord, Fresh, Token
from redrive.handler.ledgers.dynamodb import DynamoDBLedger
from redrive.testing.world import World
from tests.unit.deadletters.makers import of_queue, of_schedule

TABLE = "executions"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.client("dynamodb").create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "execution_id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "execution_id", "AttributeType": "S"}],
    )  # fmt: skip
    world.advance(seconds=60)
    yield world
    world.close()


def begun(world: World, key: str = "e-1", *, keep_s: float = 30 * 86_400) -> tuple[DynamoDBLedger, Token]:
    ledger = DynamoDBLedger(TABLE, client=world.client("dynamodb"), clock=world.clock.now)
    answer = ledger.begin(key, lease_s=900, keep_s=keep_s)
    assert isinstance(answer, Fresh)
    return ledger, answer.token


def asked(world: World, *, effects: EffectMemory | None = None, sent_at: int | None = None) -> list[Finding]:
    memory = LedgerMemory(world.client("dynamodb"), TABLE, KeySource(), world.clock.now, effects=effects)
    letter = of_schedule("e-1", sent_at=world.now if sent_at is None else sent_at)
    return memory.findings([letter])[0]


def told(findings: list[Finding]) -> list[tuple[str, Answer]]:
    return [(one.gate, one.answer) for one in findings]


def test_execution_without_a_row_was_never_begun(world: World) -> None:
    (found,) = asked(world)

    assert (found.gate, found.answer, found.reason) == ("ledger", Answer.GO, "never begun")
    assert found.until == world.now + 30 * DAY_MS


def test_execution_without_a_row_that_is_older_than_the_memory_is_refused(world: World) -> None:
    sent_at = world.now
    world.advance(days=30)

    assert told(asked(world, sent_at=sent_at)) == [("horizon", Answer.REFUSE)]


def test_execution_that_has_succeeded_is_skipped(world: World) -> None:
    ledger, token = begun(world)
    ledger.finish(token, "done")

    (found,) = asked(world)

    assert (found.gate, found.answer) == ("ledger", Answer.SKIP)
    assert found.until == (world.now + 30 * DAY_MS) // 1000 * 1000


def test_execution_that_has_succeeded_would_be_done_again_when_its_row_has_expired(world: World) -> None:
    ledger, token = begun(world, keep_s=3_600)
    ledger.finish(token, "done")
    world.advance(hours=1)

    (found,) = asked(world)

    assert (found.gate, found.answer) == ("horizon", Answer.REFUSE)
    assert "would be done again" in found.reason


def test_execution_under_a_lease_waits_until_the_lease_ends(world: World) -> None:
    begun(world)
    lease_ends_at = world.now + 900_000
    world.advance(seconds=899)

    (held,) = asked(world)
    world.advance(seconds=1)
    (free,) = asked(world)

    assert (held.answer, held.until) == (Answer.WAIT, lease_ends_at)
    assert (free.answer, free.reason) == (Answer.GO, "its run died: the lease has ended, it is run again")


def test_execution_that_failed_is_run_again_and_says_its_error(world: World) -> None:
    ledger, token = begun(world)
    ledger.fail(token, "KeyError: 'order'")

    (found,) = asked(world)

    assert (found.answer, found.detail) == (Answer.GO, "KeyError: 'order'")


def test_effect_that_was_begun_is_refused_when_its_downstream_has_forgotten_the_key(world: World) -> None:
    ledger, token = begun(world)
    ledger.note_effect(token, EffectRecord("charge:line 1", "e-1/charge:line 1", world.now))
    ledger.fail(token, "boom")
    memory = EffectMemory({"charge": 24 * HOUR_MS})

    known = asked(world, effects=memory)
    world.advance(hours=24)
    forgotten = asked(world, effects=memory)

    assert told(known) == [("ledger", Answer.GO), ("key memory", Answer.GO)]
    assert told(forgotten) == [("ledger", Answer.GO), ("key memory", Answer.REFUSE)]
    assert known[1].until == forgotten[1].until == world.now


def test_effect_that_is_done_is_no_reason_to_refuse(world: World) -> None:
    ledger, token = begun(world)
    ledger.note_effect(token, EffectRecord("charge", "e-1/charge", world.now, done_at=world.now, result="1"))
    ledger.fail(token, "boom")

    assert told(asked(world, effects=EffectMemory(usual_ms=0))) == [("ledger", Answer.GO)]


def test_effect_of_unknown_memory_is_told(world: World) -> None:
    ledger, token = begun(world)
    ledger.note_effect(token, EffectRecord("charge", "e-1/charge", world.now))
    ledger.fail(token, "boom")

    assert told(asked(world)) == [("ledger", Answer.GO), ("key memory", Answer.CAUTION)]


def test_key_that_nobody_named_and_is_not_found_proves_nothing(world: World) -> None:
    memory = LedgerMemory(world.client("dynamodb"), TABLE, KeySource(), world.clock.now)

    ((found,),) = memory.findings([of_queue("hello", sent_at=world.now)])

    assert (found.gate, found.answer) == ("ledger", Answer.CAUTION)


def test_row_under_the_message_id_is_told_since_a_redrive_changes_that_id(world: World) -> None:
    ledger, token = begun(world, "m-1")
    ledger.fail(token, "no")
    memory = LedgerMemory(world.client("dynamodb"), TABLE, KeySource(), world.clock.now)

    (found,) = memory.findings([of_queue("hello", sent_at=world.now)])

    assert told(found) == [("ledger", Answer.GO), ("key", Answer.CAUTION)]


def test_many_letters_are_read_a_hundred_keys_at_a_time(world: World) -> None:
    for number in range(0, 250, 2):
        ledger, token = begun(world, f"o-{number}")
        ledger.finish(token, None)
    asked_for: list[int] = []

    class Counting:
        """DynamoDB, and how many keys each request has."""

        def batch_get_item(self, **request: Any) -> Any:
            asked_for.append(len(request["RequestItems"][TABLE]["Keys"]))
            return world.client("dynamodb").batch_get_item(**request)

    memory = LedgerMemory(Counting(), TABLE, KeySource("order"), world.clock.now)
    letters = [of_queue(json.dumps({"order": f"o-{number}"}), sent_at=world.now) for number in range(250)]
    answers = [found.answer for (found,) in memory.findings(letters)]

    assert answers == [Answer.SKIP, Answer.GO] * 125
    assert asked_for == [100, 100, 50]


def powertools(world: World, **attributes: Any) -> Finding:
    """What is said of the body `{"order": "o-1"}` with these attributes in its row."""
    dynamodb = world.client("dynamodb")
    dynamodb.create_table(
        TableName="idempotency", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    world.advance(seconds=60)
    if attributes:
        shown = {name: {"N": str(one)} if isinstance(one, int) else {"S": one} for name, one in attributes.items()}
        item = {"id": {"S": powertools_id("orders.app.handler", "o-1")}} | shown
        dynamodb.put_item(TableName="idempotency", Item=item)
    keys = KeySource("powertools_json(body).order")
    memory = PowertoolsMemory(dynamodb, "idempotency", "orders.app.handler", keys, world.clock.now)
    ((found,),) = memory.findings([of_queue('{"order": "o-1"}', sent_at=world.now - HOUR_MS + 1)])
    return found


def test_row_of_powertools_that_is_completed_is_skipped(world: World) -> None:
    expires_s = (world.now + HOUR_MS) // 1000

    found = powertools(world, status="COMPLETED", expiration=expires_s, data="{}")

    assert (found.answer, found.until) == (Answer.SKIP, expires_s * 1000)


def test_row_of_powertools_in_progress_waits(world: World) -> None:
    ends_at = world.now + HOUR_MS

    found = powertools(world, status="INPROGRESS", expiration=ends_at // 1000 + 9, in_progress_expiration=ends_at)

    assert (found.answer, found.until) == (Answer.WAIT, ends_at)


def test_row_of_powertools_whose_run_died_goes(world: World) -> None:
    soon = (world.now + HOUR_MS) // 1000

    found = powertools(world, status="INPROGRESS", expiration=soon, in_progress_expiration=world.now - 1)

    assert found.answer is Answer.GO


def test_row_of_powertools_that_was_completed_and_has_expired_is_refused(world: World) -> None:
    found = powertools(world, status="COMPLETED", expiration=world.now // 1000 - 1, data="{}")

    assert (found.gate, found.answer) == ("horizon", Answer.REFUSE)


def test_powertools_without_a_row_goes_within_its_hour(world: World) -> None:
    found = powertools(world)

    # The table took a minute of the virtual time, and the letter is as old as the memory less a millisecond.
    assert (found.gate, found.answer, found.reason) == ("ledger", Answer.GO, "never begun")
