"""Dead-letter queues by the command line, against a server of redrive: triage, and a plan that sends all letters back.

python -m benchmarks.dlq [LETTERS]
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
from botocore.client import BaseClient
from botocore.config import Config

from benchmarks.processes import ENVIRONMENT, PYTHON, free_port, redrive_command, serving
from benchmarks.report import Figure
from benchmarks.startup import HEALTH

LETTERS = 100_000
BATCH = 10
CAUSES = ("TIMEOUT", "INTERNAL_ERROR", "THROTTLING", "CONNECTION_FAILURE", "TRANSIENT_ASSUME_ROLE")
RULE_ARN = "arn:aws:events:us-east-1:000000000000:rule/orders"
TARGET_ARN = "arn:aws:sqs:us-east-1:000000000000:orders"


def measure(letters: int = LETTERS) -> Iterator[Figure]:
    """Triage and redrive of letters of a rule, of five causes, with all that the commands do: start, plan, journal."""
    port = free_port()
    with serving(redrive_command(port), port, probe=HEALTH, env=ENVIRONMENT) as server, TemporaryDirectory() as folder:
        endpoint = f"http://127.0.0.1:{server.port}"
        sqs = _client("sqs", endpoint)
        target = sqs.create_queue(QueueName="orders")["QueueUrl"]
        _rule(endpoint)
        _fill(sqs, sqs.create_queue(QueueName="dead")["QueueUrl"], letters)
        plan = Path(folder) / "plan.json"
        yield from _figures("first page of show", 20, *_run(endpoint, "show", "dead"))
        yield from _figures(f"triage of {letters:,} letters", letters, *_run(endpoint, "triage", "dead"))
        _run(endpoint, "plan", "dead", "--to-file", str(plan))
        told = json.loads(plan.read_text("utf-8")) | {"rate": None, "rate_max": None, "canary": {"letters": 0}}
        plan.write_text(json.dumps(told), "utf-8")
        yield from _figures(f"redrive of {letters:,} letters", letters, *_run(endpoint, "redrive", str(plan)))
        counted = sqs.get_queue_attributes(QueueUrl=target, AttributeNames=["ApproximateNumberOfMessages"])
        assert int(counted["Attributes"]["ApproximateNumberOfMessages"]) == letters, counted


def _figures(what: str, letters: int, seconds: float, cpu_s: float, rss_mb: float) -> Iterator[Figure]:
    yield Figure(what, seconds, "s")
    yield Figure(f"{what}, CPU of the command", cpu_s, "s")
    yield Figure(f"{what}, per second", letters / seconds, "letters/s")
    yield Figure(f"{what}, per CPU second of the command", letters / cpu_s, "letters/s")
    yield Figure(f"{what}, memory of the command", rss_mb, "MB")


def _run(endpoint: str, *arguments: str) -> tuple[float, float, float]:
    """Run a command; seconds on the wall, its CPU, and its most resident memory in units of a million bytes."""
    command = [PYTHON, "-m", "redrive.cli", "dlq", *arguments, "--endpoint-url", endpoint]
    began = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(PYTHON, command, {**os.environ, **ENVIRONMENT}, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def _fill(sqs: BaseClient, url: str, letters: int) -> None:
    def send(first: int) -> None:
        entries = [{"Id": str(number), **_letter(first + number)} for number in range(BATCH)]
        assert not sqs.send_message_batch(QueueUrl=url, Entries=entries).get("Failed")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(send, range(0, letters, BATCH)))


def _letter(number: int) -> dict[str, object]:
    event = {"id": f"event-{number}", "source": "shop", "detail-type": "Order", "detail": {"order": number}}
    told = {
        "RULE_ARN": RULE_ARN, "TARGET_ARN": TARGET_ARN, "ERROR_CODE": CAUSES[number % len(CAUSES)],
        "ERROR_MESSAGE": f"request {number} failed",
    }  # fmt: skip
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in told.items()}
    return {"MessageBody": json.dumps(event), "MessageAttributes": attributes}


def _rule(endpoint: str) -> None:
    events = _client("events", endpoint)
    events.put_rule(Name="orders", EventPattern='{"source": ["nobody"]}')
    events.put_targets(Rule="orders", Targets=[{"Id": "orders", "Arn": TARGET_ARN}])


def _client(service: str, endpoint: str) -> BaseClient:
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    return session.client(service, endpoint_url=endpoint, config=Config(retries={"total_max_attempts": 1}))


if __name__ == "__main__":
    for figure in measure(int(sys.argv[1]) if len(sys.argv) > 1 else LETTERS):
        print(f"{figure.what}: {figure.value:,.1f} {figure.unit}", flush=True)
