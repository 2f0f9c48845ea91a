"""The composition root: decides which services, workers and sources an engine has."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.knobs import PRODUCTION, Knobs
from redrive.core.limits import Limits, Rates
from redrive.core.log import Log
from redrive.delivery.outside.invocation import Invoker
from redrive.engine.engine import Engine, Runner
from redrive.engine.faults import FaultyInvoker
from redrive.engine.registry import Registry
from redrive.engine.services import BoundServices
from redrive.engine.settings import DEFAULTS, Settings
from redrive.engine.workers import build_workers
from redrive.invoke.http_calls import HttpCalls
from redrive.services.iam.warnings import log_unknown
from redrive.services.lambda_.urls import serve_url
from redrive.services.s3.pages import judge_page
from redrive.services.scheduler.misspellings import log_misspellings
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
