"""The command line's client of a server's own surface, which follows from the model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from redrive.cli.runs import STATES
from redrive.cli.surface import Surface
from redrive.core.errors import UserError
from redrive.core.log import SilentLog
from redrive.gateway.server import Options, running
from redrive.wire.model.files import Models
from redrive.wire.model.names import snake_case
from redrive.wire.services import OWN_SERVICE

NOBODY = "http://127.0.0.1:9"
MODEL = Models().service(OWN_SERVICE.name)
BY_URL_ALONE = {"GetCode", "PutAnswer"}


@pytest.fixture(scope="module")
def surface() -> Iterator[Surface]:
    with running(Options(port=0, virtual=True), SilentLog()) as server:
        yield Surface(server.endpoint_url)


def refused(call: object, **given: object) -> UserError:
    assert callable(call)
    with pytest.raises(UserError) as caught:
        call(**given)
    return caught.value


@pytest.mark.parametrize("name", sorted(MODEL.operations.keys() - BY_URL_ALONE))
def test_each_operation_has_a_method_with_its_members(name: str) -> None:
    shape = MODEL.operations[name].input

    parameters = inspect.signature(getattr(Surface, snake_case(name))).parameters

    assert set(parameters) - {"self"} == set(shape.members if shape else ())


def test_answers_are_what_the_server_says(surface: Surface) -> None:
    fault = surface.add_fault(target="*", error="X", times=2)

    assert surface.get_health()["status"] == "ok"
    assert surface.list_faults()["faults"] == [fault]
    assert surface.clear_fault(id=fault["id"]) == {"cleared": 1}
    assert surface.advance_clock(advance_s=1)["now_ms"] == surface.get_clock()["now_ms"]
    assert surface.list_runs(state="missed", limit=1) == {"runs": [], "after": None}


def test_id_with_every_sign_of_a_url_arrives_as_it_is(surface: Surface) -> None:
    written = "arn:aws:scheduler:us-east-1:0:schedule/a b@2025#?&=%2F"

    assert written in refused(surface.get_run, id=written).what


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("list_runs", {"limit": 0}, "'limit'"),
        ("list_runs", {"state": "nowhere"}, "'state'"),
        ("add_fault", {"target": "*", "times": 0}, "'times'"),
        ("get_occurrences", {"schedule": ""}, "'schedule'"),
        ("advance_clock", {"advance_s": -1.0}, "'advance_s'"),
    ],
)
def test_what_breaks_the_model_is_refused_before_a_server_is_asked(
    method: str, given: dict[str, object], said: str
) -> None:  # fmt: skip
    error = refused(getattr(Surface(NOBODY), method), **given)

    assert (said in error.what, error.exit_code) == (True, 2)
    assert "/_redrive/" in error.next_step


def test_server_that_is_not_there_is_told_with_what_to_do() -> None:
    error = refused(Surface(NOBODY).get_clock)

    assert (NOBODY in error.what, error.next_step) == (True, "Start one with: redrive serve")


def test_refusal_of_a_server_keeps_its_sentence_and_its_next_step(surface: Surface) -> None:
    error = refused(surface.get_store_report)

    assert (error.what, error.exit_code) == (
        "This server keeps everything in memory; there is no file to check or to copy.", 2,
    )  # fmt: skip
    assert error.next_step == "Start it with: redrive serve --data DIR"


def test_states_to_choose_from_are_those_of_the_model() -> None:
    assert set(STATES) == {state.replace(" ", "-") for state in MODEL.shapes["RunState"].constraints.enum}
