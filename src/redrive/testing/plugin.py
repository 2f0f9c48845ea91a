"""The pytest plugin: installing redrive gives these fixtures to every test.

    def test_nightly_report_is_written_once(redrive):
        outputs = redrive.deploy("template.yaml")
        redrive.advance(hours=24)
        assert len(redrive.client("dynamodb").scan(TableName=outputs["Reports"])["Items"]) == 24

    @pytest.mark.redrive(template="template.yaml")
    def test_order_is_charged_once(redrive): ...

The engine is imported when a test requests a fixture, so that other tests do not pay for the import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from redrive.core.clock import VirtualClock
    from redrive.testing.world import World

_MARKER = (
    "redrive(template=None, stack='stack', parameters=None, seed=0, start=None, account=None, region=None, "
    "rates='real-time'): "
    "the test gets an engine as by the fixture `redrive`, with this CloudFormation template deployed (a path from the "
    "test's folder or from rootdir) and AWS's clock at this UTC time, such as 2025-01-01T00:00:00Z."
)

WorldFactory = Callable[..., AbstractContextManager["World"]]
"""The type of the fixture `redrive_factory`."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture(autouse=True)
def _redrive_before_others(request: pytest.FixtureRequest) -> None:
    """Set up the engine before other fixtures of the test, which may make clients and call AWS."""
    if "redrive" in request.fixturenames or request.node.get_closest_marker("redrive") is not None:
        request.getfixturevalue("redrive")


@pytest.fixture
def redrive(request: pytest.FixtureRequest, redrive_factory: WorldFactory) -> Iterator[World]:
    """The test's own engine, in memory, in virtual time. All botocore clients reach it, and none reaches AWS."""
    marker = request.node.get_closest_marker("redrive")
    options = {} if marker is None else _options_of(marker, request)
    with redrive_factory(**options) as world:
        yield world


@pytest.fixture
def redrive_clock(redrive: World) -> VirtualClock:
    """The clock of the test's engine. Moving it does no due work; `redrive.advance` does."""
    return redrive.clock


@pytest.fixture(scope="session")
def redrive_factory(pytestconfig: pytest.Config) -> WorldFactory:
    """Makes engines for fixtures of your own, of any scope. Takes the same arguments as the marker `redrive`.

    @pytest.fixture(scope="module")
    def app(redrive_factory):
        with redrive_factory(template="template.yaml") as world:
            yield world
    """

    @contextmanager
    def make(
        *, template: str | Path | None = None, stack: str = "stack", parameters: Mapping[str, str] | None = None,
        seed: int = 0, start: str | None = None, account: str | None = None, region: str | None = None,
        rates: str = "real-time",
    ) -> Iterator[World]:  # fmt: skip
        from redrive.core.portable import refuse_windows  # noqa: PLC0415 - see the module's docstring.

        refuse_windows()
        from redrive.core.made_code import compiled_once  # noqa: PLC0415 - as above.

        with compiled_once("testing"):
            from redrive.core.clock import parse_instant  # noqa: PLC0415 - as above.
            from redrive.core.limits import Rates  # noqa: PLC0415 - as above.
            from redrive.engine.settings import Settings  # noqa: PLC0415 - as above.
            from redrive.testing.surroundings import region_of  # noqa: PLC0415 - as above.
            from redrive.testing.world import DEFAULT_ACCOUNT, START, World  # noqa: PLC0415 - as above.

        begins_at = START if start is None else parse_instant(start)
        world = World(
            seed=seed, start=begins_at, account=account or DEFAULT_ACCOUNT, region=region or region_of(os.environ),
            settings=Settings(rates=Rates(rates)),
        )  # fmt: skip
        try:
            with world.reached():
                if template is not None:
                    place = _found(template, pytestconfig.invocation_params.dir, pytestconfig.rootpath)
                    world.deploy(place, stack=stack, **(parameters or {}))
                yield world
        finally:
            world.close()

    return make


def _options_of(marker: pytest.Mark, request: pytest.FixtureRequest) -> dict[str, object]:
    """The options of a marker. Errors: pytest's UsageError."""
    unknown = set(marker.kwargs) - {"account", "parameters", "rates", "region", "seed", "stack", "start", "template"}
    if marker.args or unknown:
        given = ", ".join([*map(repr, marker.args), *sorted(unknown)])
        raise pytest.UsageError(f"@pytest.mark.redrive does not take {given}. It takes: {_MARKER}")
    rates = marker.kwargs.get("rates", "real-time")
    if rates not in ("real-time", "always"):
        raise pytest.UsageError(f"@pytest.mark.redrive: rates is {rates!r}. Give 'real-time' or 'always'.")
    template = marker.kwargs.get("template")
    found = {} if template is None else {"template": _found(template, request.path.parent, request.config.rootpath)}
    return {**marker.kwargs, **found}


def _found(template: str | Path, *folders: Path) -> Path:
    """The file of a template, in the first folder that has it. Errors: pytest's UsageError."""
    for folder in folders:
        if (folder / template).is_file():
            return folder / template
    places = ", ".join(map(str, folders))
    raise pytest.UsageError(f"There is no template {template} in {places}. Name it from one of these folders.")
