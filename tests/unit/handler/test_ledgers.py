"""One suite for all ledgers: what an execution's record does, wherever it is kept."""

from __future__ import annotations

import pytest

from redrive.handler import (
    Foreign,
    Fresh,
    InProgress,
    KeyRefused,
    Ledger,
    Mismatch,
    Replayed,
    ResultNotStorable,
    Status,
)
from redrive.handler.ledger import ATTEMPTS_KEPT, MESSAGE_IDS_KEPT, EffectRecord, Token
from tests.unit.handler.conftest import START, HandClock


def begun(ledger: Ledger, key: str = "e", **options) -> Token:
    answer = ledger.begin(key, **options)
    assert isinstance(answer, Fresh)
    return answer.token


def test_first_run_of_an_execution_is_fresh(ledger: Ledger) -> None:
    answer = ledger.begin("e", "hash", 30, keep_s=3600, message_id="m-1", source="queue-arn")

    assert isinstance(answer, Fresh)
    assert (answer.token.key, answer.token.attempt, answer.effects) == ("e", 1, {})
    record = ledger.read("e")
    assert record is not None
    assert (record.status, record.first_at, record.lease_ends_at) == (Status.RUNNING, START, START + 30_000)
    assert (record.expires_at, record.payload_hash, record.message_ids) == (
        START + 3_600_000,
        "hash",
        frozenset({"m-1"}),
    )
    assert [(a.started_at, a.source, a.message_id, a.outcome) for a in record.attempts] == [
        (START, "queue-arn", "m-1", Status.RUNNING)
    ]


def test_duplicate_of_a_success_is_answered_with_its_result(ledger: Ledger) -> None:
    token = begun(ledger)
    assert ledger.finish(token, {"rows": [1, 2.5, None, "ü"]})

    assert ledger.begin("e") == Replayed({"rows": [1, 2.5, None, "ü"]})


def test_duplicate_of_a_running_execution_learns_until_when(ledger: Ledger, clock: HandClock) -> None:
    begun(ledger, lease_s=30)
    clock.advance(29.999)

    assert ledger.begin("e") == InProgress(START + 30_000)


def test_execution_past_its_lease_is_taken_over_at_the_very_end_of_it(ledger: Ledger, clock: HandClock) -> None:
    begun(ledger, lease_s=30)
    clock.advance(30)

    assert begun(ledger).attempt == 2


def test_failed_execution_runs_again(ledger: Ledger) -> None:
    assert ledger.fail(begun(ledger), "Oops: no luck")

    assert begun(ledger).attempt == 2
    record = ledger.read("e")
    assert record is not None
    assert record.reprocessed == 1
    assert [(a.outcome, a.error) for a in record.attempts] == [
        (Status.FAILED, "Oops: no luck"),
        (Status.RUNNING, None),
    ]


@pytest.mark.parametrize("newer", ["running", "failed", "succeeded"])
def test_zombie_changes_nothing_in_the_record(ledger: Ledger, clock: HandClock, newer: str) -> None:
    zombie = begun(ledger, lease_s=30)
    clock.advance(31)
    token = begun(ledger, lease_s=30)
    if newer == "failed":
        ledger.fail(token, "later")
    if newer == "succeeded":
        ledger.finish(token, "later")
    before = ledger.read("e")

    assert not ledger.finish(zombie, "zombie")
    assert not ledger.fail(zombie, "zombie")
    assert not ledger.note_effect(zombie, EffectRecord("charge", "e/charge", START))

    assert ledger.read("e") == before


def test_run_past_its_lease_may_finish_while_nobody_took_over(ledger: Ledger, clock: HandClock) -> None:
    token = begun(ledger, lease_s=30)
    clock.advance(100)

    assert ledger.finish(token, 1)
    assert ledger.begin("e") == Replayed(1)


def test_finish_said_twice_is_said_once(ledger: Ledger) -> None:
    """A caller that lost the answer asks again, and hears that the success is its own."""
    token = begun(ledger)

    assert ledger.finish(token, "first")
    assert ledger.finish(token, "second")
    assert not ledger.fail(token, "after all")

    assert ledger.begin("e") == Replayed("first")


def test_failure_is_not_turned_into_success_by_the_run_that_said_it(ledger: Ledger) -> None:
    token = begun(ledger)

    assert ledger.fail(token, "no")
    assert ledger.fail(token, "no")
    assert not ledger.finish(token, "yes")

    record = ledger.read("e")
    assert record is not None
    assert record.status is Status.FAILED


def test_token_of_an_unknown_execution_settles_nothing(ledger: Ledger) -> None:
    token = Token("never", "nonce", 1, 0)

    assert not ledger.finish(token, 1)
    assert not ledger.fail(token, "x")

    assert ledger.read("never") is None


@pytest.mark.parametrize("status", ["running", "failed", "succeeded"])
def test_other_payload_under_a_used_key_is_a_mismatch(ledger: Ledger, status: str) -> None:
    token = begun(ledger, payload_hash="one")
    if status == "failed":
        ledger.fail(token, "x")
    if status == "succeeded":
        ledger.finish(token, 1)

    assert ledger.begin("e", "two") == Mismatch(recorded="one", given="two")


def test_payload_that_is_not_asked_about_never_mismatches(ledger: Ledger) -> None:
    ledger.finish(begun(ledger, payload_hash="one"), 1)

    assert ledger.begin("e") == Replayed(1)


def test_payload_hash_is_added_by_the_first_run_that_has_one(ledger: Ledger) -> None:
    ledger.fail(begun(ledger), "x")
    ledger.fail(begun(ledger, payload_hash="one"), "x")
    begun_without = begun(ledger)

    assert ledger.begin("e", "two") == Mismatch(recorded="one", given="two")
    assert begun_without.attempt == 3


@pytest.mark.parametrize("status", ["running", "failed", "succeeded"])
def test_execution_of_another_function_is_foreign(ledger: Ledger, status: str) -> None:
    token = begun(ledger, function_name="app.bill")
    if status == "failed":
        ledger.fail(token, "x")
    if status == "succeeded":
        ledger.finish(token, 1)

    assert ledger.begin("e", function_name="app.mail") == Foreign(recorded="app.bill", given="app.mail")

    record = ledger.read("e")
    assert record is not None
    assert (record.function_name, record.attempts_made, record.duplicates) == ("app.bill", 1, 1)


@pytest.mark.parametrize(
    ("recorded", "given", "is_foreign"),
    [
        ("app.run", "app.run", False),
        ("app.run", "app.walk", True),
        ("bill:app.run", "mail:app.run", True),
        ("bill:app.run", "bill:app.walk", True),
        ("bill:app.run", "app.run", False),
        ("app.run", "bill:app.run", False),
        ("bill:app.run", None, False),
        (None, "bill:app.run", False),
    ],
)
def test_functions_are_two_if_what_is_known_of_both_differs(
    ledger: Ledger, recorded: str | None, given: str | None, is_foreign: bool
) -> None:
    """Outside of Lambda the Lambda function is not known; in older records nothing is."""
    ledger.finish(begun(ledger, function_name=recorded), 1)

    assert isinstance(ledger.begin("e", function_name=given), Foreign) is is_foreign


def test_name_is_added_by_the_first_run_that_has_one_and_by_no_duplicate(ledger: Ledger) -> None:
    """A record from before names were recorded: whoever finds it done may be the wrong function."""
    token = begun(ledger)
    assert isinstance(ledger.begin("e", function_name="app.mail"), InProgress)
    ledger.fail(token, "x")

    ledger.finish(begun(ledger, function_name="app.bill"), 1)

    assert isinstance(ledger.begin("e", function_name="app.mail"), Foreign)
    assert ledger.begin("e", function_name="app.bill") == Replayed(1)


def test_forgotten_record_belongs_to_nobody(ledger: Ledger, clock: HandClock) -> None:
    begun(ledger, function_name="app.bill", lease_s=30, keep_s=60)
    clock.advance(60)

    begun(ledger, function_name="app.mail")

    record = ledger.read("e")
    assert record is not None
    assert record.function_name == "app.mail"


def test_key_in_the_place_of_cells_is_refused(ledger) -> None:
    """A breaker's state is no execution, and none may overwrite it."""
    ledger.swap_cell("breaker:x", 0, "state")

    with pytest.raises(KeyRefused, match="redrive:"):
        ledger.begin("redrive:breaker:x")

    assert ledger.read("redrive:breaker:x") is None
    assert ledger.load_cell("breaker:x").text == "state"


def test_expired_record_is_forgotten_though_nobody_deleted_it(ledger: Ledger, clock: HandClock) -> None:
    """DynamoDB deletes expired items within days, not at once."""
    ledger.finish(begun(ledger, payload_hash="one", lease_s=30, keep_s=60, message_id="m-1"), "old")
    clock.advance(59.999)
    assert ledger.begin("e") == Replayed("old")
    clock.advance(0.001)

    token = begun(ledger, payload_hash="two", lease_s=30, message_id="m-2")

    record = ledger.read("e")
    assert record is not None
    assert (token.attempt, record.first_at, record.result) == (1, START + 60_000, None)
    assert (record.payload_hash, record.message_ids, record.duplicates) == ("two", frozenset({"m-2"}), 0)
    assert ledger.finish(token, "new")


def test_zombie_of_a_forgotten_record_changes_nothing(ledger: Ledger, clock: HandClock) -> None:
    zombie = begun(ledger, lease_s=30, keep_s=60)
    clock.advance(60)
    begun(ledger)

    assert not ledger.finish(zombie, "zombie")


def test_duplicates_and_their_messages_are_counted(ledger: Ledger) -> None:
    token = begun(ledger, message_id="m-1")
    ledger.begin("e", message_id="m-1")
    ledger.begin("e", message_id="m-2")
    ledger.finish(token, 1)
    ledger.begin("e", message_id="m-3")
    ledger.begin("e")

    record = ledger.read("e")
    assert record is not None
    assert (record.duplicates, record.attempts_made, record.reprocessed) == (4, 1, 0)
    assert record.message_ids == {"m-1", "m-2", "m-3"}


def test_history_is_bounded_and_counts_on(ledger: Ledger) -> None:
    runs = ATTEMPTS_KEPT + 5
    for number in range(1, runs + 1):
        token = begun(ledger)
        assert token.attempt == number
        assert ledger.fail(token, f"error {number}")

    record = ledger.read("e")
    assert record is not None
    assert record.attempts_made == runs
    assert len(record.attempts) <= ATTEMPTS_KEPT
    assert [a.error for a in record.attempts][-6:] == [f"error {number}" for number in range(runs - 5, runs + 1)]


def test_message_ids_are_bounded(ledger: Ledger) -> None:
    for number in range(MESSAGE_IDS_KEPT - 1):
        ledger.begin("e", message_id=f"m-{number}")
    ledger.fail(Token("e", "n1", 1, 0), "x")
    ledger.fail(begun(ledger, message_id="a"), "x")
    ledger.fail(begun(ledger, message_id="b"), "x")
    token = begun(ledger, message_id="c")
    ledger.begin("e", message_id="d")

    record = ledger.read("e")
    assert record is not None
    assert len(record.message_ids) == MESSAGE_IDS_KEPT
    assert "b" not in record.message_ids
    assert (token.attempt, record.duplicates) == (4, MESSAGE_IDS_KEPT - 1)


def test_effects_of_earlier_runs_are_handed_to_the_next(ledger: Ledger) -> None:
    token = begun(ledger)
    meant = EffectRecord("charge #1", "e/charge", START)
    done = EffectRecord("mail", "e/mail", START, done_at=START + 1, result='"sent"')
    assert ledger.note_effect(token, meant)
    assert ledger.note_effect(token, EffectRecord("mail", "e/mail", START))
    assert ledger.note_effect(token, done)
    ledger.fail(token, "x")

    answer = ledger.begin("e")

    assert isinstance(answer, Fresh)
    assert answer.effects == {"charge #1": meant, "mail": done}


def test_error_text_is_bounded(ledger: Ledger) -> None:
    ledger.fail(begun(ledger), "x" * 5_000)

    record = ledger.read("e")
    assert record is not None
    assert record.attempts[0].error == "x" * 1_000


@pytest.mark.parametrize("result", [{1: 2}, (1, 2), {"a": {3}}, float("nan"), object(), "x" * 200_001, ["half \ud83d"]])
def test_result_that_would_not_come_back_is_refused_and_changes_nothing(ledger: Ledger, result: object) -> None:
    token = begun(ledger)
    before = ledger.read("e")

    with pytest.raises(ResultNotStorable):
        ledger.finish(token, result)

    assert ledger.read("e") == before


@pytest.mark.parametrize(("key", "lease_s", "keep_s"), [("", 1, 10), ("e", 0, 10), ("e", -1, 10), ("e", 10, 9)])
def test_claim_that_makes_no_sense_is_refused(ledger: Ledger, key: str, lease_s: float, keep_s: float) -> None:
    with pytest.raises(ValueError):
        ledger.begin(key, None, lease_s, keep_s=keep_s)


def test_executions_do_not_know_one_another(ledger: Ledger) -> None:
    ledger.finish(begun(ledger, "a"), 1)

    assert begun(ledger, "b").attempt == 1
    assert ledger.begin("a") == Replayed(1)
    assert ledger.read("c") is None


def test_cell_changes_only_if_it_is_as_it_was_read(ledger) -> None:
    assert (ledger.load_cell("x").version, ledger.load_cell("x").text) == (0, "")
    assert ledger.swap_cell("x", 0, "one")
    assert not ledger.swap_cell("x", 0, "other")
    assert ledger.swap_cell("x", 1, "two")
    assert not ledger.swap_cell("x", 1, "other")

    assert (ledger.load_cell("x").version, ledger.load_cell("x").text) == (2, "two")
    assert ledger.load_cell("y").version == 0
