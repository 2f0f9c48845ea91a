"""Randomness: fetched in bulk, never handed out twice, and reproducible where it is seeded."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from redrive.core.entropy import SeededEntropy, SystemEntropy, new_row_id, new_uuid


@pytest.mark.parametrize("length", [0, 1, 16, 31, 32, 33, 100])
def test_draw_has_the_length_that_was_asked_for(length: int) -> None:
    for entropy in (SystemEntropy(), SeededEntropy(1)):
        assert re.fullmatch(rf"[0-9a-f]{{{length}}}", entropy.hex(length))


def test_no_draw_is_handed_out_twice_whichever_thread_asks() -> None:
    entropy = SystemEntropy()

    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(entropy.hex, [32] * 5_000))

    assert len(set(drawn)) == 5_000


def test_same_seed_draws_the_same() -> None:
    assert [SeededEntropy(7).hex(16) for _ in range(2)] == [SeededEntropy(7).hex(16)] * 2


def test_uuid_is_of_version_4() -> None:
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", new_uuid(SystemEntropy())
    )


def test_ids_of_rows_are_uuids_that_lie_together_with_those_of_the_same_time() -> None:
    entropy = SeededEntropy(1)

    ids = [
        new_row_id(entropy, now) for now in (1_767_225_600_000, 1_767_225_600_001, 1_767_225_660_000) for _ in range(50)
    ]

    assert len(set(ids)) == len(ids)
    assert [one[:14] for one in ids] == sorted(one[:14] for one in ids)
    assert all(UUID(one).version == 4 for one in ids)
