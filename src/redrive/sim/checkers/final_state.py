"""What is read at the end of a run: the remaining messages, the engine's history, and its metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redrive.core.clock import HOUR_MS, SECOND_MS, Instant
from redrive.core.documents import load_json
from redrive.sim.checkers.executions import METRICS
from redrive.sim.checkers.happenings import (
    DeadLettered,
    Happening,
    HistoryRead,
    LeftMessage,
    Measured,
    Occurred,
    RuleHistoryRead,
)
from redrive.sim.fleet.clients import SCOPE
from redrive.sim.users.acts import reached
from redrive.sim.world import START, Simulation

ALARMS = "alarms"
"""The group of the schedules with retry policies, so that they have their own metrics; also the name of their queue."""


def occurrence(message: LeftMessage, now: Instant) -> Happening | None:
    """The happening that a remaining message of a schedule proves: it was never read, or is a dead letter.

    None for a dead letter without attributes: another checker decides whether attributes are missing.
    """
    if message.queue.endswith("-dlq") and not message.attributes:
        return None
    match message.queue:
        case "ticks":
            body = load_json(message.body)
            return Occurred(body["schedule"], body["scheduled_at"], message.message_id, message.sent_at)
        case "ticks-dlq":
            letter = _letter(message)
            return Occurred(letter.schedule, letter.scheduled_at, message.message_id, message.sent_at)
        case "alarms":
            return reached(load_json(message.body), message.message_id, now)
        case "alarms-dlq":
            return _letter(message)
        case "siren-dlq":  # The function was reached, and failed.
            return reached(load_json(message.body), message.attributes["RequestID"], now)
        case _:
            return None


def history_and_metrics(simulation: Simulation, alarms: Sequence[str]) -> Iterator[Happening]:
    """What the engine's history and metrics say about these schedules with retry policies."""
    for name in alarms:
        arn = f"arn:aws:scheduler:{SCOPE.region}:{SCOPE.account}:schedule/{ALARMS}/{name}"
        yield HistoryRead(name, simulation.history(arn))
    for metric in METRICS if alarms else ():
        answer = simulation.reliable.call(
            "cloudwatch", "GetMetricStatistics", Namespace="AWS/Scheduler", MetricName=metric,
            Dimensions=[{"Name": "ScheduleGroup", "Value": ALARMS}], StartTime=START - HOUR_MS,
            EndTime=simulation.now, Period=HOUR_MS // SECOND_MS, Statistics=["Sum"],
        )  # fmt: skip
        yield Measured(metric, round(sum(point["Sum"] for point in answer["Datapoints"])))


def rule_histories(simulation: Simulation, arns: Mapping[str, str]) -> Iterator[Happening]:
    """What the engine's history says about these rules; `arns` by name."""
    for name, arn in arns.items():
        yield RuleHistoryRead(name, simulation.history(arn))


def _letter(message: LeftMessage) -> DeadLettered:
    attributes = message.attributes
    return DeadLettered(
        attributes["SCHEDULE_ARN"].rsplit("/", 1)[-1], attributes["SCHEDULED_TIME"], int(attributes["RETRY_ATTEMPTS"]),
        message.message_id,
    )  # fmt: skip
