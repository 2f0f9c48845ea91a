"""Filter patterns of CloudWatch Logs: which log events to return.

    parse_filter('"Task timed out" -retry')("Task timed out after 3 s")  →  True
    parse_filter("[ip, ..., status=4*]")("10.0.0.1 GET 404")  →  True
    parse_filter('{ $.level = "error" && $.ms > 30 }')('{"level":"error","ms":31}')  →  True

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
"""

from __future__ import annotations

from redrive.languages.log_filter.expression import parse_expression
from redrive.languages.log_filter.filter import Filter, Matches
from redrive.languages.log_filter.malformed import MalformedFilter
from redrive.languages.log_filter.selector import reference
from redrive.languages.log_filter.spaces import parse_spaces
from redrive.languages.log_filter.terms import parse_terms

__all__ = ["Filter", "MalformedFilter", "Matches", "parse_filter", "reference"]


def parse_filter(pattern: str) -> Filter:
    """The test for a pattern. An empty pattern matches every message. Errors: MalformedFilter."""
    text = pattern.strip()
    if text.startswith("{"):
        return parse_expression(text)
    if text.startswith("["):
        return parse_spaces(text)
    return parse_terms(text)
