"""`redrive events explain`: the field that fails is named, with what was expected and what would match."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from redrive.cli.main import main
from tests.unit.cli.conftest import Terminal

EXAMPLE = Path(__file__).parents[3] / "examples" / "events-dead-letters"
ORDER = {"Source": "shop", "DetailType": "Order", "Detail": '{"total": 20}'}


def explained(pattern: str) -> Any:
    """What is said of a pattern of the example, without a server."""
    event = str(EXAMPLE / "object-created.json")
    return CliRunner().invoke(main, ["events", "explain", event, "--pattern", str(EXAMPLE / "mistakes" / pattern)])


def put_rules(terminal: Terminal, bus: str = "default", **patterns: Any) -> None:
    for name, pattern in patterns.items():
        terminal.client("events").put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps(pattern))


@pytest.fixture
def order(tmp_path: Path) -> str:
    path = tmp_path / "order.json"
    path.write_text(json.dumps(ORDER), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("pattern", "failing", "hint"),
    [
        ("wrong-detail-type.json", ["detail-type"], 'It would match with another value: "S3 Bucket Notification".'),
        ("misspelt-bucket.json", ["detail.bucket.name"], 'were "my-bukcet", the nearest to "my-bucket"'),
        ("wrong-case.json", ["source", "detail-type", "detail.Bucket.name"], "only the case differs"),
        (
            "other-shape.json",
            [
                "detail-type", "detail.eventSource", "detail.eventName", "detail.requestParameters.bucketName",
                "detail.responseElements.x-amz-request-id",
            ],
            "The event has such a value at detail.bucket.name.",
        ),
    ],
)  # fmt: skip
def test_mistakes_in_a_pattern_are_named_as_the_cause(pattern: str, failing: list[str], hint: str) -> None:
    done = explained(pattern)

    (told,) = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [field["path"] for field in told["fields"] if not field["satisfied"]] == failing
    assert hint in " ".join(field["hint"] for field in told["fields"])


def test_values_that_stand_in_no_list_are_named_with_what_to_write() -> None:
    done = explained("no-lists.json")

    assert done.exit_code == 2
    assert '"source" must be an object or an array' in done.stderr
    for path, written in (("source", '["aws.s3"]'), ("detail.bucket.name", '["my-bucket"]')):
        assert f"alue of {path} stands alone, and has to stand in a list: {written}" in done.stderr


def test_comment_in_a_pattern_is_named() -> None:
    assert "JSON has no comments: remove them." in explained("comment.json").stderr


def test_rules_of_a_bus_are_ranked_by_how_near_they_are(terminal: Terminal, order: str) -> None:
    put_rules(
        terminal, hit={"source": ["shop"]}, near={"source": ["shop"], "detail-type": ["Ordre"]},
        far={"source": ["bank"], "detail-type": ["Payment"]},
    )  # fmt: skip

    ranked = terminal.json("events", "explain", order)

    assert [(one["rule"], one["matches"]) for one in ranked] == [("hit", True), ("near", False), ("far", False)]


def test_disabled_rule_that_matches_is_no_hit(terminal: Terminal, order: str) -> None:
    put_rules(terminal, rule={"source": ["shop"]})
    terminal.client("events").disable_rule(Name="rule")

    done = terminal.run("events", "explain", order, "--rule", "rule")

    assert done.exit_code == 1
    assert json.loads(done.stdout)[0]["enabled"] is False


def test_rule_is_found_by_its_arn_on_its_own_bus(terminal: Terminal, order: str) -> None:
    terminal.client("events").create_event_bus(Name="orders")
    put_rules(terminal, bus="orders", large={"detail": {"total": [{"numeric": [">", 100]}]}})
    arn = terminal.client("events").describe_rule(Name="large", EventBusName="orders")["Arn"]

    done = terminal.run("events", "explain", order, "--rule", arn)

    (field,) = json.loads(done.stdout)[0]["fields"]
    assert (field["path"], field["expected"], field["found"]) == ("detail.total", ["a number > 100"], [20])


def test_misspelt_rule_is_answered_with_the_nearest_one(terminal: Terminal, order: str) -> None:
    put_rules(terminal, large={"source": ["shop"]})

    done = terminal.run("events", "explain", order, "--rule", "lagre")

    assert done.exit_code == 2
    assert "The bus default has no rule lagre." in done.stderr
    assert "Did you mean large?" in done.stderr


def test_bus_without_rules_is_said(terminal: Terminal, order: str) -> None:
    done = terminal.run("events", "explain", order)

    assert done.exit_code == 2
    assert "The bus default has no rule with a pattern" in done.stderr


def test_people_read_what_fails_of_the_nearest_rule(
    terminal: Terminal, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr("redrive.cli.events_explain.wants_json", lambda as_json: as_json)
    put_rules(terminal, near={"detail-type": ["Ordre"]}, far={"detail-type": ["Payment"]})

    done = terminal.run("events", "explain", order, "-n", "1")

    assert "near: does not match, only detail-type fails" in done.stdout
    assert 'It would match if detail-type were "Ordre"' in done.stdout
    assert done.stdout.rstrip().endswith("far: does not match, only detail-type fails")
