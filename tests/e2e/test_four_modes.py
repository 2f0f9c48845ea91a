"""The example of Lambda's four modes: the attempts and what is left, and the article's code as it is printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.conftest import ROOT

EXAMPLE = ROOT / "examples" / "four-modes"


@pytest.fixture(scope="module")
def told() -> Any:
    """What the example says to a pipe. It starts its own server."""
    environment = {name: value for name, value in os.environ.items() if name != "AWS_ENDPOINT_URL"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py")],
        capture_output=True, text=True, timeout=120, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def attempts(told: Any, mode: str) -> list[tuple[int, str]]:
    """When each attempt was, in milliseconds from the first of all modes, and which orders it had."""
    return [(one["at_ms"], " ".join(one["orders"])) for one in told["attempts"][mode]]


def test_each_mode_retries_at_its_own_times(told: Any) -> None:
    assert attempts(told, "synchronous") == [(0, "2"), (1_000, "2"), (3_000, "2")]
    assert attempts(told, "asynchronous") == [(0, "2"), (60_000, "2"), (180_000, "2")]
    assert attempts(told, "queue") == [(0, "2"), (60_000, "2"), (120_000, "2")]
    assert attempts(told, "kinesis") == [
        (0, "1 2 3 4"), (250, "1 2"), (500, "1"), (500, "2"), (750, "2"), (1_250, "2"), (1_250, "3 4"),
    ]  # fmt: skip
    assert [at for at, _ in attempts(told, "dynamodb")][:6] == [0, 250, 750, 1_750, 3_750, 7_750]
    assert attempts(told, "dynamodb")[-1] == (603_750, "2 2")


def test_each_mode_leaves_the_order_in_its_own_place(told: Any) -> None:
    left = told["left"]

    assert "only the caller has the error" in left["synchronous"]
    assert "async-dead-letters has the event" in left["asynchronous"]
    assert "(RetriesExhausted, 3 invocations)" in left["asynchronous"]
    assert "orders-dead-letters has the message" in left["queue"]
    assert "(RetryAttemptsExhausted, 1 record from" in left["kinesis"]
    assert "the shard is blocked" in left["dynamodb"]
    assert "'PROBLEM: Function call failed'" in left["dynamodb"]


def test_article_s_code_goes_wrong_as_its_files_say(told: Any) -> None:
    assert told["listings"] == {
        "listing_caller.py": "returned the error as a result, after one attempt: 'order 2 cannot be done'",
        "code/listing_queue.py": "the order is not done, and there are 0 in listing-orders and 0 in "
        "listing-dead-letters: it is lost",
        "code/listing_stream.py": "did order 1 1 times, order 3 3 times, order 4 3 times, and order 2 never",
    }
