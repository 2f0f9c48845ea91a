"""CloudWatch Logs Insights: queries over log events.

    query = compile_query('filter @message like /ERROR/ | stats count(*) as n by bin(5m)', now=…)
    run = query.begin()
    run.push([SearchedEvent(at, message, …), …])     newest first, any number of times
    run.finish()                             [(("bin(5m)", "2026-11-23 20:55:00.000"), ("n", "3")), …]

A run holds what its result needs, and never the events themselves, however many come. Patterns are matched in time that
grows with the text and nothing else (`languages/matching`).

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html
"""

from __future__ import annotations

from redrive.languages.insights.errors import MalformedQuery, QueryTooLarge
from redrive.languages.insights.periods import time_text
from redrive.languages.insights.query import QUERY_MAX, RESULTS_MAX, Query, QueryRun, ResultRow, compile_query
from redrive.languages.insights.rows import NO_EVENT, LogOrigin, Row, SearchedEvent, names_found, read_pointer
from redrive.languages.insights.tree import Source

__all__ = [
    "NO_EVENT",
    "QUERY_MAX",
    "RESULTS_MAX",
    "LogOrigin",
    "MalformedQuery",
    "Query",
    "QueryRun",
    "QueryTooLarge",
    "ResultRow",
    "Row",
    "SearchedEvent",
    "Source",
    "compile_query",
    "names_found",
    "read_pointer",
    "time_text",
]
