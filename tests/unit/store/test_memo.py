"""The memo of computed values."""

from __future__ import annotations

from redrive.store.memo import Memo


def test_memo_keeps_values_up_to_its_bound() -> None:
    memo = Memo(2)
    for key in ("a", "b", "b", "c"):
        memo.put(key, key.upper())

    assert [memo.get(key) for key in ("a", "b", "c")] == [None, "B", "C"]
    memo.forget("b")
    memo.forget("never")
    assert memo.get("b") is None
