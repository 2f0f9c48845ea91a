"""A small engine whose functions answer as the test says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.services.lambda_.functions import Rig


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.store.close()
