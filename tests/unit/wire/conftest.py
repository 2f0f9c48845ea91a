"""The wire under test, and botocore as the other end of it."""

from __future__ import annotations

import pytest

from redrive.wire.model.files import Models
from redrive.wire.route import Router


@pytest.fixture(scope="session")
def models() -> Models:
    """The models of all services."""
    return Models()


@pytest.fixture(scope="session")
def router(models: Models) -> Router:
    """A router over all services."""
    return Router(models)
