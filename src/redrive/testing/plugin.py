"""The pytest plugin: installing redrive gives these fixtures to every test.

    def test_nightly_report_is_written_once(redrive):
        outputs = redrive.deploy("template.yaml")
        redrive.advance(hours=24)
        assert len(redrive.client("dynamodb").scan(TableName=outputs["Reports"])["Items"]) == 24

What the engine needs is imported when a test asks for a fixture, so that other tests do not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from redrive.core.clock import VirtualClock
    from redrive.testing.world import World


@pytest.fixture
def redrive() -> Iterator[World]:
    """An engine of the test's own: in memory, in virtual time, with boto3 clients."""
    from redrive.testing.world import World  # noqa: PLC0415 - see the module's docstring.

    world = World()
    yield world
    world.close()


@pytest.fixture
def redrive_clock(redrive: World) -> VirtualClock:
    """The clock of the test's engine. Moving it alone does nothing that is due; `redrive.advance` does."""
    return redrive.clock
