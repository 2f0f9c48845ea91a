"""What the tests of S3 share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.services.s3.desk import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.world.close()
