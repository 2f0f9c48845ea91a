"""How property tests run here and in CI: without deadlines, and in CI with the same examples every time.

And the fixtures that rooms share, and the store that the worlds of a run have.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from tests.support.models import files_read_once
from tests.support.postgresql import postgresql_store_url, postgresql_url

__all__ = ["postgresql_store_url", "postgresql_url"]

pytest_plugins = ["tests.support.cpu"]

YOUNG_OBJECTS_MAX = 10_000
"""So many new objects are there before garbage is looked for: Python's 700 takes a tenth of the CPU of a proof."""

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store", choices=("sqlite", "postgresql"), default="sqlite",
        help="where the worlds of the tests keep what they store; tests that look into SQLite are skipped elsewhere",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sqlite(reason): the test is about SQLite, and is skipped on another store")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--store") == "sqlite":
        return
    for item in items:
        if (mark := item.get_closest_marker("sqlite")) is not None:
            item.add_marker(pytest.mark.skip(reason=f"about SQLite: {mark.args[0]}"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays, so that nothing is garbage yet."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(YOUNG_OBJECTS_MAX, 20, 20)
        gc.enable()
        _exempt_from_collection()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            _exempt_from_collection()


def _exempt_from_collection() -> None:
    """Keep what is alive now out of later garbage collections, which were a third of the CPU of the tests.

    16,000 collected tests, AWS's models and the reports of pytest stay until the end, and each full collection looks
    at all of them.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _files_read_once() -> Iterator[None]:
    with files_read_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _store_of_worlds(request: pytest.FixtureRequest) -> Iterator[None]:
    """The store that `--store` names, for every World."""
    if request.config.getoption("--store") == "sqlite":
        yield
        return
    from tests.support.stores import on_postgresql  # noqa: PLC0415 - few runs need it.

    with on_postgresql(request.getfixturevalue("postgresql_url")):
        yield
