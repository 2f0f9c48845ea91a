"""What users meet: the pytest function, the exported test, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import redrive.testing
from redrive.cli.main import main
from redrive.core.errors import UserError
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.export import as_test
from tests.unit.prove.conftest import EXAMPLES, example


@pytest.fixture(autouse=True)
def _beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)


def test_proof_in_a_test_fails_with_the_story() -> None:
    with pytest.raises(AssertionError, match=r"running_means_skip\.py:\d+: dynamodb\.put_item\("):
        redrive.testing.prove("running_means_skip:handler", faults=1)


def test_proof_in_a_test_answers_the_verdict_of_a_safe_handler() -> None:
    assert redrive.testing.prove("safe:handler", faults=0).counterexample is None


def test_exported_history_fails_until_the_handler_is_mended() -> None:
    """The exported file plays the very history: the handler it was found in breaks, a mended one does not."""
    text = as_test(prove(example("running_means_skip"), Options(faults=1)), Options(faults=1))

    broken: dict[str, object] = {}
    exec(compile(text, "test_exported.py", "exec"), broken)
    with pytest.raises(AssertionError, match="item in reports is missing"):
        broken["test_running_means_skip_handler_work_is_not_lost"]()  # type: ignore[operator]
    mended: dict[str, object] = {}
    text = text.replace("running_means_skip:handler", "running_is_a_lease:handler")
    exec(compile(text, "test_exported.py", "exec"), mended)
    mended["test_running_means_skip_handler_work_is_not_lost"]()  # type: ignore[operator]


def test_command_prints_json_and_exits_with_1_on_a_counterexample(tmp_path: Path) -> None:
    file = tmp_path / "test_history.py"
    command = ["prove", "no_condition:handler", "--faults", "1", "-o", "json", "--export", str(file)]

    result = CliRunner().invoke(main, command)

    assert result.exit_code == 1
    assert json.loads(result.stdout)["counterexample"]["through_the_wire"] is True
    assert "redrive.testing.prove.replay(" in file.read_text("utf-8")


def test_command_tells_the_story_on_the_terminal() -> None:
    result = CliRunner().invoke(main, ["prove", "no_condition:handler", "--faults", "1"])

    assert "increase of totals (written of the item report=daily-sales in totals) was to happen once" in result.stdout
    assert "no_condition.py:32: dynamodb.update_item(" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No template was found, and 7 handlers were."),
        (["handler"], "'handler' names no handler."),
        (["nowhere:handler"], "Unable to import module 'nowhere'"),
        (["safe:nothing"], "Handler 'nothing' missing on module 'safe'"),
        (["safe:handler", "--event", "nowhere.json"], "The event nowhere.json cannot be read"),
        (["safe:handler", "--template", "nowhere.yaml"], "The template nowhere.yaml cannot be read"),
        (["safe:handler", "--invariant", "nowhere:rule"], "The invariant 'nowhere:rule' cannot be found"),
        (["safe:handler", "-p", "x"], "--parameter 'x' is not KEY=VALUE."),
    ],
)
def test_command_says_what_is_wrong_with_its_arguments(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["prove", *arguments])

    assert result.exit_code == 2
    assert message in result.stderr


def test_history_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(UserError, match="is no leg of a history"):
        redrive.testing.prove.replay("safe:handler", history=["nonsense"])
