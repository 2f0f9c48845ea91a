"""`redrive dlq undo`, `discard` of a queue, the override of a check, and the way that a plan takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.cli.test_dlq_redrive import bodies, dead, plan

__all__ = ["dead", "plan"]

ARN = "arn:aws:sqs:us-east-1:000000000000"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_queue_is_discarded_with_an_export_and_undo_brings_the_letters_back(terminal: Terminal, dead: str) -> None:
    told = terminal.json("dlq", "discard", "dead", "--reason", "test orders")
    gone = bodies(terminal, "dead")

    undone = terminal.run("dlq", "undo", "dead.discard.json", "--yes")

    assert (told["discarded"], told["deleted"], gone) == (32, 32, [])
    assert json.loads(undone.stdout)["letters"][0]["answer"] == "restore"
    assert "32 letters were undone" in undone.stderr
    groups = terminal.json("dlq", "triage", "dead")["groups"]
    assert sorted((one["code"], one["letters"]) for one in groups) == [("INVALID_JSON", 2), ("TIMEOUT", 30)]


def test_one_group_of_a_queue_is_discarded(terminal: Terminal, dead: str) -> None:
    told = terminal.json("dlq", "discard", "dead", "--group", "2", "--reason", "bad")

    again = terminal.run("dlq", "discard", "dead", "--reason", "bad")

    assert told["discarded"] == 2
    assert len(bodies(terminal, "dead")) == 30
    assert (again.exit_code, "dead.discard.json exists" in again.stderr) == (2, True)


def test_letters_that_wait_are_moved_back_after_a_yes(terminal: Terminal, plan: Path) -> None:
    terminal.json("dlq", "redrive", str(plan))

    refused = terminal.run("dlq", "undo", str(plan))
    undone = terminal.run("dlq", "undo", f"{plan}.journal", "--yes")

    assert (refused.exit_code, "This would move 30 messages back" in refused.stderr) == (4, True)
    assert (undone.exit_code, "30 letters were undone" in undone.stderr) == (0, True)
    assert bodies(terminal, "orders") == []
    assert len(bodies(terminal, "dead")) == 32


def test_file_without_a_journal_cannot_be_undone(terminal: Terminal, plan: Path) -> None:
    refused = terminal.run("dlq", "undo", str(plan))

    assert refused.exit_code == 2
    assert "is no journal of a run" in refused.stderr


def test_check_passes_with_a_reason_that_is_kept(terminal: Terminal, dead: str, tmp_path: Path) -> None:
    terminal.client("sqs").delete_queue(QueueUrl=dead.replace("/dead", "/orders"))

    refused = terminal.run("dlq", "check", "dead")
    passed = terminal.run("dlq", "check", "dead", "--override", "the queue is made again tonight")

    kept = [json.loads(line) for line in (tmp_path / ".redrive" / "overrides.jsonl").read_text("utf-8").splitlines()]
    assert (refused.exit_code, passed.exit_code) == (4, 0)
    assert [(one["queue"], one["reason"]) for one in kept] == [("dead", "the queue is made again tonight")]
    assert kept[0]["letters_by_gate"] == {"target: it does not exist": 32}


def moved(terminal: Terminal) -> None:
    """A dead-letter queue with three messages of its one source queue."""
    sqs = terminal.client("sqs")
    url = sqs.create_queue(QueueName="failed")["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": f"{ARN}:failed", "maxReceiveCount": 1})
    source = sqs.create_queue(QueueName="work", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    for number in range(3):
        sqs.send_message(QueueUrl=source["QueueUrl"], MessageBody=json.dumps({"order": number}))
    while sqs.receive_message(QueueUrl=source["QueueUrl"], MaxNumberOfMessages=10).get("Messages"):
        pass
    assert url


@pytest.mark.parametrize(
    ("options", "by", "why"),
    [
        (("--canary", "0"), "move task", "the whole queue goes back to its one source"),
        ((), "letters", "first letters go alone"),
        (("--canary", "0", "--to", "queue:aside"), "letters", "goes to queue:aside"),
    ],
)
def test_plan_says_who_moves_the_letters_and_why(
    terminal: Terminal, tmp_path: Path, options: tuple[str, ...], by: str, why: str
) -> None:
    moved(terminal)

    made: Any = terminal.json(
        "dlq", "plan", "failed", "--to-file", str(tmp_path / "p.json"), "--redrive", "1", *options
    )

    assert made["by"] == by
    assert why in made["why"]


def test_what_a_task_has_moved_is_found_by_its_content_and_moved_back(terminal: Terminal, tmp_path: Path) -> None:
    """A message of the same content that was sent before the task is not taken for one of it."""
    moved(terminal)
    sqs = terminal.client("sqs")
    work = sqs.get_queue_url(QueueName="work")["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=work, Attributes={"RedrivePolicy": "", "VisibilityTimeout": "30"})
    sqs.send_message(QueueUrl=work, MessageBody=json.dumps({"order": 2}))
    terminal.advance(300)
    sqs.set_queue_attributes(
        QueueUrl=work,
        Attributes={"RedrivePolicy": json.dumps({"deadLetterTargetArn": f"{ARN}:failed", "maxReceiveCount": 9})},
    )
    file = tmp_path / "p.json"
    terminal.json("dlq", "plan", "failed", "--to-file", str(file), "--redrive", "1", "--canary", "0")
    terminal.json("dlq", "redrive", str(file))
    (taken,) = sqs.receive_message(QueueUrl=work, MaxNumberOfMessages=1)["Messages"]
    sqs.delete_message(QueueUrl=work, ReceiptHandle=taken["ReceiptHandle"])

    undone = terminal.run("dlq", "undo", str(file), "--yes")

    answers = sorted(one["answer"] for one in json.loads(undone.stdout)["letters"])
    assert json.loads(taken["Body"]) == {"order": 2}
    assert (undone.exit_code, answers) == (0, ["move_back", "move_back", "move_back"])
    assert sorted(one["order"] for one in bodies(terminal, "failed")) == [0, 1, 2]
    assert bodies(terminal, "work") == []


def test_plan_that_a_task_does_not_fit_any_more_goes_letter_by_letter(terminal: Terminal, tmp_path: Path) -> None:
    moved(terminal)
    file = tmp_path / "p.json"
    terminal.json("dlq", "plan", "failed", "--to-file", str(file), "--redrive", "1", "--canary", "0")
    told = json.loads(file.read_text("utf-8"))
    told["groups"][0]["patch"] = [{"op": "add", "path": "/again", "value": True}]
    file.write_text(json.dumps(told), "utf-8")

    done = terminal.run("dlq", "redrive", str(file))

    assert "Not by a message move task, but letter by letter: group 1 is edited by a patch" in done.stderr
    assert json.loads(done.stdout)["sent"] == 3
    assert all(one["again"] for one in bodies(terminal, "work"))
