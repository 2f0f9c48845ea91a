"""GetMetricData."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.evaluation import Allowance, Evaluation
from redrive.services.cloudwatch.model.labels import default_labels, fill_label, parse_timezone, properties
from redrive.services.cloudwatch.model.metric import VALIDATION, Problems
from redrive.services.cloudwatch.model.pages import Place, Result, page_of
from redrive.services.cloudwatch.model.queries import MetricStat, Query, read_queries
from redrive.services.cloudwatch.model.time import Window, window
from redrive.services.cloudwatch.model.tokens import read_token, write_token
from redrive.services.cloudwatch.model.values import TimeSeries
from redrive.services.cloudwatch.reads import values_of
from redrive.store.api import Transaction

_ASCENDING = "TimestampAscending"
_PERIOD_S_DEFAULT = 60


@operation("GetMetricData")
def get_metric_data(
    tx: Transaction, caller: Caller, *, metric_data_queries: Sequence[Document], start_time: Instant,
    end_time: Instant, next_token: str | None = None, scan_by: str | None = None, max_datapoints: int | None = None,
    label_options: Mapping[str, str] | None = None,
) -> Document:  # fmt: skip
    """Return the values of metrics and expressions, newest first unless requested otherwise.

    Errors: ValidationError (queries, times, expressions); InvalidNextToken.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
    """
    tx.services.authorize(tx, caller, "cloudwatch:GetMetricData", "*")
    size = limits.DATAPOINTS_PER_PAGE_MAX if max_datapoints is None else max_datapoints
    _check(start_time, end_time, size)
    zone = parse_timezone((label_options or {}).get("Timezone"))
    queries = read_queries(metric_data_queries)
    request = [list(metric_data_queries), start_time, end_time, scan_by, label_options]
    begin = (0, 0) if next_token is None else _place(read_token(next_token, request))
    defaults = default_labels(queries)

    def result(query: Query, series: TimeSeries) -> Result:
        own: Mapping[str, str] = {}
        if isinstance(query.content, MetricStat):
            own = properties(query.content, account=caller.account, region=caller.region)
        default = defaults.get(query.id, series.label)
        label = default if query.label is None else fill_label(query.label, series, own, zone)
        points = list(series.values.items())
        ordered = points if scan_by == _ASCENDING else points[::-1]
        return Result(query.id, label, ordered, is_forbidden=_is_foreign(query, caller))

    answers = _answers(tx, caller, queries, start_time, end_time, begin[0])
    shown, following = page_of((result(query, series) for query, series in answers), begin, size)
    token = None if following is None else write_token(request, list(following))
    return {"MetricDataResults": shown, "NextToken": token, "Messages": []}


def _place(position: object) -> Place:
    """The place that a token says. Errors: InvalidNextToken."""
    match position:
        case [int() as number, int() as offset]:
            return number, offset
        case _:
            raise ServiceError("InvalidNextToken", "The specified next token is invalid.")


def _check(start: Instant, end: Instant, size: int) -> None:
    problems = Problems()
    if start >= end:
        problems.add(VALIDATION, "The parameter StartTime must be less than the parameter EndTime.")
    if not 1 <= size <= limits.DATAPOINTS_PER_PAGE_MAX:
        text = f"The parameter MaxDatapoints must be between 1 and {limits.DATAPOINTS_PER_PAGE_MAX}."
        problems.add(VALIDATION, text)
    problems.refuse()


def _answers(
    tx: Transaction, caller: Caller, queries: Sequence[Query], start: Instant, end: Instant, first: int
) -> Iterator[tuple[Query, TimeSeries]]:
    """Yield the returned queries, each with its series, from number `first` on.

    Without expressions, each metric is read when its turn comes: a page may need few of them.
    """
    if all(isinstance(query.content, MetricStat) for query in queries):
        returned = [query for query in queries if query.is_returned]
        for query in returned[first:]:
            assert isinstance(query.content, MetricStat), "there are no expressions"
            yield query, _fetch(tx, caller, query, query.content, start, end)
        return
    yield from _computed(tx, caller, queries, start, end)[first:]


def _computed(
    tx: Transaction, caller: Caller, queries: Sequence[Query], start: Instant, end: Instant
) -> list[tuple[Query, TimeSeries]]:
    """Return the returned queries, each with its series. An expression may give no series, one, or several."""
    fetched: dict[str, TimeSeries] = {}
    for query in queries:
        if isinstance(query.content, MetricStat):
            fetched[query.id] = _fetch(tx, caller, query, query.content, start, end)
    answers = []
    allowance = Allowance(limits.VALUES_COMPUTED_MAX)
    for query in queries:
        if not query.is_returned:
            continue
        made_for = window(start, end, query.period_s or _shortest_period(fetched), tx.now)
        found = Evaluation(queries, fetched, made_for, allowance).series(query)
        is_single_expression = len(found) == 1 and query.id not in fetched
        answers += [(query, replace(one, label=query.id) if is_single_expression else one) for one in found]
    return answers


def _fetch(tx: Transaction, caller: Caller, query: Query, stat: MetricStat, start: Instant, end: Instant) -> TimeSeries:
    """Return a metric's statistic; no values for another account's metric."""
    asked: Window = window(start, end, stat.period_s, tx.now)
    values = {} if _is_foreign(query, caller) else values_of(tx, caller.scope, stat, asked)
    return TimeSeries(asked, values, stat.metric.name)


def _is_foreign(query: Query, caller: Caller) -> bool:
    return query.account is not None and query.account != caller.account


def _shortest_period(fetched: Mapping[str, TimeSeries]) -> int:
    """Return the period for series created from numbers: the shortest period of the request's metrics."""
    return min((series.window.period_s for series in fetched.values()), default=_PERIOD_S_DEFAULT)
