"""Why a history broke its rule, recognised by its structure: who wrote which row, who read it, who was refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redrive.prove.judge.judge import Rule
from redrive.prove.play.events import Delivered
from redrive.prove.tell.advice.case import Case
from redrive.prove.tell.advice.finding import Cause, Finding
from redrive.prove.tell.advice.lost import (
    claimed,
    deleted_first,
    dropped,
    endless,
    fails_again,
    given_up,
    letters_expired,
    misspelt,
    own_write,
    uncertain,
    unchecked,
    unprocessed,
    unread,
)
from redrive.prove.tell.advice.repeated import (
    by_changing_record,
    by_changing_row,
    by_record,
    by_token,
    differs,
    marked_after,
    older,
    read_then_written,
    unrecorded,
)

_ONCE = (by_token, read_then_written, by_changing_row, by_changing_record, by_record, marked_after, unrecorded)
_ALL = (
    endless, unprocessed, misspelt, unread, unchecked, uncertain, deleted_first, dropped, own_write, claimed, given_up,
    letters_expired, fails_again,
)  # fmt: skip
"""In this order: what is told comes before what is concluded."""
_SAME = (older, read_then_written, differs)


def cause_of(case: Case) -> Finding | None:
    """The cause of a broken rule; None if the history does not show which.

    A history goes on in an environment that was used before only where the same in a new one has broken no rule.
    """
    remembered = next((one for one in case.events if isinstance(one, Delivered) and one.remembers), None)
    if remembered is not None:
        details = {"names": ", ".join(remembered.remembers), "run": str(remembered.run), "after": str(remembered.after)}
        return Finding(Cause.REMEMBERED, None, details)
    match case.violation.rule:
        case Rule.ONCE:
            return _first(case, _ONCE)
        case Rule.ALL | Rule.UNSTUCK:
            return _first(case, _ALL)
        case Rule.SAME:
            return _first(case, _SAME)
        case _:
            return None


def _first(case: Case, recognisers: Sequence[Callable[[Case], Finding | None]]) -> Finding | None:
    return next((found for recognise in recognisers if (found := recognise(case)) is not None), None)
