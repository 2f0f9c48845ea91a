"""Events in files: one, a list, entries, lines; what is no event is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redrive.cli.event_files import FileEvent, read_directory, read_events
from redrive.core.errors import UserError
from redrive.core.scope import Scope

EVENT = {"source": "shop", "detail-type": "Order", "detail": {"n": 1}, "time": "2025-01-31T08:00:00Z", "resources": []}
ENTRY = {"Source": "shop", "DetailType": "Order", "Detail": '{"n": 1}', "EventBusName": "orders"}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (json.dumps(EVENT), 1),
        (json.dumps([EVENT, ENTRY]), 2),
        (json.dumps({"Entries": [ENTRY, ENTRY, ENTRY]}), 3),
        (f"{json.dumps(EVENT)}\n\n{json.dumps(ENTRY)}\n", 2),
    ],
)
def test_file_has_one_event_or_a_list_or_entries_or_lines(tmp_path: Path, text: str, count: int) -> None:
    path = tmp_path / "events.json"
    path.write_text(text, encoding="utf-8")

    assert len(read_events(str(path))) == count


def test_event_becomes_the_entry_that_sends_it_again() -> None:
    entry = FileEvent("a", EVENT).as_entry()

    assert entry == {
        "Source": "shop", "DetailType": "Order", "Detail": '{"n": 1}', "Time": "2025-01-31T08:00:00Z",
    }  # fmt: skip


def test_entry_becomes_the_event_that_rules_see() -> None:
    event = FileEvent("a", ENTRY).as_event(Scope("111122223333", "eu-west-1"), 0)

    assert {name: event[name] for name in ("source", "detail-type", "detail", "region", "time")} == {
        "source": "shop", "detail-type": "Order", "detail": {"n": 1}, "region": "eu-west-1",
        "time": "1970-01-01T00:00:00Z",
    }  # fmt: skip


def test_files_of_a_directory_are_named_with_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "two.jsonl").write_text(f"{json.dumps(EVENT)}\n{json.dumps(EVENT)}\n", encoding="utf-8")
    (tmp_path / "one.json").write_text(json.dumps(EVENT), encoding="utf-8")
    (tmp_path / "README.md").write_text("no event", encoding="utf-8")

    assert [one.name for one in read_directory(tmp_path)] == ["below/two.jsonl#1", "below/two.jsonl#2", "one.json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ('{"a": 1}\n{"b": \n', "line 2, is no JSON"),
        ("[1]", "something that is no event"),
    ],
)
def test_what_is_no_event_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "events.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UserError) as refused:
        read_events(str(path))

    assert said in refused.value.what


def test_event_without_its_members_cannot_be_sent() -> None:
    with pytest.raises(UserError) as refused:
        FileEvent("a.json", {"source": "shop"}).as_entry()

    assert refused.value.what == "a.json is no event of EventBridge: it has no detail-type, no detail."
