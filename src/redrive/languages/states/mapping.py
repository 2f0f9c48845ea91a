"""What a Map does with its data: which items it has, what each child gets, how many run at once, how many may fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.documents import dump_json
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.computed import float_of, integer_of
from redrive.languages.states.data_flow import states_object
from redrive.languages.states.definition import Map, Mode
from redrive.languages.states.errors import QUERY_EVALUATION_ERROR, RUNTIME, StatesError, runtime_error
from redrive.languages.states.expressions import Expression
from redrive.languages.states.templates import Reached

INLINE_CONCURRENCY_MAX = 40
DISTRIBUTED_CONCURRENCY_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Item:
    """An item: its position, its value, and its key where Items is an object."""

    index: int
    value: object
    key: str | None = None

    def context(self) -> dict[str, object]:
        """`$$.Map.Item`, or `$states.context.Map.Item`."""
        keyed: dict[str, object] = {} if self.key is None else {"Key": self.key}
        return {"Index": self.index, **keyed, "Value": self.value}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How many items of a distributed Map may fail. None is no bound of that kind; without both, none may fail."""

    count: int | None
    percentage: float | None

    def is_exceeded(self, failed: int, total: int) -> bool:
        """Whether too many have failed: each bound that is given counts."""
        if not failed:
            return False
        if self.count is None and self.percentage is None:
            return True
        if self.count is not None and failed > self.count:
            return True
        return self.percentage is not None and failed * 100 > self.percentage * total


def items_of(state: Map, raw: object, bindings: Bindings) -> list[Item]:
    """The items of a Map without an ItemReader. Errors: StatesError."""
    if state.is_jsonata:
        return _items_jsonata(state, raw, bindings)
    effective = raw if state.input_path is None else state.input_path.value(raw, bindings)
    value = effective if state.items is None else state.items.value(effective, bindings)
    if isinstance(value, list):
        return as_items(value)
    path = state.items.path.text if isinstance(state.items, Reached) else "$"
    raise StatesError(RUNTIME, f'Reference path "{path}" must point to array.', is_bare=True)


def as_items(values: list[object]) -> list[Item]:
    """Values as items."""
    return [Item(index, value) for index, value in enumerate(values)]


def _items_jsonata(state: Map, raw: object, bindings: Bindings) -> list[Item]:
    value = raw if state.items is None else state.items.value(states_object(raw), bindings)
    if isinstance(value, list):
        return as_items(value)
    if isinstance(value, Mapping) and state.items is not None:
        return [Item(index, one, str(key)) for index, (key, one) in enumerate(value.items())]
    if isinstance(state.items, Expression):
        raise state.items.unexpected("array", value)
    raise StatesError(QUERY_EVALUATION_ERROR, f"Map state input must be an array but was: {dump_json(value)}")


def item_input(state: Map, raw: object, item: Item, bindings: Bindings) -> object:
    """What the child of an item gets. The context of the bindings has Map.Item already. Errors: StatesError."""
    if state.item_selector is None:
        return item.value
    if state.is_jsonata:
        return state.item_selector.value(states_object(raw), bindings)
    effective = raw if state.input_path is None else state.input_path.value(raw, bindings)
    return state.item_selector.value(effective, bindings)


def concurrency_of(state: Map, raw: object, bindings: Bindings) -> int:
    """How many children may run at once. Errors: StatesError."""
    most = INLINE_CONCURRENCY_MAX if state.mode is Mode.INLINE else DISTRIBUTED_CONCURRENCY_MAX
    asked = 0
    if state.concurrency_max is not None:
        asked = integer_of(state, "MaxConcurrency", state.concurrency_max, raw, bindings)
        if asked < 0:
            raise runtime_error("MaxConcurrency cannot be negative.")
    return min(asked or most, most)


def tolerance_of(state: Map, raw: object, bindings: Bindings) -> Tolerance:
    """How many items may fail. Errors: StatesError."""
    count = percentage = None
    if state.tolerated_count is not None:
        count = integer_of(state, "ToleratedFailureCount", state.tolerated_count, raw, bindings)
        if count < 0:
            raise runtime_error("ToleratedFailureCount cannot be negative.")
    if state.tolerated_percentage is not None:
        percentage = float_of(state, "ToleratedFailurePercentage", state.tolerated_percentage, raw, bindings)
        if not 0 <= percentage <= 100:
            raise runtime_error("ToleratedFailurePercentage must be between 0 and 100.")
    return Tolerance(count, percentage)
