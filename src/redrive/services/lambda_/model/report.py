"""The log lines of a run, as CloudWatch Logs shows them."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.services.lambda_.limits import (
    LOG_BYTES_PER_PUT_MAX,
    LOG_EVENT_BYTES_MAX,
    LOG_EVENT_OVERHEAD_BYTES,
    LOG_EVENTS_PER_PUT_MAX,
    LOG_SPAN_MS_MAX,
    LOG_TAIL_BYTES,
)
from redrive.services.lambda_.model.logging import JSON


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A line of a log stream."""

    at: Instant
    text: str


def error_member(payload: bytes | str, member: str) -> str:
    """Return one member of a function's error document; empty if it is missing."""
    try:
        document = load_json(payload)
    except ValueError:
        return ""
    value = document.get(member) if isinstance(document, dict) else None
    return value if isinstance(value, str) else ""


def log_events(invocation: Invocation, result: InvocationResult, ended_at: Instant) -> list[LogEvent]:
    """Return the lines of a run, sorted by time, with START, END and REPORT.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/python-logging.html
    """
    lines = [LogEvent(line.at, line.text) for line in result.lines]
    started_at = min([ended_at - math.ceil(result.duration_ms), *(line.at for line in lines)])
    last_at = max([ended_at, *(line.at for line in lines)])
    request = f"RequestId: {invocation.request_id}"
    lines.sort(key=lambda line: line.at)
    if invocation.log_format == JSON:
        events = _between_platform_events(invocation, result, lines, started_at, last_at)
    else:
        events = [
            LogEvent(started_at, f"START {request} Version: {invocation.version}"),
            *lines,
            LogEvent(last_at, f"END {request}"),
            LogEvent(last_at, report_line(invocation, result)),
        ]
    return [LogEvent(event.at, f"{_cut(event.text)}\n") for event in events]


def _between_platform_events(
    invocation: Invocation, result: InvocationResult, lines: list[LogEvent], started_at: Instant, ended_at: Instant
) -> list[LogEvent]:
    """Add Lambda's own JSON lines to the lines of a run, unless the system's log level is WARN.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
    """
    if invocation.system_log_level == "WARN":
        return lines
    metrics: Document = {
        "durationMs": round(result.duration_ms, 3),
        "billedDurationMs": math.ceil(result.duration_ms + (result.init_ms or 0)),
        "memorySizeMB": invocation.memory_mb,
        "maxMemoryUsedMB": result.memory_used_mb,
    }
    if result.init_ms is not None:
        metrics["initDurationMs"] = round(result.init_ms, 3)
    error_type = error_member(result.payload, "errorType") if result.status is InvocationStatus.FUNCTION_ERROR else ""
    report: Document = {"requestId": invocation.request_id, "metrics": metrics, "status": _run_status(error_type)}
    if report["status"] == "error":
        report["errorType"] = error_type
    started: Document = {"requestId": invocation.request_id, "version": invocation.version}
    return [
        LogEvent(started_at, _platform_line("platform.start", started_at, started)),
        *lines,
        LogEvent(ended_at, _platform_line("platform.report", ended_at, report)),
    ]


def _run_status(error_type: str) -> str:
    """Return Lambda's status of a run. If the function reports an error, the runtime still succeeded."""
    if error_type == "Sandbox.Timedout":
        return "timeout"
    return "error" if error_type.startswith("Runtime.") else "success"


def _platform_line(kind: str, at: Instant, record: Document) -> str:
    time = f"{format_instant(at)[:-1]}.{at % 1000:03d}Z"
    return dump_json({"time": time, "type": kind, "record": record})


def report_line(invocation: Invocation, result: InvocationResult) -> str:
    """Return the REPORT line. The billed time includes the start-up, in whole milliseconds.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/python-logging.html
    """
    billed_ms = math.ceil(result.duration_ms + (result.init_ms or 0))
    parts = [
        f"REPORT RequestId: {invocation.request_id}",
        f"Duration: {result.duration_ms:.2f} ms",
        f"Billed Duration: {billed_ms} ms",
        f"Memory Size: {invocation.memory_mb} MB",
        f"Max Memory Used: {result.memory_used_mb} MB",
    ]
    if result.init_ms is not None:
        parts.append(f"Init Duration: {result.init_ms:.2f} ms")
    error_type = error_member(result.payload, "errorType") if result.status is InvocationStatus.FUNCTION_ERROR else ""
    if error_type == "Sandbox.Timedout":
        parts.append("Status: timeout")
    elif error_type.startswith("Runtime."):
        parts += ["Status: error", f"Error Type: {error_type}"]
    return "\t".join(parts) + "\t"


def log_tail(events: Sequence[LogEvent]) -> str:
    """Return the last 4 KB of a run's lines in base64, which Invoke answers if `LogType` is Tail.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    text = "".join(event.text for event in events).encode()
    return base64.b64encode(text[-LOG_TAIL_BYTES:]).decode()


def puts(events: Sequence[LogEvent]) -> Iterator[list[LogEvent]]:
    """Split events, in order, into batches that PutLogEvents accepts: by count, by bytes, by time span.

    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
    """
    batch: list[LogEvent] = []
    size = 0
    for event in events:
        weight = len(event.text.encode()) + LOG_EVENT_OVERHEAD_BYTES
        is_full = batch and (
            len(batch) == LOG_EVENTS_PER_PUT_MAX
            or size + weight > LOG_BYTES_PER_PUT_MAX
            or event.at - batch[0].at >= LOG_SPAN_MS_MAX
        )
        if is_full:
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += weight
    if batch:
        yield batch


def _cut(text: str) -> str:
    """Remove the line end, and shorten the line to the maximum length of an event."""
    line = text.rstrip("\n")
    return line.encode("utf-8", "replace")[: LOG_EVENT_BYTES_MAX - 1].decode("utf-8", "ignore")
