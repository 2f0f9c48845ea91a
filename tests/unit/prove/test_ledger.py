"""The handler's memory is told from its work by how it is written."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.prove.calls import call_of
from redrive.prove.events import Called
from redrive.prove.ledger import Status, guess_ledger, status_of, stuck_records


def called(operation: str, table: str, key: str = "a", **more: Any) -> Called:
    call = call_of("dynamodb", operation, {"TableName": table, "Key": {"id": {"S": key}}, **more})
    return Called(0, 1, 0, call, None, "", 1, (), is_nested=False, is_retried=False)


def key_of(event: Called) -> str:
    return str(event.call.params["Key"])


@pytest.mark.parametrize(
    ("events", "ledger"),
    [
        ([called("UpdateItem", "state", ConditionExpression="x"), called("PutItem", "work")], "state"),
        ([called("GetItem", "state"), called("PutItem", "work"), called("PutItem", "state")], "state"),
        ([called("PutItem", "state"), called("PutItem", "work"), called("PutItem", "state")], "state"),
        ([called("PutItem", "work"), called("PutItem", "work", key="b")], None),
        ([called("GetItem", "settings"), called("PutItem", "work")], None),
        ([], None),
    ],
)
def test_ledger_is_the_first_table_that_is_written_like_one(events: list[Called], ledger: str | None) -> None:
    assert guess_ledger(events, key_of) == ledger


def test_status_is_the_word_that_changes_while_the_handler_runs() -> None:
    begun = {"id=a": {"status": "RUNNING", "token": "t", "text": "x" * 41}}
    done = {"id=a": {"status": "SUCCESS", "token": "t", "text": "y" * 41}}

    status = status_of([{}, begun, done])

    assert status == Status("status", "RUNNING", "SUCCESS")
    assert stuck_records(begun, status) == ["id=a"]
    assert stuck_records(done, status) == []


def test_record_whose_words_stay_has_no_status() -> None:
    assert status_of([{"id=a": {"status": "done"}}, {"id=a": {"status": "done"}}]) is None
    assert status_of([]) is None
