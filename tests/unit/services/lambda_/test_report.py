"""The lines around a run, without a store."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.delivery.outside.invocation import FunctionCode, Invocation, InvocationResult, InvocationStatus, LogLine
from redrive.services.lambda_.model.report import LogEvent, log_events, log_tail, puts, report_line
from tests.unit.services.lambda_.functions import ARN, ROLE, START, raised

RUN = Invocation(
    request_id="id",
    function_arn=f"{ARN}worker",
    function_name="worker",
    version="$LATEST",
    revision="r",
    code=FunctionCode("0", "app.handler", "python3.12"),
    payload=b"{}",
    timeout_ms=3_000,
    memory_mb=128,
    role_arn=ROLE,
    log_group="/aws/lambda/worker",
)
DAY_MS = 24 * 3600 * 1000


def test_report_of_a_cold_start_bills_the_start() -> None:
    result = InvocationResult(InvocationStatus.OK, duration_ms=1.5, init_ms=100.2, memory_used_mb=34)

    assert report_line(RUN, result) == (
        "REPORT RequestId: id\tDuration: 1.50 ms\tBilled Duration: 102 ms\t"
        "Memory Size: 128 MB\tMax Memory Used: 34 MB\tInit Duration: 100.20 ms\t"
    )


@pytest.mark.parametrize(
    ("error_type", "end"),
    [
        ("Sandbox.Timedout", "\tStatus: timeout\t"),
        ("Runtime.ExitError", "\tStatus: error\tError Type: Runtime.ExitError\t"),
        ("ValueError", "\tMax Memory Used: 0 MB\t"),
    ],
)
def test_report_names_how_the_runtime_ended(error_type: str, end: str) -> None:
    assert report_line(RUN, raised("broken", error_type)).endswith(end)


def test_lines_stand_between_start_and_end_in_order_of_time() -> None:
    lines = (LogLine(START - 10, "two"), LogLine(START - 20, "one\n"))
    result = InvocationResult(InvocationStatus.OK, lines=lines, duration_ms=15.0)

    events = log_events(RUN, result, START)

    assert [event.text.split()[0] for event in events] == ["START", "one", "two", "END", "REPORT"]
    assert [event.at - START for event in events] == [-20, -20, -10, 0, 0]
    assert events[1].text == "one\n"


def test_tail_is_the_last_4_kb() -> None:
    tail = base64.b64decode(log_tail([LogEvent(START, "x" * 5_000), LogEvent(START, "end\n")]))

    assert len(tail) == 4096
    assert tail.endswith(b"xend\n")


def test_line_that_is_too_long_is_cut() -> None:
    result = InvocationResult(InvocationStatus.OK, lines=(LogLine(START, "é" * 200_000),))

    line = log_events(RUN, result, START)[1].text

    assert len(line.encode()) <= 256 * 1024 - 26
    assert line.endswith("é\n")


@given(
    st.lists(
        st.tuples(st.integers(min_value=0, max_value=3 * DAY_MS), st.integers(min_value=1, max_value=262_000)),
        max_size=30,
    )
)
def test_puts_keep_all_events_within_the_bounds(drawn: list[tuple[int, int]]) -> None:
    events = [LogEvent(at, "x" * size) for at, size in sorted(drawn)]

    found = list(puts(events))

    assert [event for batch in found for event in batch] == events
    assert all(sum(len(event.text) + 26 for event in batch) <= 1_048_576 for batch in found)
    assert all(batch[-1].at - batch[0].at < DAY_MS for batch in found)


def test_put_takes_a_megabyte_and_no_more() -> None:
    """Each event counts its text and 26 bytes."""
    event = LogEvent(START, "x" * (1_048_576 // 4 - 26))

    assert [len(batch) for batch in puts([event] * 5)] == [4, 1]


def test_put_takes_10000_events_and_no_more() -> None:
    sizes = [len(batch) for batch in puts([LogEvent(START, "x")] * 10_001)]

    assert sizes == [10_000, 1]


def test_platform_lines_of_a_json_log_are_json() -> None:
    """`SystemLogLevel` INFO has the start and the report of a run; WARN neither."""
    ran = replace(RUN, log_format="JSON", log_level="INFO", system_log_level="INFO")
    result = InvocationResult(
        InvocationStatus.OK, lines=(LogLine(START, '{"mine": 1}'),), duration_ms=1.5, init_ms=10.0, memory_used_mb=30
    )

    start, own, report = (json.loads(event.text) for event in log_events(ran, result, START))
    quiet = log_events(replace(ran, system_log_level="WARN"), result, START)

    assert (start["type"], start["record"]) == (
        "platform.start", {"requestId": ran.request_id, "version": "$LATEST"},
    )  # fmt: skip
    assert own == {"mine": 1}
    assert report["type"] == "platform.report"
    assert report["record"] == {
        "requestId": ran.request_id,
        "status": "success",
        "metrics": {
            "durationMs": 1.5, "billedDurationMs": 12, "memorySizeMB": ran.memory_mb, "maxMemoryUsedMB": 30,
            "initDurationMs": 10.0,
        },
    }  # fmt: skip
    assert [event.text for event in quiet] == ['{"mine": 1}\n']
