"""State machines as they were read: machines, their states, retriers and catchers.

Each field that AWS computes from the data of an execution is a Template, whichever way it is written: a path, an
intrinsic function, a JSONata expression or a literal.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from redrive.languages.states.choice_rules import Test
from redrive.languages.states.paths import Path, parse_path
from redrive.languages.states.templates import Template

TIMEOUT_S_DEFAULT = 99_999_999
WHOLE: Final = parse_path("$")
"""The ResultPath that replaces everything."""
ABSENT: Final = object()
"""The Result of a Pass state that has none; null is a value."""


class QueryLanguage(enum.Enum):
    """The language of a state's expressions."""

    JSONPATH = "JSONPath"
    JSONATA = "JSONata"


class Jitter(enum.Enum):
    """Whether the waits before retries are drawn at random."""

    NONE = "NONE"
    FULL = "FULL"


class Mode(enum.Enum):
    """How a Map runs its items: in the execution itself, or in child executions."""

    INLINE = "INLINE"
    DISTRIBUTED = "DISTRIBUTED"


@dataclass(frozen=True, slots=True)
class Retrier:
    """An element of Retry."""

    errors: tuple[str, ...]
    interval_s: int = 1
    attempts_max: int = 3
    backoff_rate: float = 2.0
    delay_s_max: int | None = None
    jitter: Jitter = Jitter.NONE


@dataclass(frozen=True, slots=True)
class Catcher:
    """An element of Catch. `result_path` is None where it is null; `output` and `assign` are None where absent."""

    errors: tuple[str, ...]
    next: str
    result_path: Path | None
    output: Template | None = None
    assign: tuple[tuple[str, Template], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What all kinds of states have. A template is None where the field is absent.

    Without InputPath and OutputPath, everything goes on. `result_path` is None where it is null: the result is
    discarded. `parameters` are Parameters, or Arguments in JSONata. `next` is None at an end, and in Choice,
    Succeed and Fail.
    """

    name: str
    query_language: QueryLanguage
    comment: str | None = None
    next: str | None = None
    input_path: Template | None = None
    output_path: Template | None = None
    result_path: Path | None = WHOLE
    parameters: Template | None = None
    result_selector: Template | None = None
    output: Template | None = None
    assign: tuple[tuple[str, Template], ...] = ()
    retry: tuple[Retrier, ...] = ()
    catch: tuple[Catcher, ...] = ()

    @property
    def type(self) -> str:
        """AWS's word: Task, Pass …"""
        return type(self).__name__

    @property
    def is_jsonata(self) -> bool:
        return self.query_language is QueryLanguage.JSONATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(State):
    """`timeout` and `heartbeat` are in seconds; `credentials` gives an object with RoleArn."""

    resource: str
    timeout: Template | None = None
    heartbeat: Template | None = None
    credentials: Template | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(State):
    """`result` is ABSENT where there is none."""

    result: object = ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(State):
    """One of two is there: seconds, or the timestamp at which the wait ends."""

    seconds: Template | None = None
    timestamp: Template | None = None


@dataclass(frozen=True, slots=True)
class ChoiceRule:
    """A rule of a Choice: where to go when the test holds."""

    test: Test | Template
    next: str
    output: Template | None = None
    assign: tuple[tuple[str, Template], ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(State):
    """`default` is None where there is none."""

    choices: tuple[ChoiceRule, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    """The end of a machine or of a branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(State):
    """`error` and `cause` give texts."""

    error: Template | None = None
    cause: Template | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """States of their own: of a Parallel's branch, or of a Map's items."""

    start_at: str
    states: Mapping[str, State]
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(State):
    """Branches that run side by side."""

    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class ItemReader:
    """Where a distributed Map gets its items. `input_type` is None for lists of objects; `items_max` of 0 means all."""

    resource: str
    parameters: Template | None
    input_type: str | None = None
    header_location: str | None = None
    headers: tuple[str, ...] = ()
    delimiter: str = "COMMA"
    items_max: Template | None = None
    items_pointer: str | None = None
    manifest_type: str | None = None
    transformation: str | None = None


@dataclass(frozen=True, slots=True)
class ItemBatcher:
    """How many items a child execution gets, by number and by bytes."""

    items_max: Template | None = None
    bytes_max: Template | None = None
    input: Template | None = None


@dataclass(frozen=True, slots=True)
class ResultWriter:
    """Where the results of a distributed Map are written; None for a resource means that they are only transformed."""

    resource: str | None
    parameters: Template | None
    transformation: str | None = None
    output_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(State):
    """`items` are ItemsPath, or Items. What is None was not given."""

    processor: Branch
    mode: Mode = Mode.INLINE
    execution_type: str | None = None
    items: Template | None = None
    item_selector: Template | None = None
    concurrency_max: Template | None = None
    label: str | None = None
    item_reader: ItemReader | None = None
    item_batcher: ItemBatcher | None = None
    result_writer: ResultWriter | None = None
    tolerated_count: Template | None = None
    tolerated_percentage: Template | None = None


@dataclass(frozen=True, slots=True)
class StateMachine(Branch):
    """A whole machine. `timeout_s` is None where a run has no limit of its own."""

    timeout_s: int | None = None
    query_language: QueryLanguage = QueryLanguage.JSONPATH
    version: str = "1.0"
