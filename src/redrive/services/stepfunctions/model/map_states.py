"""Distributed Maps: the execution's side of a map run."""

from __future__ import annotations

from redrive.languages.states.definition import Map
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.progress import MapRunWish, Progress


def begin_map_run(progress: Progress, frame: Frame, _: Map) -> None:
    """Wish for the map run of a distributed Map. It tells the number of its items when it has read them."""
    number = progress.position.tasks = progress.position.tasks + 1
    frame.mode, frame.task = Mode.CHILDREN, number
    progress.wishes.append(MapRunWish(frame.id, number, frame.state))
