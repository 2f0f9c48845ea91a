"""A rule whose own target publishes the events that it matches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.delivery.history.runs import run_of
from redrive.services.events.model.lineage import RULES_MAX, times_run, traced
from redrive.store.api import Transaction
from tests.unit.services.events.test_story import FUNCTION, make_function

RULE = "arn:aws:events:us-east-1:000000000000:rule/r"
ROOT = "Root=1-67749d00-0123456789abcdef01234567;Parent=0123456789abcdef;Sampled=0"


def test_runs_tell_that_the_rule_has_led_to_its_own_event(bus_desk: Any) -> None:
    """As on AWS nothing stops a loop that a function closes; here the runs say how often it went round."""
    make_function(bus_desk, bus_desk.queue("failed"))
    bus_desk.world.call(
        "lambda", "AddPermission", FunctionName="import-file", StatementId="s", Action="lambda:InvokeFunction",
        Principal="events.amazonaws.com",
    )  # fmt: skip
    put: list[str] = []

    def publish(left: int) -> None:
        entry = {"Source": "shop", "DetailType": "Order", "Detail": json.dumps({"left": left})}
        put.append(bus_desk.events.put_events(Entries=[entry])["Entries"][0]["EventId"])

    def run(event: dict[str, Any], context: Any) -> None:
        if event["detail"]["left"]:
            publish(event["detail"]["left"] - 1)

    bus_desk.world.functions.register("import-file", run)
    bus_desk.rule(FUNCTION)

    publish(2)
    bus_desk.world.settle()

    def notes(tx: Transaction) -> list[list[tuple[str, str]]]:
        runs = [run for event_id in put if (run := run_of(tx, f"{event_id}/r/1")) is not None]
        return [[(note.kind, note.message) for note in run.notes] for run in runs]

    said = "The event was published by a target of this rule, which has run {} before it."
    assert bus_desk.world.store.run(notes) == [
        [], [("loop", said.format("once"))], [("loop", said.format("2 times"))],
    ]  # fmt: skip


def test_rule_adds_itself_to_the_trace() -> None:
    once = traced(ROOT, RULE, event_id="e", at=0)
    twice = traced(once, RULE, event_id="e", at=0)

    assert (times_run(ROOT, RULE), times_run(once, RULE), times_run(twice, RULE)) == (0, 1, 2)
    assert times_run(twice, RULE + "2") == 0
    assert twice.startswith(ROOT + ";")


def test_event_without_a_trace_begins_one() -> None:
    begun = traced("", RULE, event_id="e", at=1_735_689_600_000)

    assert begun.startswith("Root=1-67748580-")
    assert begun == traced("", RULE, event_id="e", at=1_735_689_600_000)


def test_trace_names_the_latest_rules_alone() -> None:
    trace = ROOT
    for number in range(RULES_MAX + 1):
        trace = traced(trace, f"{RULE}{number}", event_id="e", at=0)

    assert [times_run(trace, f"{RULE}{number}") for number in range(RULES_MAX + 1)] == [0] + [1] * RULES_MAX


@pytest.mark.parametrize("trace", ["", "Rules=", "Rules=x", "Rules=12345678:x|:|12345678:" + "9" * 20, ";;=;"])
def test_foreign_lineage_counts_nothing(trace: str) -> None:
    assert times_run(trace, RULE) == 0
    assert times_run(traced(trace, RULE, event_id="e", at=0), RULE) == 1
