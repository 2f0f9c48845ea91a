"""Randomness: fetched in bulk, never handed out twice, and reproducible where it is seeded."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from redrive.core.entropy import SeededEntropy, SystemEntropy, new_uuid


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
