"""All workers of an engine. A worker's module is imported when a timer of its kind is set: see `late`.

A test compares what stands here of a worker with the worker itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redrive.core.knobs import PRODUCTION, Knobs
from redrive.core.log import Log
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.upkeep.cleaning import CleaningWorker
from redrive.delivery.upkeep.metrics import ALARM_TIMER, HIGH_RESOLUTION_TIMER, MetricsWorker
from redrive.delivery.upkeep.worker import UpkeepWorker
from redrive.delivery.worker import Worker
from redrive.engine.late import LateWorker
from redrive.engine.settings import DEFAULTS, Settings
from redrive.engine.sources import late_sources
from redrive.services.lambda_.queue_events import QueueEvents
from redrive.services.lambda_.source import LambdaSource
from redrive.services.lambda_.workers.mappings import MappingWorker
from redrive.services.sqs.executions import executions_of
from redrive.services.sqs.visibility import count_visible, next_visible
from redrive.store.api import Transaction


def build_workers(
    log: Log, settings: Settings = DEFAULTS, knobs: Knobs = PRODUCTION, *, real_time: bool = False,
    has_upkeep: bool = True,
) -> list[Worker]:  # fmt: skip
    """All workers of an engine; without `has_upkeep`, those alone that a user waits for. Each engine needs its own."""
    make = _Makers(log, settings, knobs, real_time)
    queues = QueueEvents(next_visible=next_visible, count_visible=count_visible, executions_of=executions_of)
    workers: list[Worker] = [
        DeliveryWorker([LambdaSource()], log, per_claim=knobs.deliveries_per_claim, late=late_sources(settings)),
        # In alphabetical order.
        _by_timer(ALARM_TIMER, lambda: make.alarms(ALARM_TIMER)),
        _by_timer(HIGH_RESOLUTION_TIMER, lambda: make.alarms(HIGH_RESOLUTION_TIMER)),
        _by_timer("dynamodb.backfills", make.backfills),
        CleaningWorker(),
        _by_timer("cloudwatch.composite", make.composites),
        _by_asking("connections", make.connections, "events.connection"),
        _by_timer("stepfunctions.execution", make.executions),
        LateWorker("dynamodb.ttl", make.expiry, timer=None, waits_for=lambda tx: tx.items.next_expiry()),
        _by_timer("scheduler.group", make.group_deletions, name="scheduler groups"),
        _by_timer("kms.key", make.keys),
        _by_timer("s3.lifecycle", make.lifecycle, name="s3_lifecycle"),
        _by_asking("cloudformation.macro", make.macros),
        _by_timer("stepfunctions.map_run", make.map_runs),
        MappingWorker([queues], log),
        _by_timer("sqs.moves", make.move_tasks),
        _by_timer("cloudwatch.mute", make.mutes),
        _by_asking("logs.queries", make.queries),
        _by_timer("events.replay", make.event_replays, name="replays"),
        _by_asking("secretsmanager.rotation", make.rotations),
        _by_timer("events.rule", make.rule_schedules, name="rule schedules"),
        _by_timer("scheduler.schedule", make.schedules, name="scheduler"),
        _by_timer("secretsmanager.deletion", make.secret_deletions),
        _by_timer("sns.replay", make.topic_replays, name="sns_replays"),
        _by_timer("cloudformation.stack", make.stacks),
        LateWorker("lambda.stream_mapping", make.stream_mappings, timer=None, waits_for=_next_of_streams),
    ]
    return [*workers, *(make.upkeep() if has_upkeep else ())]


def _by_timer(timer: str, make: Callable[[], Worker], *, name: str = "") -> Worker:
    """A worker that a kind of timer alone makes due. Its name is that of the timer, unless it has another one."""
    return LateWorker(name or timer, make, timer=timer, waits_for=lambda tx: tx.timers.next(timer))


def _by_asking(name: str, make: Callable[[], Worker], timer: str = "") -> Worker:
    """A worker that says when it is due, which is never before a timer of its kind is set."""
    return LateWorker(name, make, timer=None, waits_for=lambda tx: tx.timers.next(timer or name))


def _next_of_streams(tx: Transaction) -> object:
    """What the worker of streams can have to do: to look at a mapping, or to end the lease of a batch."""
    look_at = tx.timers.next("lambda.stream_mapping")
    return tx.deliveries.next(("stream batch",)) if look_at is None else look_at


@dataclass(frozen=True, slots=True)
class _Makers:
    """Makes workers, each of which is imported here."""

    log: Log
    settings: Settings
    knobs: Knobs
    real_time: bool

    def alarms(self, timer: str) -> Worker:
        from redrive.services.cloudwatch.workers.alarms import SETTLING_MS, AlarmWorker

        settling_ms = SETTLING_MS if self.real_time else 0
        return AlarmWorker(timer, settling_ms=settling_ms, per_claim=self.knobs.alarms_per_claim)

    def backfills(self) -> Worker:
        from redrive.services.dynamodb.workers.backfill import BackfillWorker

        return BackfillWorker(per_claim=self.knobs.items_indexed_per_claim)

    def composites(self) -> Worker:
        from redrive.services.cloudwatch.workers.composites import CompositeWorker

        return CompositeWorker(per_claim=self.knobs.alarms_per_claim)

    def connections(self) -> Worker:
        from redrive.services.events.workers.connections import ConnectionWorker

        return ConnectionWorker()

    def event_replays(self) -> Worker:
        from redrive.services.events.workers.replays import ReplayWorker

        return ReplayWorker(per_claim=self.knobs.events_replayed_per_claim)

    def executions(self) -> Worker:
        from redrive.services.stepfunctions.workers.executions import ExecutionWorker

        return ExecutionWorker(self.log)

    def expiry(self) -> Worker:
        from redrive.services.dynamodb.workers.expiry import ExpiryWorker

        return ExpiryWorker()

    def group_deletions(self) -> Worker:
        from redrive.services.scheduler.workers.schedules import GroupDeletionWorker

        return GroupDeletionWorker()

    def keys(self) -> Worker:
        from redrive.services.kms.workers.keys import KeyWorker

        return KeyWorker()

    def lifecycle(self) -> Worker:
        from redrive.services.s3.workers.lifecycle import LifecycleWorker

        return LifecycleWorker()

    def macros(self) -> Worker:
        from redrive.services.cloudformation.workers.macros import MacroWorker

        return MacroWorker()

    def map_runs(self) -> Worker:
        from redrive.services.stepfunctions.workers.map_runs import MapRunWorker

        return MapRunWorker(self.log)

    def move_tasks(self) -> Worker:
        from redrive.services.sqs.workers.move_tasks import MoveTaskWorker

        return MoveTaskWorker()

    def mutes(self) -> Worker:
        from redrive.services.cloudwatch.workers.mutes import MuteWorker

        return MuteWorker(per_claim=self.knobs.alarms_per_claim)

    def queries(self) -> Worker:
        from redrive.services.logs.workers.queries import QueryWorker

        return QueryWorker(self.log)

    def rotations(self) -> Worker:
        from redrive.services.secretsmanager.workers.rotations import RotationWorker

        return RotationWorker()

    def rule_schedules(self) -> Worker:
        from redrive.services.events.workers.schedules import RuleScheduleWorker

        return RuleScheduleWorker(per_claim=self.knobs.occurrences_per_claim)

    def schedules(self) -> Worker:
        from redrive.services.scheduler.workers.schedules import ScheduleWorker

        return ScheduleWorker(per_claim=self.knobs.occurrences_per_claim)

    def secret_deletions(self) -> Worker:
        from redrive.services.secretsmanager.workers.deletions import SecretDeletionWorker

        return SecretDeletionWorker()

    def stacks(self) -> Worker:
        from redrive.services.cloudformation.workers.stacks import StackWorker

        return StackWorker(is_strict=self.settings.strict_templates, real_time=self.real_time)

    def stream_mappings(self) -> Worker:
        from redrive.engine.streams import STREAM_SOURCES
        from redrive.services.lambda_.workers.streams import StreamMappingWorker

        return StreamMappingWorker(STREAM_SOURCES, self.log)

    def topic_replays(self) -> Worker:
        from redrive.services.sns.workers.replays import SnsReplayWorker

        return SnsReplayWorker()

    def upkeep(self) -> list[Worker]:
        """The workers of upkeep. They always have something to do."""
        from redrive.engine.ageing import AGEING
        from redrive.services.sqs.sampler import QueueSampler

        return [MetricsWorker([QueueSampler()]), UpkeepWorker(AGEING, per_claim=self.knobs.rows_swept_per_claim)]
