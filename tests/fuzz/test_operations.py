"""Every operation of every service, in every protocol of its service, with parameters that fit and that do not."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import pytest

from redrive.testing.world import World
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.model.shapes import OperationModel, ServiceModel
from redrive.wire.services import SERVICES
from tests.fuzz import furniture
from tests.fuzz.conftest import Cases
from tests.fuzz.examples import example_of
from tests.fuzz.protocols import request_of
from tests.fuzz.shapes import Parameters, Pool
from tests.fuzz.shrinking import shrink, snippet
from tests.fuzz.values import Draw
from tests.fuzz.watch import SETTLING_S, Watched, play
from tests.fuzz.work import HangError

CALLS = 60
"""How many calls a case makes to one world."""

SHRINKING_TRIES_MAX = 200
SAME_CHARACTERS = 48
"""Failures that begin with the same so many characters are taken for the same."""

IMPORTS = "from redrive.wire.message import HttpRequest\nfrom tests.fuzz.watch import play\n"

KNOWN: dict[str, str] = {}
"""Part of a failure's text -> what is being mended. Empty but while a mending is under way."""

every_service = pytest.mark.parametrize("service", [spec.name for spec in SERVICES])


@functools.cache
def models() -> Models:
    return Models()


@functools.cache
def served(service: str) -> Sequence[str]:
    """The operations of a service that are implemented."""
    world = World()
    names = sorted(world.engine.registry.services.get(service, ()))
    world.close()
    return names


@every_service
def test_no_call_of_an_operation_breaks_a_promise(service: str, cases: Cases) -> None:
    """No answer is a 5xx, each can be read, and whatever is refused changes nothing; then time passes."""
    model = models().service(service)
    for seed in cases(max(6, 2 * len(served(service)) // 3)):
        _play_case(model, Draw(seed), lambda draw, model=model: model.operations[draw.choice(served(model.name))])


@every_service
def test_operations_that_are_not_served_are_refused_by_name(service: str, cases: Cases) -> None:
    """An operation that AWS has and redrive has not answers 501, or why its parameters were wrong."""
    model = models().service(service)
    unserved = sorted(model.operations.keys() - set(served(service)))
    for seed in cases(1 if unserved else 0):
        _play_case(
            model,
            Draw(seed),
            lambda draw, model=model: model.operations[draw.choice(unserved or list(model.operations))],
        )


def test_calls_of_all_services_in_one_world_break_no_promise(cases: Cases) -> None:
    """What one service answers is what another is asked about."""
    for seed in cases(12):
        draw = Draw(seed)
        watched, pool, sent = Watched(), Pool(furniture.known()), list[HttpRequest]()
        for _ in range(CALLS):
            model = models().service(draw.choice([spec.name for spec in SERVICES]))
            operation = model.operations[draw.choice(served(model.name))]
            _call(watched, pool, sent, model, operation, draw)
        _pass_time(watched, sent, draw)


def _play_case(model: ServiceModel, draw: Draw, choose: object) -> None:
    watched, pool, sent = Watched(), Pool(furniture.known()), list[HttpRequest]()
    for _ in range(CALLS):
        _call(watched, pool, sent, model, choose(draw), draw)  # type: ignore[operator]
    _pass_time(watched, sent, draw)


def _call(
    watched: Watched, pool: Pool, sent: list[HttpRequest], model: ServiceModel, operation: OperationModel, draw: Draw
) -> None:
    """One call, drawn, made and watched. What it answers is known to the calls after it."""
    params = example_of(operation, draw) if draw.chance(0.4) else None
    if params is None:
        params = Parameters(draw, pool, draw.one_of(0.0, 0.03, 0.1, 0.5)).of(operation.input)
    protocol = draw.choice(model.spec.protocols)
    request = request_of(model, operation, protocol, params, draw)
    if draw.chance(0.08):
        request = dataclasses.replace(request, body=draw.changed(request.body, [sent[-1].body] if sent else []))
    sent.append(request)
    try:
        pool.learn(watched.call(request, operation=operation, protocol=protocol))
    except (Exception, HangError) as error:  # noqa: BLE001 - whatever was raised is the finding.
        _report(sent, error)


def _pass_time(watched: Watched, sent: list[HttpRequest], draw: Draw) -> None:
    try:
        watched.pass_time(seconds=draw.one_of(1, 60, SETTLING_S))
    except (Exception, HangError) as error:  # noqa: BLE001 - as above.
        _report(sent, error)
    watched.world.close()


def _report(sent: list[HttpRequest], error: BaseException) -> None:
    """Fail with the smallest calls that still fail so, unless it is known that they do."""
    said = f"{type(error).__name__}: {error}"
    if any(part in said for part in KNOWN):
        return
    smallest = shrink(sent, functools.partial(_fails, said=said), tries_max=SHRINKING_TRIES_MAX)
    raise AssertionError(f"{said[:600]}\n\n{snippet(IMPORTS, 'play({})', smallest)}") from error


def _fails(sent: Sequence[HttpRequest], said: str) -> bool:
    try:
        play(sent)
    except (Exception, HangError) as error:  # noqa: BLE001 - as above.
        return f"{type(error).__name__}: {error}"[:SAME_CHARACTERS] == said[:SAME_CHARACTERS]
    return False
