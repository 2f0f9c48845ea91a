"""The story of the README: a bad day of a shop, one look, one plan, and the sum; with fewer letters."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ROOT, ServerProcess

LETTERS = "40"
ORDERS, WITHOUT_ADDRESS, BY_HAND, MAILS, THUMBNAILS, REPORTS = 20, 3, 1, 8, 6, 6
KEYS = ("--key", "orders=order", "--key", "draw-thumbnail=picture", "--key", "shipped=id")


class Shop:
    """The example, copied to an empty directory, and the commands that somebody types there."""

    def __init__(self, server: ServerProcess, place: Path) -> None:
        shutil.copytree(ROOT / "examples" / "thousand-letters", place)
        self._place = place
        self._environment = server.environment | {"LETTERS": LETTERS}

    def run(self, step: str) -> str:
        """A step of the example; answers what it prints."""
        return self._told("run.py", step)

    def redrive(self, *arguments: str) -> Any:
        """What a command prints to a pipe."""
        return json.loads(self._told("-m", "redrive.cli", *arguments))

    def _told(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False,
            env=self._environment, cwd=self._place,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


def test_one_plan_brings_back_what_is_safe_and_the_sum_is_right(
    tmp_path: Path, start: Callable[..., ServerProcess]
) -> None:
    server = start("--clock", "virtual", "--data", str(tmp_path / "data"))
    shop = Shop(server, tmp_path / "shop")
    shop.run("day")

    groups = shop.redrive("dlq", "triage", "dead-letters", "--logs")["groups"]
    by_code = {one["code"]: number for number, one in enumerate(groups, 1)}
    assert {one["code"]: (one["letters"], one["class"]) for one in groups} == {
        "TimeoutError": (ORDERS - WITHOUT_ADDRESS, "transient"),
        "THROTTLING": (MAILS, "throttled"),
        "TypeError": (THUMBNAILS, "code defect"),
        "AccessDeniedException": (REPORTS, "permission"),
        "KeyError": (WITHOUT_ADDRESS, "poison"),
    }

    shop.run("mend")
    checked = shop.redrive("dlq", "check", "dead-letters", "--logs", "--ledger", "executions", *KEYS)
    answers = {one["code"]: one["answers"] for one in checked["groups"]}
    assert answers["TimeoutError"] == {"go": ORDERS - WITHOUT_ADDRESS - BY_HAND, "skip": BY_HAND}
    assert answers["AccessDeniedException"] == {"go": REPORTS}

    mended = [part for code in ("TypeError", "AccessDeniedException") for part in ("--redrive", str(by_code[code]))]
    shop.redrive("dlq", "plan", "dead-letters", "--logs", "--to-file", "plan.json", *mended, *KEYS)
    run = shop.redrive("dlq", "redrive", "plan.json", "--ledger", "executions", "--discard-done")
    assert (run["sent"], run["discarded"]) == (40 - WITHOUT_ADDRESS - BY_HAND, BY_HAND)
    assert [one["letters"] for one in run["stays"]] == [WITHOUT_ADDRESS]

    poison = str(by_code["KeyError"])
    gone = shop.redrive("dlq", "discard", "plan.json", "--group", poison, "--reason", "the customers were asked")
    assert gone["discarded"] == WITHOUT_ADDRESS
    shop.redrive("clock", "advance", "10m", "-o", "json")
    summed = json.loads(shop.run("sum"))

    assert summed["letters"] == 0
    assert {one["work"]: (one["once"], one["twice"], one["not"]) for one in summed["work"]} == {
        "parcel": (ORDERS - WITHOUT_ADDRESS, 0, WITHOUT_ADDRESS), "mail": (MAILS, 0, 0),
        "thumbnail": (THUMBNAILS, 0, 0), "report": (REPORTS, 0, 0),
    }  # fmt: skip
    exported = (tmp_path / "shop" / "plan.json.discarded.jsonl").read_text("utf-8").splitlines()
    assert len(exported) == WITHOUT_ADDRESS + BY_HAND
