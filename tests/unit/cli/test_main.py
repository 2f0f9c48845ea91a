"""The command line itself: what is mistyped is guessed, and all that is listed is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from redrive.cli.examples import EXAMPLES
from redrive.cli.main import COMMANDS, SYNONYMS, main

EXAMPLES_DIR = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("typed", "guess"),
    [
        ("schedule", "Did you mean schedules?"),
        ("dploy", "Did you mean deploy?"),
        ("destory", "Did you mean delete?"),
        ("up", "Did you mean serve or deploy?"),
        ("xyzzy", "There is no command xyzzy.\n"),
    ],
)
def test_mistyped_command_is_guessed(typed: str, guess: str) -> None:
    done = CliRunner().invoke(main, [typed])

    assert done.exit_code == 2
    assert guess in done.stderr


def test_mistyped_option_is_guessed() -> None:
    done = CliRunner().invoke(main, ["queues", "--regoin", "x"])

    assert done.exit_code == 2
    assert "--region" in done.stderr


def test_words_of_other_tools_lead_to_commands() -> None:
    assert {name for names in SYNONYMS.values() for name in names} <= set(COMMANDS)
    assert not set(SYNONYMS) & set(COMMANDS)


def test_example_is_written_once(tmp_path: Path) -> None:
    target = tmp_path / "mine"

    first = CliRunner().invoke(main, ["examples", "scheduled-processing", "--into", str(target)])
    second = CliRunner().invoke(main, ["examples", "scheduled-processing", "--into", str(target)])

    assert first.exit_code == 0
    assert (target / "template.yaml").read_bytes() == (
        EXAMPLES_DIR / "scheduled-processing" / "template.yaml"
    ).read_bytes()
    assert str(target / "template.yaml") in json.loads(first.stdout)["next"]
    assert second.exit_code == 4


def test_every_example_is_listed() -> None:
    assert sorted(EXAMPLES) == sorted(path.name for path in EXAMPLES_DIR.iterdir() if path.is_dir())
