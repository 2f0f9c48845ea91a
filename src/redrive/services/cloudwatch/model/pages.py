"""The results of GetMetricData, in pages of so many data points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.documents import Document


@dataclass(frozen=True, slots=True)
class Result:
    """One series of the answer, its points in the order in which they are shown."""

    query_id: str
    label: str
    points: Sequence[tuple[Instant, float]]
    is_forbidden: bool = False


def page_of(results: Sequence[Result], offset: int, size: int) -> tuple[list[Document], int | None]:
    """The results from a point on, as documents, and where the next page begins if there is one.

    Points are counted through all results. A result that goes on in the next page is partial; one that had ended in an
    earlier page does not come again.
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
