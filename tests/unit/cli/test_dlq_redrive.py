"""`redrive dlq plan`, `redrive` and `discard`: a queue is emptied by a file that people can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal

ARN = "arn:aws:sqs:us-east-1:000000000000"


def letter(sqs: Any, url: str, body: str, code: str) -> None:
    told = {
        "RULE_ARN": "arn:aws:events:us-east-1:000000000000:rule/r", "TARGET_ARN": f"{ARN}:orders", "ERROR_CODE": code
    }  # fmt: skip
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in told.items()}
    sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)


def rule(terminal: Terminal, **settings: object) -> None:
    """The rule whose target did not get the events."""
    events = terminal.client("events")
    events.put_rule(Name="r", EventPattern='{"source": ["shop"]}')
    events.put_targets(Rule="r", Targets=[{"Id": "one", "Arn": f"{ARN}:orders", **settings}])


@pytest.fixture
def dead(terminal: Terminal) -> str:
    """A queue with 30 letters of a target that was too slow, and two that it could not read."""
    sqs = terminal.client("sqs")
    sqs.create_queue(QueueName="orders")
    rule(terminal)
    url = str(sqs.create_queue(QueueName="dead")["QueueUrl"])
    for number in range(30):
        letter(sqs, url, json.dumps({"order": number}), "TIMEOUT")
    for number in range(2):
        letter(sqs, url, json.dumps({"bad": number}), "INVALID_JSON")
    return url


@pytest.fixture
def plan(terminal: Terminal, dead: str, tmp_path: Path) -> Path:
    file = tmp_path / "plan.json"
    terminal.json("dlq", "plan", "dead", "--to-file", str(file))
    edited = json.loads(file.read_text("utf-8"))
    edited["canary"] = {"letters": 1, "watch_s": 0}
    file.write_text(json.dumps(edited), "utf-8")
    return file


def bodies(terminal: Terminal, name: str) -> list[Any]:
    sqs = terminal.client("sqs")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    found: list[Any] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found += [json.loads(one["Body"]) for one in messages]
    return found


def edit(plan: Path, group: int, **members: object) -> None:
    told = json.loads(plan.read_text("utf-8"))
    told["groups"][group].update(members)
    plan.write_text(json.dumps(told), "utf-8")


def test_plan_redrives_what_went_away_by_itself_and_leaves_the_rest(plan: Path) -> None:
    groups = json.loads(plan.read_text("utf-8"))["groups"]

    assert [(one["cause"]["code"], one["letters"], one["action"]) for one in groups] == [
        ("TIMEOUT", 30, "redrive"), ("INVALID_JSON", 2, "leave")
    ]  # fmt: skip


def test_redrive_sends_letters_to_the_target_that_did_not_get_them(terminal: Terminal, plan: Path) -> None:
    told = terminal.json("dlq", "redrive", str(plan))

    assert (told["sent"], told["deleted"], told["doubtful"], told["undeleted"]) == (30, 30, [], 0)
    assert sorted(one["order"] for one in bodies(terminal, "orders")) == list(range(30))
    assert len(bodies(terminal, "dead")) == 2


def test_second_run_of_a_plan_sends_nothing_twice(terminal: Terminal, plan: Path) -> None:
    terminal.json("dlq", "redrive", str(plan))

    again = terminal.json("dlq", "redrive", str(plan))

    assert (again["sent"], again["deleted"]) == (0, 0)


def test_run_of_the_letter_tells_where_it_was_sent_again(terminal: Terminal, plan: Path) -> None:
    """By the id of the letter and by that of the message that it became."""
    terminal.json("dlq", "redrive", str(plan))
    facts = [json.loads(line) for line in Path(f"{plan}.journal").read_text("utf-8").splitlines()]
    letter, message = next(iter(next(one["sent"] for one in facts if "sent" in one).items()))

    told = [terminal.run("runs", "show", one, "-o", "table").stdout for one in (letter, message)]

    assert told[0] == told[1]
    assert f"{letter} was sent again from queue dead to queue orders as {message}, by plan.json" in told[0]


def test_patch_edits_letters_on_their_way(terminal: Terminal, plan: Path) -> None:
    edit(plan, 0, patch=[{"op": "add", "path": "/again", "value": True}])

    terminal.json("dlq", "redrive", str(plan))

    assert all(one["again"] for one in bodies(terminal, "orders"))


def test_letters_go_to_another_queue_if_the_plan_says_so(terminal: Terminal, plan: Path) -> None:
    terminal.client("sqs").create_queue(QueueName="aside")
    edit(plan, 0, to="queue:aside")

    terminal.json("dlq", "redrive", str(plan))

    assert len(bodies(terminal, "aside")) == 30


def test_destination_that_does_not_exist_is_told_and_letters_stay(terminal: Terminal, plan: Path) -> None:
    edit(plan, 0, to="queue:nowhere")

    failed = terminal.run("dlq", "redrive", str(plan))

    told = json.loads(failed.stdout)
    assert (failed.exit_code, told["sent"], told["refused"]) == (1, 0, 1)
    assert any("does not exist" in one["reason"] for one in told["stays"])
    assert len(bodies(terminal, "dead")) == 32


def test_function_that_does_not_exist_stops_its_group_at_the_first_letter(terminal: Terminal, plan: Path) -> None:
    edit(plan, 0, to="function:nowhere")

    failed = terminal.run("dlq", "redrive", str(plan))

    told = json.loads(failed.stdout)
    assert (failed.exit_code, told["refused"], told["sent"]) == (1, 1, 0)
    assert any("ResourceNotFoundException" in one["reason"] for one in told["stays"])
    assert len(bodies(terminal, "dead")) == 32


def test_target_that_changes_events_is_refused_until_the_user_overrides_it(terminal: Terminal, plan: Path) -> None:
    rule(terminal, InputPath="$.detail")

    refused = terminal.run("dlq", "redrive", str(plan))
    overridden = terminal.json("dlq", "redrive", str(plan), "--override", "the target takes both")

    told = json.loads(refused.stdout)
    assert (refused.exit_code, told["gated"], told["sent"]) == (4, 30, 0)
    assert any("changes events for this target (InputPath)" in one["reason"] for one in told["stays"])
    assert (overridden["overridden"], overridden["sent"]) == (30, 30)


def test_discard_keeps_an_export_and_the_reason(terminal: Terminal, plan: Path) -> None:
    told = terminal.json("dlq", "discard", str(plan), "--group", "2", "--reason", "test orders")

    exported = plan.with_name("plan.json.discarded.jsonl").read_text("utf-8").splitlines()
    assert told["discarded"] == told["deleted"] == 2
    assert sorted(json.loads(json.loads(line)["body"])["bad"] for line in exported) == [0, 1]
    assert "test orders" in plan.with_name("plan.json.journal").read_text("utf-8")
    assert len(bodies(terminal, "dead")) == 30


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"action": "discard"}, "needs a `reason`"),
        ({"action": "redrvie"}, "needs `action`"),
        ({"to": "orders"}, "is no destination"),
        ({"pach": []}, "has `pach`"),
        ({"patch": [{"op": "ad", "path": "/a"}]}, "group 1"),
    ],
)
def test_plan_that_cannot_be_used_says_why(
    terminal: Terminal, plan: Path, members: dict[str, object], said: str
) -> None:
    edit(plan, 0, **members)

    refused = terminal.run("dlq", "redrive", str(plan))

    assert refused.exit_code == 2
    assert said in refused.stderr
    assert len(bodies(terminal, "dead")) == 32


def test_journal_of_another_queue_is_refused(terminal: Terminal, plan: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.journal"
    other.write_text('{"redrive_journal": 1, "queue": "http://elsewhere"}\n', "utf-8")

    refused = terminal.run("dlq", "redrive", str(plan), "--journal", str(other))

    assert "it is the journal of http://elsewhere" in refused.stderr
    assert len(bodies(terminal, "dead")) == 32


def test_run_lets_the_time_of_a_virtual_server_pass_while_it_watches(terminal: Terminal, plan: Path) -> None:
    told = json.loads(plan.read_text("utf-8")) | {"canary": {"letters": 1, "watch_s": 600}}
    plan.write_text(json.dumps(told), "utf-8")
    before = terminal.json("clock", "show", "-o", "json")["now_ms"]

    assert terminal.json("dlq", "redrive", str(plan))["sent"] == 30

    passed_ms = terminal.json("clock", "show", "-o", "json")["now_ms"] - before
    assert 600_000 <= passed_ms < 700_000


def test_keys_of_sources_stand_in_the_plan(terminal: Terminal, dead: str, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"

    terminal.json("dlq", "plan", "dead", "--to-file", str(file), "--key", "r=detail.order", "--key", "a == b")

    assert [one["key"] for one in json.loads(file.read_text("utf-8"))["groups"]] == ["detail.order"] * 2


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("elsewhere=order",), "No letter comes from elsewhere"),
        (("r=[",), "is not JMESPath"),
        (("a", "b"), "two keys for all letters"),
        (("r=a", "r=b"), "two keys for r"),
    ],
)
def test_key_that_cannot_be_used_says_why(
    terminal: Terminal, dead: str, tmp_path: Path, keys: tuple[str, ...], said: str
) -> None:
    options = [part for key in keys for part in ("--key", key)]

    refused = terminal.run("dlq", "plan", "dead", "--to-file", str(tmp_path / "no.json"), *options)

    assert refused.exit_code == 2
    assert said in refused.stderr
    assert not (tmp_path / "no.json").exists()


def test_groups_of_one_source_have_one_key(terminal: Terminal, plan: Path) -> None:
    edit(plan, 0, key="order")
    edit(plan, 1, key="bad")

    refused = terminal.run("dlq", "redrive", str(plan))

    assert "group 2 has another `key`" in refused.stderr


def test_repairs_are_said_done_only_if_wanted_and_undone(terminal: Terminal, dead: str, tmp_path: Path) -> None:
    """A rule whose target queue does not allow it."""
    rule(terminal, DeadLetterConfig={"Arn": f"{ARN}:dead"})
    letter(terminal.client("sqs"), dead, json.dumps({"order": 99}), "NO_PERMISSIONS")
    file = tmp_path / "plan.json"

    planned = terminal.run("dlq", "plan", "dead", "--to-file", str(file), "--canary", "0", "--remediate")
    refused = terminal.run("dlq", "redrive", str(file))
    done = terminal.run("dlq", "redrive", str(file), "--remediate")
    undone = terminal.run("dlq", "undo", str(file), "--yes")

    said = "allow r to send to queue orders, by its policy"
    assert [one["note"] for one in json.loads(planned.stdout)["repairs"]] == [said]
    assert (refused.exit_code, f"The plan has repairs, the first: {said}." in refused.output) == (2, True)
    assert f"Repair: {said}." in done.stderr
    assert json.loads(done.stdout)["sent"] == 31
    assert json.loads(undone.stdout)["repairs"][0]["undo"] == "take the statement out of the policy of orders"
    assert "31 letters were undone, and 1 repairs." in undone.stderr
