"""`redrive demo` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from redrive.cli.main import main
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
        "1. A project, and one command",
        "2. What mends it",
        "3. The same command, once it is mended",
        "4. A day of scheduled work",
    ]
    assert "  4. +0s  run 1 dies here (a crash, a kill or its timeout): what it did stays" in lines
    assert [line.split()[:3] for line in lines if line[:2] in {"✗ ", "✓ "}][:6] == [
        ["✗", "ChargeOrder", "sqs"], ["✗", "BookDelivery", "s3"], ["✓", "ChangeAddress", "api"],
        ["✓", "ChargeOrder", "sqs"], ["✓", "BookDelivery", "s3"], ["✓", "ChangeAddress", "api"],
    ]  # fmt: skip
    assert "✓ Every execution has exactly one effect: 24 of 24." in lines


def test_demo_exits_with_1_and_says_why_if_the_mended_project_has_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redrive.cli.demo.MENDED", ".")

    result = CliRunner().invoke(main, ["demo", "--json"])

    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert told["ok"] is False
    assert [problem.partition(":")[0] for problem in told["mending"]["problems"]] == [
        "ChargeOrder is not mended",
        "BookDelivery is not mended",
    ]
    assert told["day"]["problems"] == []
    assert len(told["day"]["executions"]) == 24
