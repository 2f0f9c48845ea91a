"""`redrive logs query`: queries of Logs Insights from a terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal

ARTICLE = """-- which rules fail
fields @timestamp, @message
| filter @message like /FAILED/
| stats count() by bin(1d)
| sort count desc
"""


@pytest.fixture
def logs(terminal: Terminal) -> Any:
    client = terminal.client("logs")
    client.create_log_group(logGroupName="/aws/lambda/hello")
    client.create_log_stream(logGroupName="/aws/lambda/hello", logStreamName="one")
    at = json.loads(terminal.run("clock", "show", "-o", "json").stdout)["now_ms"]
    events = [{"timestamp": at, "message": message} for message in ("FAILED a", "fine", "FAILED b")]
    client.put_log_events(logGroupName="/aws/lambda/hello", logStreamName="one", logEvents=events)
    return client


def test_rows_are_lines_of_json_to_a_pipe_and_a_chart_where_it_is_asked_for(terminal: Terminal, logs: Any) -> None:
    piped = terminal.run("logs", "query", ARTICLE, "-g", "hello")
    chart = terminal.run("logs", "query", ARTICLE, "-g", "/aws/lambda/hello", "-o", "chart").stdout
    table = terminal.run("logs", "query", "fields @message | sort @message", "-g", "hello", "-o", "table").stdout

    (row,) = [json.loads(line) for line in piped.stdout.splitlines()]
    assert row["count()"] == "2"
    assert "1 row; 3 events scanned, 2 matched." in piped.stderr
    assert "line 1: `--` begins a comment in SQL" in piped.stderr
    assert "count() as count" in piped.stderr
    assert "█" * 40 in chart
    assert [line.strip() for line in table.splitlines()][-3:] == ["FAILED a", "FAILED b", "fine"]


def test_line_of_a_chart_fits_on_a_terminal_of_80_columns(terminal: Terminal, logs: Any) -> None:
    query = """stats count() as how_many_messages_there_were, max(strlen(@message)) as the_longest_of_their_messages,
        min(strlen(@message)) as the_shortest_of_their_messages by bin(1d)"""

    chart = terminal.run("logs", "query", query, "-g", "hello", "-o", "chart").stdout.splitlines()

    assert max(map(len, chart)) <= 80
    assert [line.split()[-1].strip("█") for line in chart if "█" in line] == [""]


def test_malformed_query_is_shown_with_its_place(terminal: Terminal, logs: Any) -> None:
    query = "-- first\nfields @message\n| filter nosuch(@message)"

    refused = terminal.run("logs", "query", query, "-g", "hello")

    assert refused.exit_code == 2
    assert "malformed in line 3: unknown function nosuch" in refused.stderr
    assert "| filter nosuch(@message)\n         ^" in refused.stderr


def test_group_that_is_not_there_is_told(terminal: Terminal, logs: Any) -> None:
    refused = terminal.run("logs", "query", "fields a", "-g", "gone")

    assert refused.exit_code == 2
    assert "/aws/lambda/gone" in refused.stderr
