"""Check and parse the queries of GetMetricData."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.math import Expression, Malformed, parse_math
from redrive.services.cloudwatch.model.metric import VALIDATION, Metric, Problems, too_many, validation_error
from redrive.services.cloudwatch.model.statistics import Statistic, parse_statistic
from redrive.services.cloudwatch.model.time import is_period

_ID = re.compile(r"[a-z]\w*", re.ASCII)
_INSIGHTS = re.compile(r"\s*SELECT\s", re.IGNORECASE)
PERIOD_TEXT = "must be 1, 5, 10, 20, 30 or a multiple of 60."


@dataclass(frozen=True, slots=True)
class MetricStat:
    """A statistic of a metric; `unit` None combines the data of all units.

    `stat` is the statistic as the user wrote it.
    """

    metric: Metric
    stat: str
    statistic: Statistic
    period_s: int
    unit: str | None


@dataclass(frozen=True, slots=True)
class Query:
    """One query: a statistic of a metric, or an expression. `account` None means the caller's own."""

    id: str
    content: MetricStat | Expression
    label: str | None
    is_returned: bool
    period_s: int | None
    account: str | None


def read_queries(documents: Sequence[Document], *, member: str = "MetricDataQueries") -> list[Query]:
    """Parse the queries of a request. `member` is its member that has them.

    Errors: ValidationException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataQuery.html
    """
    problems = Problems()
    if len(documents) > limits.QUERIES_MAX:
        problems.add(VALIDATION, too_many(member, limits.QUERIES_MAX))
    if not documents:
        problems.add(VALIDATION, f"The collection {member} must not be empty.")
    for number, document in enumerate(documents, start=1):
        _check(document, f"{member}.member.{number}", problems)
    times = Counter(document["Id"] for document in documents)
    for repeated in sorted(one for one in times if times[one] > 1):
        problems.add(VALIDATION, f"The Id '{repeated}' is used by more than one query.")
    if documents and not any(document.get("ReturnData", True) for document in documents):
        problems.add(VALIDATION, "At least one query must have ReturnData set to true.")
    problems.refuse()
    return [read_query(document) for document in documents]


def _check(document: Document, place: str, problems: Problems) -> None:
    if _ID.fullmatch(document["Id"]) is None:
        problems.add(VALIDATION, f"The value {document['Id']} for parameter {place}.Id is not matching the expected "
                     "pattern ^[a-z][a-zA-Z0-9_]*$.")  # fmt: skip
    stat = document.get("MetricStat")
    if (stat is None) == (document.get("Expression") is None):
        text = f"Exactly one of the parameters {place}.MetricStat and {place}.Expression must be specified."
        problems.add(VALIDATION, text)
        return
    period_s = document.get("Period")
    if period_s is not None and not is_period(period_s):
        problems.add(VALIDATION, f"The parameter {place}.Period {PERIOD_TEXT}")
    if stat is not None:
        if period_s is not None:
            problems.add(VALIDATION, f"The parameter {place}.Period must not be specified beside {place}.MetricStat.")
        _check_stat(stat, f"{place}.MetricStat", problems)


def _check_stat(stat: Document, place: str, problems: Problems) -> None:
    for member in ("Namespace", "MetricName"):
        if stat["Metric"].get(member) is None:
            problems.add(VALIDATION, f"The parameter {place}.Metric.{member} is required.")
    if not is_period(stat["Period"]):
        problems.add(VALIDATION, f"The parameter {place}.Period {PERIOD_TEXT}")
    if parse_statistic(stat["Stat"]) is None:
        problems.add(VALIDATION, f"The value {stat['Stat']} for parameter {place}.Stat is not a valid statistic.")


def read_query(document: Document) -> Query:
    """Parse a query that was checked. Errors: ValidationException (its expression)."""
    stat = document.get("MetricStat")
    content = _read_expression(document) if stat is None else _read_stat(stat)
    return Query(
        document["Id"], content, document.get("Label"), document.get("ReturnData", True), document.get("Period"),
        document.get("AccountId"),
    )  # fmt: skip


def _read_stat(stat: Document) -> MetricStat:
    metric = stat["Metric"]
    written = str(stat["Stat"])
    statistic = parse_statistic(written)
    assert statistic is not None
    named = Metric.of(metric["Namespace"], metric["MetricName"], metric.get("Dimensions"))
    return MetricStat(named, written, statistic, stat["Period"], stat.get("Unit"))


def _read_expression(document: Document) -> Expression:
    text = document["Expression"]
    if _INSIGHTS.match(text):
        raise in_expression(document["Id"], "redrive has no Metrics Insights; see docs/semantics/cloudwatch.md.")
    try:
        return parse_math(text)
    except Malformed as error:
        raise in_expression(document["Id"], str(error)) from None


def in_expression(query_id: str, text: str) -> ServiceError:
    """Build the error for an expression."""
    return validation_error(f"Error in expression '{query_id}': {text}")
