"""Parallel and Map inside of the execution: their children, what becomes of their results, and of their failures.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html
"""

from __future__ import annotations

from redrive.languages.states.data_flow import effective_input, output_of
from redrive.languages.states.definition import Map, Parallel
from redrive.languages.states.errors import StatesError
from redrive.languages.states.mapping import Item, concurrency_of, item_input, items_of
from redrive.services.stepfunctions.model.leaving import fail, leave, react
from redrive.services.stepfunctions.model.position import Frame, Mode
from redrive.services.stepfunctions.model.progress import Progress

_ABORTABLE = frozenset({"Task", "Wait", "Map", "Parallel"})
_ACTIVE = frozenset({Mode.TASK, Mode.WAIT, Mode.RETRY, Mode.CHILDREN, Mode.ENTER, Mode.BEGIN})


def begin_parallel(progress: Progress, frame: Frame, state: Parallel) -> None:
    """Start all branches. Errors: StatesError."""
    value = effective_input(state, frame.input, progress.bindings(frame))
    progress.checked(value, frame.state)
    progress.tell(frame, "ParallelStateStarted")
    frame.mode, frame.results = Mode.CHILDREN, [None] * len(state.branches)
    for place, branch in enumerate(state.branches):
        _begin_child(progress, frame, place, branch.start_at, value)


def begin_map(progress: Progress, frame: Frame, state: Map) -> None:
    """Start as many iterations as may run at once. Errors: StatesError."""
    bindings = progress.bindings(frame)
    items = items_of(state, frame.input, bindings)
    frame.width = concurrency_of(state, frame.input, bindings)
    progress.tell(frame, "MapStateStarted", {"length": len(items)})
    frame.mode, frame.items, frame.results = Mode.CHILDREN, [item.context() for item in items], [None] * len(items)
    if items:
        _begin_iterations(progress, frame, state)
    else:
        _finish(progress, frame, state)


def child_ended(progress: Progress, child: Frame) -> None:
    """Take the result of a branch or an iteration. The last one ends the state around it."""
    assert child.up is not None, "a child has a parent"
    frame = progress.position.frames[child.up]
    state = _composite(progress, frame)
    frame.results[child.place] = child.output
    frame.done += 1
    del progress.position.frames[child.id]
    frame.children.remove(child.id)
    frame.previous = child.previous
    if isinstance(state, Map):
        succeeded = {"name": frame.state, "index": child.place}
        frame.previous = progress.add("MapIterationSucceeded", child.previous, succeeded)
    if frame.done == len(frame.results):
        _finish(progress, frame, state)
    elif isinstance(state, Map) and frame.begun < len(frame.results):
        try:
            _begin_iteration(progress, frame, state, child.previous)
        except StatesError as error:
            _abort_children(progress, frame, child.previous)
            fail(progress, frame, error)


def child_failed(progress: Progress, child: Frame) -> None:
    """Stop the other children, and let Retry and Catch of the state around them decide about the error."""
    assert child.up is not None, "a child has a parent"
    frame = progress.position.frames[child.up]
    cause = child.previous
    if isinstance(progress.state(frame), Map):
        _tell_iteration(progress, "MapIterationFailed", frame, child.place, cause)
    _abort_children(progress, frame, cause)
    frame.previous = cause
    react(progress, frame, child.error, child.cause)


def finish_again(progress: Progress, frame: Frame) -> None:
    """Go on with a Parallel or a Map of a redriven execution: with its other children, or with what follows them."""
    state = _composite(progress, frame)
    frame.mode, frame.error, frame.cause = Mode.CHILDREN, None, None
    if frame.done == len(frame.results):
        _finish(progress, frame, state)
    elif isinstance(state, Map):
        _begin_iterations(progress, frame, state)


def _composite(progress: Progress, frame: Frame) -> Parallel | Map:
    state = progress.state(frame)
    assert isinstance(state, Parallel | Map), f"{frame.state} has no children"
    return state


def _begin_iterations(progress: Progress, frame: Frame, state: Map) -> None:
    started = frame.previous
    while frame.begun < len(frame.results) and len(frame.children) < frame.width:
        _begin_iteration(progress, frame, state, started)


def _begin_iteration(progress: Progress, frame: Frame, state: Map, cause: int) -> None:
    assert frame.items is not None, "a Map that has begun has items"
    place = frame.begun
    frame.begun += 1
    context = frame.items[place]
    value = context["Value"]
    if state.item_selector is not None:
        bindings = progress.bindings(frame)
        bindings.context["Map"] = {"Item": context}
        value = item_input(state, frame.input, Item(place, value, context.get("Key")), bindings)
    child = _begin_child(progress, frame, place, state.processor.start_at, value)
    child.previous = progress.add("MapIterationStarted", cause, {"name": frame.state, "index": place})


def _begin_child(progress: Progress, frame: Frame, place: int, start_at: str, value: object) -> Frame:
    child = progress.position.add(start_at, frame.id, place)
    child.input, child.previous = value, frame.previous
    frame.children.append(child.id)
    progress.queue.append(child)
    return child


def _finish(progress: Progress, frame: Frame, state: Parallel | Map) -> None:
    """Leave a Parallel or a Map whose children have all ended well."""
    last = frame.previous
    results = frame.results
    progress.add(f"{state.type}StateSucceeded", last)
    try:
        flow = output_of(state, frame.input, results, progress.bindings(frame))
        frame.results, frame.items, frame.done, frame.begun = [], None, 0, 0
        leave(progress, frame, flow, state.next, previous=last)
    except StatesError as error:
        frame.results, frame.done = results, len(results)
        fail(progress, frame, error)


def _abort_children(progress: Progress, frame: Frame, cause: int) -> None:
    """Stop all descendants that are under way, innermost last. What they have called goes on, as on AWS."""
    for child in list(progress.position.below(frame)):
        if child.mode not in _ACTIVE:
            continue
        child.rest()
        is_new = child.mode is Mode.ENTER
        child.mode, child.task = Mode.ABORTED, 0
        kind = progress.state(child).type
        if kind in _ABORTABLE and not is_new:
            child.previous = progress.add(f"{kind}StateAborted", cause)
        parent = progress.position.frames[child.up or ""]
        if isinstance(progress.state(parent), Map):
            _tell_iteration(progress, "MapIterationAborted", parent, child.place, cause)


def _tell_iteration(progress: Progress, kind: str, frame: Frame, place: int, cause: int) -> None:
    progress.add(kind, cause, {"name": frame.state, "index": place})
