"""Modules and functions stay small enough to read whole, and are named after what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from tests.tidy.source import PACKAGE, Source, findings

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
NAMELESS = frozenset({"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"})

MODULE_SIZE_EXCEPTIONS: dict[str, str] = {"cli/surface.py": "written by `make docs`, from the model of our own surface"}
FUNCTION_SIZE_EXCEPTIONS: dict[str, str] = {}


def long_modules(source: Source) -> Iterator[str]:
    """A module past its limit is two nouns: split it by noun."""
    lines = len(source.text.splitlines())
    if lines > MODULE_LINES_MAX:
        yield f"{source.path} has {lines} lines, more than {MODULE_LINES_MAX}: split it by noun"


def long_functions(source: Source) -> Iterator[str]:
    """A function past its limit hides another one."""
    for name, function in source.functions.items():
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            yield f"{source.path}:{name} has {lines} lines, more than {FUNCTION_LINES_MAX}"


def nameless_modules(source: Source) -> Iterator[str]:
    """A module is named after its noun, not after having none."""
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if part.strip("_") in NAMELESS:
            yield f"{source.path} is named {part}: name it after what it holds"


def test_modules_are_short_enough_to_read_whole() -> None:
    assert findings(long_modules, PACKAGE, MODULE_SIZE_EXCEPTIONS) == []


def test_functions_are_short_enough_to_see_whole() -> None:
    assert findings(long_functions, PACKAGE, FUNCTION_SIZE_EXCEPTIONS) == []


def test_modules_are_named_after_what_they_hold() -> None:
    assert findings(nameless_modules, PACKAGE) == []


def test_module_of_one_line_too_many_is_seen() -> None:
    assert list(long_modules(Source("a.py", "x = 1\n" * MODULE_LINES_MAX))) == []
    assert len(list(long_modules(Source("a.py", "x = 1\n" * (MODULE_LINES_MAX + 1))))) == 1


@pytest.mark.parametrize("head", ["def f():\n", "async def f():\n", "class A:\n    def f(self):\n"])
def test_function_of_one_line_too_many_is_seen(head: str) -> None:
    body = "        x = 1\n"

    assert list(long_functions(Source("a.py", head + body * (FUNCTION_LINES_MAX - 1)))) == []
    assert len(list(long_functions(Source("a.py", head + body * FUNCTION_LINES_MAX)))) == 1


@pytest.mark.parametrize("path", ["core/utils.py", "services/sqs/helpers.py", "store/_common.py", "misc/a.py"])
def test_module_named_after_nothing_is_seen(path: str) -> None:
    assert len(list(nameless_modules(Source(path, "")))) == 1
