"""Functions for streams, and a user who changes, deletes and creates their mappings."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import Conflict, ServiceError
from redrive.sim.checkers.happenings import Mapped, StreamRun, Unmapped, WindowEnded
from redrive.sim.checkers.stream_batches import parts_of
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.users.acts import POISON, RETRY_MS
from redrive.sim.users.functions import Handler, HandlerFailed, HandlerRun
from redrive.sim.weather import AnswerLost, Hazard
from redrive.sim.world import Simulation

BATCH_SIZE_MAX, LANES_MAX, WINDOW_S_MAX = 10, 4, 20
_GAP_MS_MAX = 30 * MINUTE_MS


@dataclass(slots=True)
class KeptMapping:
    """A mapping that is changed. `params` are those of its creation; `uuid` is empty while it does not exist."""

    function: str
    params: Document
    may_be_deleted: bool
    uuid: str = ""
    is_enabled: bool = True


class MappingKeeper:
    """Changes mappings; in the end each of them exists, and is enabled."""

    def __init__(
        self, simulation: Simulation, client: Client, mappings: Sequence[KeptMapping], *, dice: Dice, until: Instant
    ) -> None:  # fmt: skip
        self.name = "mapping keeper"
        self._simulation = simulation
        self._client = client
        self._mappings = mappings
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Change one mapping."""
        simulation, dice = self._simulation, self._dice
        is_over = simulation.now >= self._until
        left = [one for one in self._mappings if not one.uuid or not one.is_enabled] if is_over else self._mappings
        if not left:
            return None
        one = left[dice.between(0, len(left) - 1)]
        try:
            if not one.uuid:
                create_mapping(simulation, self._client, one, is_from_start=dice.chance(0.5))
            elif one.may_be_deleted and not is_over and dice.chance(0.2):
                self._client.call_seen(
                    lambda _: self._deleted(one), "lambda", "DeleteEventSourceMapping", UUID=one.uuid
                )  # fmt: skip
            else:
                self._update(one, is_enabled=is_over or dice.chance(0.7))
            simulation.trace.write(simulation.now, "mapping changed", function=one.function, enabled=one.is_enabled)
        except (Conflict, AnswerLost, ServiceError) as error:
            simulation.trace.write(simulation.now, "mapping in doubt", function=one.function, error=repr(error))
        return simulation.now + (RETRY_MS if is_over else dice.between(1, _GAP_MS_MAX))

    def _update(self, one: KeptMapping, *, is_enabled: bool) -> None:
        dice = self._dice
        changes: Document = {"Enabled": is_enabled, "BatchSize": dice.between(1, BATCH_SIZE_MAX)}
        if "TumblingWindowInSeconds" not in one.params:
            changes["ParallelizationFactor"] = dice.between(1, LANES_MAX)
            changes["MaximumBatchingWindowInSeconds"] = dice.between(0, WINDOW_S_MAX)

        def seen(_: Document) -> None:
            one.is_enabled = is_enabled

        self._client.call_seen(seen, "lambda", "UpdateEventSourceMapping", UUID=one.uuid, **changes)

    def _deleted(self, one: KeptMapping) -> None:
        one.uuid = ""
        self._simulation.observe(Unmapped(one.function))


def create_mapping(simulation: Simulation, client: Client, one: KeptMapping, *, is_from_start: bool) -> None:
    """Map a function to its stream. The checkers are informed at the commit. Errors: Conflict, AnswerLost."""

    def seen(answer: Document) -> None:
        one.uuid, one.is_enabled = answer["UUID"], True
        simulation.observe(Mapped(one.function, is_from_start))

    start = "TRIM_HORIZON" if is_from_start else "LATEST"
    client.call_seen(seen, "lambda", "CreateEventSourceMapping", StartingPosition=start, **one.params)


def stream_handler(simulation: Simulation, *, reports_failures: bool, fails_at_poison: bool) -> Handler:
    """A function for the records of a stream. It stops at the first that fails, or reports all that do."""

    def handle(run: HandlerRun) -> Document:
        done: list[str] = []
        failed: list[str] = []
        for record in run.event["Records"]:
            _, name, number = parts_of(record)
            if simulation.weather.strikes(Hazard.FLAKY) or (fails_at_poison and POISON in _work_of(record)):
                failed.append(str(number))
            elif not failed:
                done.append(name)
        if failed and not reports_failures:
            simulation.observe(StreamRun(run.request_id, ()))
            raise HandlerFailed(f"{failed} failed")
        simulation.observe(StreamRun(run.request_id, tuple(done)))
        return {"batchItemFailures": [{"itemIdentifier": number} for number in reversed(failed)]}

    return handle


def window_handler(simulation: Simulation) -> Handler:
    """A function that adds the records of a tumbling window to its state."""

    def handle(run: HandlerRun) -> Document:
        if simulation.weather.strikes(Hazard.FLAKY):
            simulation.observe(StreamRun(run.request_id, ()))
            raise HandlerFailed("failed this time")
        event = run.event
        names = [parts_of(record)[1] for record in event["Records"]]
        told = [*event["state"].get("records", ()), *names]
        simulation.observe(StreamRun(run.request_id, tuple(names)))
        if event["isFinalInvokeForWindow"]:
            ended = WindowEnded(run.function_name, event["shardId"], event["window"]["start"], told)
            simulation.observe(ended)
        return {"state": {"records": told}}

    return handle


def _work_of(record: Document) -> str:
    """The work that a record tells. A deleted item has none."""
    if "kinesis" in record:
        return str(load_json(base64.b64decode(record["kinesis"]["data"]))["work"])
    return str(record["dynamodb"].get("NewImage", {}).get("work", {}).get("S", ""))
