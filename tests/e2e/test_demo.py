"""`redrive demo` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from redrive.cli.main import main
from redrive.demo.mending import BROKEN
from tests.e2e.conftest import ROOT


def test_demo_without_a_terminal_tells_everything_in_plain_text_and_exits_with_0() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "redrive.cli", "demo"],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert [line for line in lines if line[:2] in {"1.", "2.", "3.", "4."}] == [
        "1. A handler, and its bug",
        "2. What mends it",
        "3. The same search, once it is mended",
        "4. A day of scheduled work",
    ]
    assert "  3. +0s  run 1 dies here (a crash, a kill or its timeout): what it did stays" in lines
    assert "No message is left, and the work is not done: item in reports is missing." in lines
    assert any(line.startswith("✓ no counterexample up to 2 faults in ") for line in lines)
    assert "✓ Every execution has exactly one effect: 24 of 24." in lines


def test_demo_exits_with_1_and_says_why_if_the_mended_handler_has_the_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redrive.cli.demo.MENDED", BROKEN)

    result = CliRunner().invoke(main, ["demo", "--json"])

    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert told["ok"] is False
    assert told["mending"]["problems"] == [
        f"running_means_skip:handler is not mended: {told['mending']['after']['verdict']}"
    ]
    assert told["day"]["problems"] == []
    assert len(told["day"]["executions"]) == 24
