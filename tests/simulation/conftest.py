"""The models of AWS's services are read once for all simulations."""

from __future__ import annotations

import pytest

from redrive.wire.model.files import Models


@pytest.fixture(scope="package")
def models() -> Models:
    return Models()
