"""The checkers of streams and tables find what breaks their rules in histories that are made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from redrive.core.documents import Document, dump_json
from redrive.delivery.outside.invocation import Invocation
from redrive.delivery.worker import Attempt
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import (
    ChangesRead,
    IndexRead,
    ItemWritten,
    LeftMessage,
    Mapped,
    Streamed,
    StreamRead,
    StreamRun,
    TableRead,
    Took,
    Unmapped,
    WindowEnded,
)
from redrive.sim.checkers.stream_batches import StreamReader
from redrive.sim.checkers.streams import RecordsInOrder, StreamContents, WindowsWhole
from redrive.sim.checkers.tables import TablesFollowed
from tests.simulation.test_checkers import attempt

FUNCTION, STREAM, SPILL = "follows", "river", "spill"
A_S, A_S_LATER = "2025-03-29T12:00:00.000Z", "2025-03-29T12:01:00.000Z"


def took(request_id: str, *numbers: int, key: str = "a") -> Took:
    """A node has begun a batch of these records, which all have one key."""
    records = [{"kinesis": {"partitionKey": key, "sequenceNumber": str(number)}} for number in numbers]
    event = dump_json({"Records": records}).encode()
    errand = attempt(payload=event).errand
    assert isinstance(errand, Invocation)
    invocation = replace(errand, function_name=FUNCTION, request_id=request_id)
    return Took("node-1", 1, 0, [Attempt("lambda.stream_mapping", request_id, 0, invocation)])


def spilled(request_id: str, first: int, last: int, count: int, *, calls: int = 1, why: str = "Retry") -> LeftMessage:
    """A failure record in its queue."""
    condition = {"Retry": "RetryAttemptsExhausted", "Age": "RecordAgeExceeded"}[why]
    body = {
        "requestContext": {"requestId": request_id, "condition": condition, "approximateInvokeCount": calls},
        "timestamp": A_S_LATER,
        "KinesisBatchInfo": {
            "shardId": "0", "startSequenceNumber": str(first), "endSequenceNumber": str(last), "batchSize": count,
            "approximateArrivalOfFirstRecord": A_S, "approximateArrivalOfLastRecord": A_S,
        },
    }  # fmt: skip
    return LeftMessage(SPILL, "id", dump_json(body), 0, "", {})


def in_order(
    records: int = 3, *, is_from_start: bool = True, retries_max: int | None = None, age_s_max: int | None = None
) -> RecordsInOrder:  # fmt: skip
    """The checker of a stream with these records of one key, and a function that is mapped to it."""
    checker = RecordsInOrder([StreamReader(FUNCTION, STREAM, retries_max, age_s_max, spill=SPILL)])
    if is_from_start:
        checker.observe(Mapped(FUNCTION, is_from_start=True))
    for number in range(1, records + 1):
        checker.observe(Streamed(STREAM, "a", str(number)))
    if not is_from_start:
        checker.observe(Mapped(FUNCTION, is_from_start=False))
    return checker


def broken(checker: RecordsInOrder, left: Sequence[LeftMessage] = ()) -> str:
    """What the checker says at the end; empty if all is well."""
    try:
        checker.finish(left)
    except RuleBroken as found:
        return found.what
    return ""


def test_records_that_are_done_in_order_are_right() -> None:
    """A batch may come again, in part and late, if the first time was in order."""
    checker = in_order()
    for happening in (
        took("r1", 1, 2), StreamRun("r1", ["1"]), took("r2", 2), StreamRun("r2", ["2"]), took("r3", 3),
        StreamRun("r1", ["1"]), StreamRun("r3", ["3"]),
    ):  # fmt: skip
        checker.observe(happening)

    assert broken(checker) == ""


def test_record_that_is_neither_done_nor_given_up_is_skipped() -> None:
    """Nothing is owed to a mapping that is deleted, nor what is older than its start."""
    checker, deleted, late = in_order(), in_order(), in_order(is_from_start=False)
    deleted.observe(Unmapped(FUNCTION))

    assert "skipped ['1', '2', '3'] of a" in broken(checker)
    assert broken(deleted) == broken(late) == ""


def test_record_before_an_earlier_one_of_its_key_is_out_of_order() -> None:
    """The earlier one has to be done, or to be in a failure record."""
    checker = in_order(2)
    for happening in (took("r1", 2), StreamRun("r1", ["2"]), took("r2", 1), StreamRun("r2", ["1"])):
        checker.observe(happening)

    assert "got 2 before 1 was done" in broken(checker)


def test_given_up_batch_lets_the_next_one_begin() -> None:
    """The retries have to be used up: the function ran once more than there are retries."""
    checker, early = in_order(2, retries_max=1), in_order(2, retries_max=1)
    for happening in (took("r1", 1), StreamRun("r1", []), took("r2", 1), StreamRun("r2", [])):
        checker.observe(happening)
    for each in (early, checker):
        each.observe(took("r3", 2))
        each.observe(StreamRun("r3", ["2"]))
    early.observe(took("r4", 1))
    early.observe(StreamRun("r4", []))

    assert broken(checker, [spilled("r2", 1, 1, 1, calls=2)]) == ""
    assert "after 1 calls, with 1 retries" in broken(early, [spilled("r4", 1, 1, 1, calls=1)])
    assert "but the function ran 1 times" in broken(early, [spilled("r4", 1, 1, 1, calls=2)])


def test_records_too_old_are_given_up_at_their_age() -> None:
    """The function need not have seen them. The failure record says how old they were."""
    read = StreamRead(STREAM, [("0", "1", "a", "1"), ("0", "2", "a", "2")])
    old, young = in_order(2, age_s_max=60), in_order(2, age_s_max=90)
    old.observe(read)
    young.observe(read)

    assert broken(old, [spilled("r1", 1, 2, 2, why="Age")]) == ""
    assert "its last record was 60 s old, of 90" in broken(young, [spilled("r1", 1, 2, 2, why="Age")])


def test_failure_record_that_tells_other_records_is_found() -> None:
    """Its count is that of the batch."""
    checker = in_order(2, retries_max=0)
    checker.observe(took("r1", 1, 2))
    checker.observe(StreamRun("r1", []))

    assert "is about ['1', '2']" in broken(checker, [spilled("r1", 1, 2, 3)])


def test_batch_of_what_is_in_no_stream_is_found() -> None:
    """Nor may a mapping that begins at the latest record get an older one."""
    with pytest.raises(RuleBroken, match="got 4 of a, which is not for it"):
        in_order().observe(took("r1", 4))
    with pytest.raises(RuleBroken, match="got 3 of a, which is not for it"):
        in_order(is_from_start=False).observe(took("r1", 3))


def test_stream_that_is_read_otherwise_than_written_is_found() -> None:
    """Keys keep their order; shards may come in any order."""
    checker = StreamContents()
    for key, record in (("a", "1"), ("b", "2"), ("a", "3")):
        checker.observe(Streamed(STREAM, key, record))
    checker.observe(StreamRead(STREAM, [("1", "2", "b", "2"), ("0", "1", "a", "1"), ("0", "3", "a", "3")]))

    with pytest.raises(RuleBroken, match="a in river was written"):
        checker.observe(StreamRead(STREAM, [("0", "3", "a", "3"), ("0", "1", "a", "1"), ("1", "2", "b", "2")]))


@pytest.mark.parametrize("states", [[("1",)], [("1", "2"), ("2",)], [("1", "2", "2")]])
def test_record_that_is_not_in_the_state_of_one_window_is_found(states: list[tuple[str, ...]]) -> None:
    """None is missing, none is in two, none is twice in one."""
    checker = WindowsWhole(FUNCTION, STREAM)
    checker.observe(Streamed(STREAM, "a", "1"))
    checker.observe(Streamed(STREAM, "a", "2"))
    for number, state in enumerate(states):
        checker.observe(WindowEnded(FUNCTION, "0", str(number), state))

    with pytest.raises(RuleBroken, match="the windows of follows lack"):
        checker.finish(())


def test_last_call_of_a_window_may_come_again() -> None:
    """It has the same state."""
    checker = WindowsWhole(FUNCTION, STREAM)
    checker.observe(Streamed(STREAM, "a", "1"))
    checker.observe(WindowEnded(FUNCTION, "0", "noon", ["1"]))
    checker.observe(WindowEnded(FUNCTION, "0", "noon", ["1"]))

    checker.finish(())


def item(number: int, **more: Document) -> Document:
    """An item of the table."""
    return {"shelf": {"S": "s"}, "id": {"S": "i"}, "write": {"N": str(number)}, **more}


def test_table_that_differs_from_what_was_written_is_found() -> None:
    """An item too many, one too few, an earlier state."""
    checker = TablesFollowed(("shelf", "id"))
    checker.observe(ItemWritten("shelf", "s/i", item(1)))
    checker.observe(ItemWritten("shelf", "s/i", item(2)))
    checker.observe(TableRead("shelf", [item(2)], []))

    for wrong in ([], [item(1)], [item(1), item(2)]):
        with pytest.raises(RuleBroken, match="shelf lacks"):
            checker.observe(TableRead("shelf", wrong, []))


def test_index_that_is_not_the_projection_of_its_table_is_found() -> None:
    """Items without the index's key are in no index; entries have the projected attributes, and no others."""
    checker = TablesFollowed(("shelf", "id"))
    owned = item(1, owner={"S": "o"})
    checker.observe(ItemWritten("shelf", "s/i", owned))
    entry = {name: owned[name] for name in ("shelf", "id", "owner")}
    checker.observe(TableRead("shelf", [owned], [IndexRead("by-owner", ["owner"], frozenset(), [entry])]))
    checker.observe(TableRead("shelf", [owned], [IndexRead("by-rank", ["rank"], None, [])]))

    for wrong in ([], [owned], [{**entry, "owner": {"S": "p"}}]):
        with pytest.raises(RuleBroken, match="index by-owner lacks"):
            checker.observe(TableRead("shelf", [owned], [IndexRead("by-owner", ["owner"], frozenset(), wrong)]))


def test_history_that_does_not_lead_to_the_table_is_found() -> None:
    """Each change begins with the item as the change before left it, and the last one leaves it as it is."""
    checker = TablesFollowed(("shelf", "id"))
    checker.observe(ItemWritten("shelf", "s/i", item(2)))
    first, second = ("s/i", None, item(1)), ("s/i", item(1), item(2))
    checker.observe(ChangesRead("shelf", [first, second]))

    with pytest.raises(RuleBroken, match="the stream changes s/i from"):
        checker.observe(ChangesRead("shelf", [second]))
    with pytest.raises(RuleBroken, match="replay lacks"):
        checker.observe(ChangesRead("shelf", [first]))
