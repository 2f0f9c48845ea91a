"""`redrive dlq recover`: three stages for causes that pass, and a person for the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.cli.test_dlq_redrive import bodies, letter, rule


@pytest.fixture
def dead(terminal: Terminal) -> None:
    """A queue behind a rule, whose letters go to `orders`; orders come back to the dead-letter queue when they fail."""
    sqs = terminal.client("sqs")
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    sqs.create_queue(QueueName="orders")
    rule(terminal)
    for number in range(3):
        letter(sqs, url, json.dumps({"order": number}), "TIMEOUT")
    letter(sqs, url, json.dumps({"bad": 1}), "INVALID_JSON")


def test_stages_send_what_passes_and_escalate_the_rest(terminal: Terminal, dead: None, tmp_path: Path) -> None:
    into = tmp_path / "recovery"
    before = terminal.json("clock", "show", "-o", "json")["now_ms"]

    done = terminal.run("dlq", "recover", "dead", "--into", str(into))

    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [(one["after_s"], one["sent"]) for one in told["stages"]] == [(60, 3)]
    assert [(one["letters"], one["code"]) for one in told["escalated"]] == [(1, "INVALID_JSON")]
    assert sorted(one["order"] for one in bodies(terminal, "orders")) == [0, 1, 2]
    assert terminal.json("clock", "show", "-o", "json")["now_ms"] - before >= 360_000
    again = json.loads(terminal.run("dlq", "recover", "dead", "--into", str(into)).stdout)
    assert [one["sent"] for one in again["stages"]] == []
