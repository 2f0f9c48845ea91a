"""The composition root: decides which services, workers and sources an engine has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.knobs import PRODUCTION, Knobs
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits, Rates
from redrive.core.log import Log
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.outside.invocation import Invoker
from redrive.delivery.sources.source import Source
from redrive.delivery.upkeep.cleaning import CleaningWorker
from redrive.delivery.upkeep.metrics import ALARM_TIMER, HIGH_RESOLUTION_TIMER, MetricsWorker
from redrive.delivery.upkeep.worker import UpkeepWorker
from redrive.delivery.worker import Worker
from redrive.engine.ageing import AGEING
from redrive.engine.engine import Engine, Runner
from redrive.engine.faults import FaultyInvoker
from redrive.engine.registry import Registry
from redrive.engine.services import BoundServices
from redrive.engine.streams import STREAM_SOURCES
from redrive.invoke.http_calls import HttpCalls
from redrive.services.cloudformation.workers.macros import MacroWorker
from redrive.services.cloudformation.workers.stacks import StackWorker
from redrive.services.cloudwatch.source import CloudWatchSource
from redrive.services.cloudwatch.workers.alarms import SETTLING_MS, AlarmWorker
from redrive.services.cloudwatch.workers.composites import CompositeWorker
from redrive.services.cloudwatch.workers.mutes import MuteWorker
from redrive.services.dynamodb.destinations import DestinationSource
from redrive.services.dynamodb.workers.backfill import BackfillWorker
from redrive.services.dynamodb.workers.expiry import ExpiryWorker
from redrive.services.events.api_calls import ApiCalls
from redrive.services.events.source import EventsSource
from redrive.services.events.workers.connections import ConnectionWorker
from redrive.services.events.workers.replays import ReplayWorker
from redrive.services.events.workers.schedules import RuleScheduleWorker
from redrive.services.iam.warnings import log_unknown
from redrive.services.kms.workers.keys import KeyWorker
from redrive.services.lambda_.queue_events import QueueEvents
from redrive.services.lambda_.source import LambdaSource
from redrive.services.lambda_.urls import serve_url
from redrive.services.lambda_.workers.mappings import MappingWorker
from redrive.services.lambda_.workers.streams import StreamMappingWorker
from redrive.services.logs.subscriptions import SubscriptionSource
from redrive.services.logs.workers.queries import QueryWorker
from redrive.services.s3.pages import judge_page
from redrive.services.s3.source import S3Source
from redrive.services.s3.workers.lifecycle import LifecycleWorker
from redrive.services.scheduler.misspellings import log_misspellings
from redrive.services.scheduler.model.executions import ExecutionIds
from redrive.services.scheduler.source import SchedulerSource
from redrive.services.scheduler.workers.schedules import GroupDeletionWorker, ScheduleWorker
from redrive.services.secretsmanager.workers.deletions import SecretDeletionWorker
from redrive.services.secretsmanager.workers.rotations import RotationWorker
from redrive.services.sns.source import SnsSource
from redrive.services.sns.workers.replays import SnsReplayWorker
from redrive.services.sqs.executions import executions_of
from redrive.services.sqs.sampler import QueueSampler
from redrive.services.sqs.visibility import count_visible, next_visible
from redrive.services.sqs.workers.move_tasks import MoveTaskWorker
from redrive.services.stepfunctions.source import StatesSource
from redrive.services.stepfunctions.workers.executions import ExecutionWorker
from redrive.services.stepfunctions.workers.map_runs import MapRunWorker
from redrive.store.api import Store
from redrive.wire.model.files import Models


def _operations(package: str, *names: str) -> tuple[str, ...]:
    """The full names of a service's modules of operations. They are imported when the service is first used.

    This hides no import from the import linter's contracts: the engine may import every service.
    """
    return tuple(f"redrive.services.{package}.operations.{name}" for name in names)


SERVICES: Mapping[str, tuple[str, ...]] = {
    # service: its package and its modules of operations, in alphabetical order.
    "cloudformation": _operations("cloudformation", "change_sets", "descriptions", "exports", "stacks", "templates"),
    "cloudtrail": _operations("cloudtrail", "logging", "selectors", "tags", "trails"),
    "cloudwatch": _operations(
        "cloudwatch",
        "alarm_history",
        "alarm_lists",
        "alarms",
        "composite_alarms",
        "dashboards",
        "data",
        "metrics",
        "mute_rules",
        "statistics",
        "tags",
    ),
    "dynamodb": _operations(
        "dynamodb",
        "account",
        "backups",
        "batches",
        "destinations",
        "insights",
        "items",
        "legacy_global_tables",
        "partiql",
        "reads",
        "recovery",
        "resource_policies",
        "tables",
        "tags",
        "time_to_live",
        "transactions",
        "transfers",
    ),
    "dynamodbstreams": _operations("dynamodb", "streams"),
    "ecr": _operations("ecr", "repositories", "settings"),
    "events": _operations(
        "events",
        "api_destinations",
        "archives",
        "buses",
        "connections",
        "endpoints",
        "events",
        "partners",
        "patterns",
        "permissions",
        "replays",
        "rules",
        "tags",
        "targets",
    ),
    "iam": _operations(
        "iam",
        "access_keys",
        "group_policies",
        "groups",
        "instance_profiles",
        "policies",
        "policy_versions",
        "role_policies",
        "roles",
        "simulations",
        "user_policies",
        "users",
    ),
    "kinesis": _operations(
        "kinesis", "account", "consumers", "policies", "reads", "settings", "shards", "streams", "tags", "writes"
    ),
    "kms": _operations("kms", "aliases", "encryption", "grants", "keys", "settings", "signatures"),
    "lambda": _operations(
        "lambda_",
        "aliases",
        "code_signing",
        "concurrency",
        "event_invoke",
        "function_lists",
        "functions",
        "invoke",
        "layer_permissions",
        "layers",
        "mappings",
        "permissions",
        "provisioned",
        "resource_policies",
        "settings",
        "tags",
        "urls",
        "versions",
    ),
    "logs": _operations(
        "logs",
        "account_policies",
        "deliveries",
        "delivery_destinations",
        "delivery_sources",
        "events",
        "group_lists",
        "groups",
        "index_policies",
        "live_tail",
        "metric_filters",
        "queries",
        "query_definitions",
        "resource_policies",
        "streams",
        "subscription_destinations",
        "subscription_filters",
        "tags",
        "transformers",
    ),
    # Our own surface. Operations about a service's resources live in that service's package.
    "redrive": (
        *_operations("redrive", "assets", "clock", "faults", "runs", "server", "store"),
        *_operations("cloudformation", "answers"),
        *_operations("events", "tails"),
        *_operations("scheduler", "occurrences"),
        *_operations("sns", "mailbox"),
    ),
    "s3": _operations(
        "s3",
        "acl",
        "attributes",
        "bucket_policy",
        "bucket_tags",
        "buckets",
        "configurations",
        "copies",
        "cors",
        "deletions",
        "encryption",
        "lifecycle",
        "lists",
        "lock",
        "notifications",
        "objects",
        "parts",
        "public_access",
        "refused",
        "settings",
        "tagging",
        "unserved",
        "upload_lists",
        "uploads",
        "versions",
    ),
    "scheduler": _operations("scheduler", "groups", "schedules"),
    "secretsmanager": _operations("secretsmanager", "rotation", "secrets", "settings", "values"),
    "sns": _operations(
        "sns",
        "confirmations",
        "messages",
        "permissions",
        "subscriptions",
        "tags",
        "topics",
    ),
    "sqs": _operations(
        "sqs",
        "attributes",
        "messages",
        "move_tasks",
        "permissions",
        "queues",
        "receipts",
        "receives",
    ),
    "ssm": _operations("ssm", "reads", "tags", "writes"),
    "stepfunctions": _operations(
        "stepfunctions",
        "activities",
        "aliases",
        "definitions",
        "executions",
        "history",
        "machines",
        "map_runs",
        "tags",
        "tokens",
        "versions",
    ),
    "sts": _operations("sts", "sessions"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How an engine differs from AWS on purpose.

    `limits`: whether quotas apply. `strict_templates`: whether an unknown property of a resource type fails the stack,
    as on AWS; if False, it is left out with a warning in the stack's events (docs/decisions/0009). `on_unknown`: how
    stacks handle resource types and properties that AWS has and redrive does not serve (0013). `execution_ids`: whether
    a schedule's execution has one id, or each of its attempts has its own. `called_hosts`: the hosts beyond this
    machine that API destinations, and the authorization endpoints of connections, may call. `rates`: whether requests
    per second are also limited in virtual time.
    """

    limits: Limits = Limits.STRICT
    strict_templates: bool = False
    execution_ids: ExecutionIds = ExecutionIds.PER_OCCURRENCE
    on_unknown: OnUnknown = OnUnknown.REFUSE
    called_hosts: frozenset[str] = frozenset()
    rates: Rates = Rates.REAL_TIME


DEFAULTS = Settings()


def build_engine(
    store: Store, *, run: Runner, models: Models, invoker: Invoker, log: Log, settings: Settings = DEFAULTS,
    real_time: bool = False, knobs: Knobs = PRODUCTION,
) -> Engine:  # fmt: skip
    """An engine over a store. `run` is the store's own, or that of the group commit in front of the store.

    In real time, functions that a fault slows down take that long, and stacks await what is being made; in virtual time
    both take none. Quotas for one second hold in real time, and in virtual time if the settings say so.
    """
    store.on_commit(lambda topics: log_misspellings(log, topics))
    store.on_commit(lambda topics: log_unknown(log, topics))
    faulty = FaultyInvoker(invoker, run, real_time=real_time, commits=store)
    registry = bind_registry(store, models, settings, real_time=real_time)
    workers = build_workers(log, settings, knobs, real_time=real_time)
    http = HttpCalls(allowed_hosts=settings.called_hosts)
    return Engine(run, registry, workers, faulty, log, http=http, serve_url=serve_url, judge_page=judge_page)


def bind_registry(
    store: Store, models: Models, settings: Settings = DEFAULTS, *, real_time: bool = False
) -> Registry:  # fmt: skip
    """Bind the operations of all services to the store's transactions. Call this once for each store."""
    registry = Registry(models, SERVICES)
    has_rates = settings.limits is Limits.STRICT and (real_time or settings.rates is Rates.ALWAYS)
    bound = BoundServices(registry, limits=settings.limits, has_rates=has_rates, on_unknown=settings.on_unknown)
    store.bind(bound)
    return registry


def build_workers(
    log: Log, settings: Settings = DEFAULTS, knobs: Knobs = PRODUCTION, *, real_time: bool = False
) -> list[Worker]:
    """All workers of an engine. Each engine over a store needs its own."""
    sources: list[Source] = [
        # One for each kind of source, in alphabetical order.
        CloudWatchSource(),
        DestinationSource(),
        EventsSource(ApiCalls()),
        LambdaSource(),
        S3Source(),
        SchedulerSource(settings.execution_ids),
        SnsSource(),
        StatesSource(),
        SubscriptionSource(),
    ]
    settling_ms = SETTLING_MS if real_time else 0
    queues = QueueEvents(next_visible=next_visible, count_visible=count_visible, executions_of=executions_of)
    return [
        DeliveryWorker(sources, log, per_claim=knobs.deliveries_per_claim),
        # In alphabetical order.
        AlarmWorker(ALARM_TIMER, settling_ms=settling_ms, per_claim=knobs.alarms_per_claim),
        AlarmWorker(HIGH_RESOLUTION_TIMER, settling_ms=settling_ms, per_claim=knobs.alarms_per_claim),
        BackfillWorker(per_claim=knobs.items_indexed_per_claim),
        CleaningWorker(),
        CompositeWorker(per_claim=knobs.alarms_per_claim),
        ConnectionWorker(),
        ExecutionWorker(log),
        ExpiryWorker(),
        GroupDeletionWorker(),
        KeyWorker(),
        LifecycleWorker(),
        MacroWorker(),
        MapRunWorker(log),
        MappingWorker([queues], log),
        MetricsWorker([QueueSampler()]),
        MoveTaskWorker(),
        MuteWorker(per_claim=knobs.alarms_per_claim),
        QueryWorker(log),
        ReplayWorker(per_claim=knobs.events_replayed_per_claim),
        RotationWorker(),
        RuleScheduleWorker(per_claim=knobs.occurrences_per_claim),
        ScheduleWorker(per_claim=knobs.occurrences_per_claim),
        SecretDeletionWorker(),
        SnsReplayWorker(),
        StackWorker(is_strict=settings.strict_templates, real_time=real_time),
        StreamMappingWorker(STREAM_SOURCES, log),
        UpkeepWorker(AGEING, per_claim=knobs.rows_swept_per_claim),
    ]
