"""CloudWatch Logs: taking events, and queries of Logs Insights over a million of them, by a server on a durable store.

Figures are seconds of the server's CPU: the queries run on one core, whatever else the machine does.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

import boto3
from botocore.client import BaseClient

from benchmarks.processes import ServerProcess
from benchmarks.report import Figure

EVENTS = 1_000_000
EVENT_BYTES = 200
BATCH = 4_000
SPAN_MS = 3_600_000
GROUP = "/bench"
LEVELS = ("INFO",) * 17 + ("WARN",) * 2 + ("ERROR",)

QUERIES = (
    ("filter by a text, count by bin", "filter @message like /ERROR/ | stats count(*) by bin(5m)"),
    ("filter by a field of JSON, count by bin", 'filter level = "ERROR" | stats count(*) as n by bin(5m)'),
    ("filter and average of fields of JSON", "filter ms > 500 | stats count(*), avg(ms) by path"),
    ("filter without regard to case", "filter @message like /(?i)error/ | stats count(*) by bin(5m)"),
    ("parse by a regular expression", r'parse @message /"ms":(?<took>\d+)/ | stats avg(took), pct(took, 95)'),
    ("patterns", "pattern @message"),
    ("patterns, compared with the time before", "pattern @message | diff"),
    ("the latest 20", "fields @timestamp, @message | sort @timestamp desc | limit 20"),
)


def measure(server: ServerProcess, events: int = EVENTS) -> Iterator[Figure]:
    """Fill a group, then run each query over all of it, and one over a hundredth of its time."""
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    logs = session.client("logs", endpoint_url=f"http://127.0.0.1:{server.port}")
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="s")
    end_ms = int(time.time() * 1000)
    cpu_s, took_s = _measured(server, lambda: _fill(logs, events, end_ms - SPAN_MS, end_ms))
    yield Figure(f"PutLogEvents, {BATCH:,} events a call, of the server's CPU", events / cpu_s, "events/s")
    yield Figure("PutLogEvents, one client after the other, by the clock", events / took_s, "events/s")
    for name, query in QUERIES:
        cpu_s, took_s = _measured(server, partial(_run, logs, query, end_ms - SPAN_MS, end_ms))
        yield Figure(f"{name}: {events:,} events, CPU", cpu_s, "s")
        yield Figure(f"{name}: by the clock", took_s, "s")
    cpu_s, _ = _measured(server, lambda: _run(logs, QUERIES[0][1], end_ms - SPAN_MS // 100, end_ms))
    yield Figure(f"{QUERIES[0][0]}: a hundredth of the time, CPU", cpu_s, "s")
    yield Figure("memory of the server afterwards", server.rss_mb(), "MB")


def _measured(server: ServerProcess, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the server's CPU, and of the clock."""
    cpu_s, began = server.cpu_s(), time.monotonic()
    work()
    return max(server.cpu_s() - cpu_s, 1e-6), time.monotonic() - began


def _fill(logs: BaseClient, events: int, start_ms: int, end_ms: int) -> None:
    chance = random.Random(7)  # noqa: S311 - The same events in each run.
    for first in range(0, events, BATCH):
        batch = [
            {"timestamp": start_ms + (end_ms - start_ms) * number // events, "message": _message(chance, number)}
            for number in range(first, min(first + BATCH, events))
        ]
        logs.put_log_events(logGroupName=GROUP, logStreamName="s", logEvents=batch)


def _message(chance: random.Random, number: int) -> str:
    message = {
        "level": chance.choice(LEVELS), "path": f"/orders/{number % 50}", "ms": chance.randrange(900),
        "status": chance.choice((200, 200, 500)), "id": number, "pad": "",
    }  # fmt: skip
    text = json.dumps(message, separators=(",", ":"))
    return f"{text[:-2]}{'x' * (EVENT_BYTES - len(text))}{text[-2:]}"


def _run(logs: BaseClient, query: str, start_ms: int, end_ms: int) -> object:
    started = logs.start_query(
        logGroupName=GROUP, queryString=query, startTime=start_ms // 1000, endTime=end_ms // 1000
    )  # fmt: skip
    while True:
        found = logs.get_query_results(queryId=started["queryId"])
        if found["status"] not in ("Scheduled", "Running"):
            assert found["status"] == "Complete", found["status"]
            return found["results"]
        time.sleep(0.05)
