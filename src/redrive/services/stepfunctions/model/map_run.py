"""Map runs: the child executions of a distributed Map, as they are stored and shown.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-examine-map-run.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.languages.states.mapping import Tolerance
from redrive.services.stepfunctions.model.progress import ABORTED, FAILED, RUNNING, SUCCEEDED, TIMED_OUT

INPUTS_PER_CHUNK = 250

_SHOWN = {SUCCEEDED: "succeeded", FAILED: "failed", TIMED_OUT: "timedOut", ABORTED: "aborted"}
_UNSUCCESSFUL = (FAILED, TIMED_OUT, ABORTED)


@dataclass(frozen=True, slots=True)
class MapRun:
    """A map run. `name` is its ARN; `task` is the number that the Map's frame awaits.

    `children` is how many executions it has, `begun` how many of them were started; `ended` counts executions and
    `items` their items, by status. `tolerated_count` and `tolerated_percentage` are None where the Map has none.
    `is_expecting_redrive`: the children that have not succeeded are to go on.
    """

    KIND: ClassVar[str] = "stepfunctions.map_run"
    IS_STATE: ClassVar[bool] = True

    name: str
    execution: str
    frame: str
    task: int
    state: str
    label: str
    started_at: Instant
    children: int
    item_count: int
    concurrency: int
    is_express: bool = False
    tolerated_count: int | None = None
    tolerated_percentage: float | None = None
    begun: int = 0
    ended: Mapping[str, int] = field(default_factory=dict)
    items: Mapping[str, int] = field(default_factory=dict)
    status: str = RUNNING
    stopped_at: Instant | None = None
    redrives: int = 0
    redriven_at: Instant | None = None
    is_expecting_redrive: bool = False

    @property
    def running(self) -> int:
        """How many children run."""
        return self.begun - sum(self.ended.values())

    @property
    def is_over(self) -> bool:
        """Whether all children have ended."""
        return sum(self.ended.values()) == self.children

    @property
    def is_failing(self) -> bool:
        """Whether more items have failed than the Map tolerates."""
        unsuccessful = sum(self.items.get(status, 0) for status in _UNSUCCESSFUL)
        return Tolerance(self.tolerated_count, self.tolerated_percentage).is_exceeded(unsuccessful, self.item_count)

    def with_ended(self, status: str, items: int) -> MapRun:
        """The run after a child with so many items has ended."""
        ended = {**self.ended, status: self.ended.get(status, 0) + 1}
        return replace(self, ended=ended, items={**self.items, status: self.items.get(status, 0) + items})

    def redriven(self, now: Instant, task: int) -> MapRun:
        """The run whose unsuccessful children are to go on."""
        kept = {SUCCEEDED: self.ended.get(SUCCEEDED, 0)}
        items = {SUCCEEDED: self.items.get(SUCCEEDED, 0)}
        return replace(
            self, ended=kept, items=items, status=RUNNING, stopped_at=None, redrives=self.redrives + 1, redriven_at=now,
            task=task, is_expecting_redrive=True,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MapInputs:
    """The inputs of some children, as JSON, with how many items each has. `name` is `ARN/CHUNK`, padded."""

    KIND: ClassVar[str] = "stepfunctions.map_inputs"

    name: str
    inputs: tuple[str, ...]
    sizes: tuple[int, ...]


def chunk_name(arn: str, chunk: int) -> str:
    """The stored name of a chunk of inputs."""
    return f"{arn}/{chunk:08}"


def shown_map_run(run: MapRun) -> Document:
    """A map run as DescribeMapRun answers it."""
    started = {"running": run.running, "pending": run.children - run.begun, "total": run.children}
    in_flight = run.item_count - sum(run.items.values())
    items = {
        "running": in_flight if run.begun else 0,
        "pending": 0 if run.begun else in_flight,
        "total": run.item_count,
    }
    shown: Document = {
        **listed_map_run(run), "status": run.status, "maxConcurrency": run.concurrency,
        "toleratedFailureCount": run.tolerated_count or 0, "redriveCount": run.redrives,
        "toleratedFailurePercentage": run.tolerated_percentage or 0.0,
        "executionCounts": {**started, **_counts(run.ended)}, "itemCounts": {**items, **_counts(run.items)},
    }  # fmt: skip
    del shown["stateMachineArn"]
    return {**shown, "redriveDate": run.redriven_at} if run.redriven_at is not None else shown


def listed_map_run(run: MapRun) -> Document:
    """A map run as ListMapRuns answers it."""
    machine = run.name.replace(":mapRun:", ":stateMachine:").rpartition(":")[0]
    shown: Document = {
        "executionArn": run.execution, "mapRunArn": run.name, "stateMachineArn": machine, "startDate": run.started_at,
    }  # fmt: skip
    return {**shown, "stopDate": run.stopped_at} if run.stopped_at is not None else shown


def _counts(by_status: Mapping[str, int]) -> Document:
    counts = {shown: by_status.get(status, 0) for status, shown in _SHOWN.items()}
    return {**counts, "resultsWritten": counts["succeeded"]}
