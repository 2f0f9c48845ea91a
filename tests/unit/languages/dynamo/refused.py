"""How the tests look at a refusal: its code must be ValidationException, and its text is what they compare."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from redrive.core.errors import ServiceError


def refusal(ask: Callable[[], object]) -> str:
    """The text with which `ask` is refused."""
    with pytest.raises(ServiceError) as caught:
        ask()
    assert caught.value.code == "ValidationException"
    return caught.value.message
