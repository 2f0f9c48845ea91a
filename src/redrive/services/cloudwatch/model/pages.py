"""Pages of GetMetricData's results, limited by the number of data points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.documents import Document

Place = tuple[int, int]
"""Where a page begins: the number of a result, and that of a point in it."""


@dataclass(frozen=True, slots=True)
class Result:
    """One series of the answer; its points are in the order of the answer."""

    query_id: str
    label: str
    points: Sequence[tuple[Instant, float]]
    is_forbidden: bool = False


def page_of(results: Iterable[Result], begin: Place, size: int) -> tuple[list[Document], Place | None]:
    """Return one page of results as documents, and where the next page begins, or None.

    `results` begin with the one in which the page begins; no more of them are taken than the page needs. A result that
    continues on the next page is partial.
    """
    first, offset = begin
    shown: list[Document] = []
    left = size
    for number, result in enumerate(results, start=first):
        if left == 0:
            return shown, (number, 0)
        end = min(offset + left, len(result.points))
        is_whole = end == len(result.points)
        shown.append(_document(result, result.points[offset:end], is_whole=is_whole))
        if not is_whole:
            return shown, (number, end)
        left -= end - offset
        offset = 0
    return shown, None


def _document(result: Result, points: Sequence[tuple[Instant, float]], *, is_whole: bool) -> Document:
    status = "Forbidden" if result.is_forbidden else "Complete" if is_whole else "PartialData"
    return {
        "Id": result.query_id,
        "Label": result.label,
        "Timestamps": [at for at, _ in points],
        "Values": [value for _, value in points],
        "StatusCode": status,
    }
