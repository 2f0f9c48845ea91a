"""Pages of GetMetricData's results, limited by the number of data points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.documents import Document


@dataclass(frozen=True, slots=True)
class Result:
    """One series of the answer; its points are in the order of the answer."""

    query_id: str
    label: str
    points: Sequence[tuple[Instant, float]]
    is_forbidden: bool = False


def page_of(results: Sequence[Result], offset: int, size: int) -> tuple[list[Document], int | None]:
    """Return one page of results as documents, and the offset of the next page, or None.

    Offset and size count the points of all results together. A result that continues on the next page is partial; a
    result that ended on an earlier page is left out.
    """
    shown: list[Document] = []
    begin = 0
    for result in results:
        end = begin + len(result.points)
        first, last = max(offset, begin), min(offset + size, end)
        is_new = begin >= offset and begin < offset + size
        if first < last or is_new:
            shown.append(_document(result, result.points[first - begin : last - begin], is_whole=last == end))
        begin = end
    return shown, offset + size if offset + size < begin else None


def _document(result: Result, points: Sequence[tuple[Instant, float]], *, is_whole: bool) -> Document:
    status = "Forbidden" if result.is_forbidden else "Complete" if is_whole else "PartialData"
    return {
        "Id": result.query_id,
        "Label": result.label,
        "Timestamps": [at for at, _ in points],
        "Values": [value for _, value in points],
        "StatusCode": status,
    }
