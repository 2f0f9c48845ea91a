"""The ways of Linux can be left aside, at one place; Windows is refused in one sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from redrive.core.errors import UserError
from redrive.core.portable import VARIABLE, refuse_windows

PROGRAM = """if True:
    import asyncio
    from redrive.core.portable import USES_LINUX
    from redrive.gateway.server import _loop_factory
    from redrive.invoke.sandbox.descendants import HAS_PROC
    from redrive.invoke.process import default_runtime
    print(USES_LINUX, HAS_PROC, default_runtime(), _loop_factory() is None)
"""


def ways(value: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={VARIABLE: value}, capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


def test_portable_ways_are_taken_where_they_are_wanted() -> None:
    assert ways("1") == ["False", "False", "redrive.invoke.runtime.client", "True"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone has its ways")
def test_ways_of_linux_are_taken_otherwise() -> None:
    assert ways("0") == ["True", "True", "awslambdaric", "False"]


def test_windows_is_refused_with_the_way_that_works() -> None:
    with pytest.raises(UserError, match="Run it inside WSL"):
        refuse_windows("win32")


def test_other_systems_are_not_refused() -> None:
    refuse_windows("linux")
    refuse_windows("darwin")
