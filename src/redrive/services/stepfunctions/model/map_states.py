"""Distributed Maps: the execution's side of a map run."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.languages.states.data_flow import output_of
from redrive.languages.states.definition import Map
from redrive.languages.states.errors import StatesError
from redrive.services.stepfunctions.model.leaving import fail, leave, react
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.progress import MapRunWish, Progress


def begin_map_run(progress: Progress, frame: Frame) -> None:
    """Wish for the map run of a distributed Map, or for the redrive of the one that it has."""
    number = progress.position.tasks = progress.position.tasks + 1
    frame.mode, frame.task = Mode.CHILDREN, number
    progress.wishes.append(MapRunWish(frame.id, number, frame.state))


def map_run_started(progress: Progress, frame: Frame, arn: str, length: int) -> None:
    """Note that the map run has begun. `length` is the number of items, 0 if they were read from elsewhere."""
    progress.tell(frame, "MapStateStarted", {"length": length})
    progress.tell(frame, "MapRunStarted", {"mapRunArn": arn})
    frame.map_run = arn


def map_run_redriven(progress: Progress, frame: Frame, arn: str, redrives: int) -> None:
    """Note that the map run goes on."""
    progress.tell(frame, "MapRunRedriven", {"mapRunArn": arn, "redriveCount": redrives})


def map_run_succeeded(progress: Progress, frame: Frame, result: object) -> None:
    """Take the results of a map run."""
    state = progress.state(frame)
    assert isinstance(state, Map), f"{frame.state} is no Map"
    progress.tell(frame, "MapRunSucceeded")
    last = frame.previous
    progress.add("MapStateSucceeded", last)
    frame.task = 0
    try:
        leave(
            progress, frame, output_of(state, frame.input, result, progress.bindings(frame)), state.next, previous=last
        )
        frame.map_run = ""
    except StatesError as error:
        fail(progress, frame, error)


def map_run_failed(progress: Progress, frame: Frame, error: str, cause: str) -> None:
    """Take the failure of a map run: Retry and Catch of the Map decide."""
    details: Document = {"error": error, "cause": cause}
    progress.tell(frame, "MapRunFailed", details)
    react(progress, frame, error, cause)
