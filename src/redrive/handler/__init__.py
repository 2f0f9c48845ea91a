"""A library for functions that are safe to run again: ledger, effects, batches, retries, breaker, events, metrics.

It needs nothing but the standard library, and behaves the same on AWS Lambda, on the engine and in a test. boto3 and
psycopg are imported when a ledger that needs them is first used. It imports no other room, and no other room imports
it.

The module of a name is imported at the first use of the name: a cold start pays only for what the function uses.
Therefore values that most functions need are named tuples; a dataclass imports `inspect`, and compiles code in each
process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redrive.handler.batch import BatchFailed, dynamodb_batch, kinesis_batch, sqs_batch
    from redrive.handler.breaker import CircuitBreaker
    from redrive.handler.effects import Effect, effect
    from redrive.handler.envelopes import EventBridgeEvent, wrapped_event
    from redrive.handler.errors import (
        CircuitOpen,
        EffectRepeated,
        EffectUncertain,
        FunctionFailed,
        HandlerError,
        KeyRefused,
        KeyShared,
        LeaseLost,
        OutsideExecution,
        PayloadChanged,
        RecordFull,
        ResultNotStorable,
        StillRunning,
    )
    from redrive.handler.events import Left, PutEventsReport, Sent, put_events, put_events_async
    from redrive.handler.execution import Execution, current_execution
    from redrive.handler.failures import Classes, Kind, classify
    from redrive.handler.idempotency import idempotent
    from redrive.handler.invoke import invoke_lambda, invoke_lambda_async
    from redrive.handler.keys import (
        event_id,
        path,
        s3_object,
        s3_object_at_time,
        schedule_occurrence,
        scheduler_context,
        sqs_message_id,
        stream_sequence,
    )
    from redrive.handler.lambda_context import invocation
    from redrive.handler.ledger import (
        Attempt,
        Began,
        EffectRecord,
        Foreign,
        Fresh,
        InProgress,
        Ledger,
        Mismatch,
        Record,
        Replayed,
        Status,
        Token,
    )
    from redrive.handler.ledgers.dynamodb import DynamoDBLedger
    from redrive.handler.ledgers.memory import MemoryLedger
    from redrive.handler.ledgers.postgres import PostgresLedger
    from redrive.handler.ledgers.powertools import (
        PowertoolsAttributes,
        PowertoolsReader,
        PowertoolsRecord,
        PowertoolsStatus,
    )
    from redrive.handler.ledgers.reader import ExecutionState, LedgerReader, ledger_metrics
    from redrive.handler.ledgers.sqlite import SqliteLedger
    from redrive.handler.metrics import Metrics
    from redrive.handler.rate import TokenBucket
    from redrive.handler.records import (
        BatchResponse,
        DynamoDBRecord,
        KinesisRecord,
        SqsRecord,
        TimeWindowEvent,
        TimeWindowResponse,
    )
    from redrive.handler.retries import RetryPolicy, retry, retry_call, retry_call_async

__all__ = [
    "Attempt",
    "BatchFailed",
    "BatchResponse",
    "Began",
    "CircuitBreaker",
    "CircuitOpen",
    "Classes",
    "DynamoDBLedger",
    "DynamoDBRecord",
    "Effect",
    "EffectRecord",
    "EffectRepeated",
    "EffectUncertain",
    "EventBridgeEvent",
    "Execution",
    "ExecutionState",
    "Foreign",
    "Fresh",
    "FunctionFailed",
    "HandlerError",
    "InProgress",
    "KeyRefused",
    "KeyShared",
    "Kind",
    "KinesisRecord",
    "LeaseLost",
    "Ledger",
    "LedgerReader",
    "Left",
    "MemoryLedger",
    "Metrics",
    "Mismatch",
    "OutsideExecution",
    "PayloadChanged",
    "PostgresLedger",
    "PowertoolsAttributes",
    "PowertoolsReader",
    "PowertoolsRecord",
    "PowertoolsStatus",
    "PutEventsReport",
    "Record",
    "RecordFull",
    "Replayed",
    "ResultNotStorable",
    "RetryPolicy",
    "Sent",
    "SqliteLedger",
    "SqsRecord",
    "Status",
    "StillRunning",
    "TimeWindowEvent",
    "TimeWindowResponse",
    "Token",
    "TokenBucket",
    "classify",
    "current_execution",
    "dynamodb_batch",
    "effect",
    "event_id",
    "idempotent",
    "invocation",
    "invoke_lambda",
    "invoke_lambda_async",
    "kinesis_batch",
    "ledger_metrics",
    "path",
    "put_events",
    "put_events_async",
    "retry",
    "retry_call",
    "retry_call_async",
    "s3_object",
    "s3_object_at_time",
    "schedule_occurrence",
    "scheduler_context",
    "sqs_batch",
    "sqs_message_id",
    "stream_sequence",
    "wrapped_event",
]

# The imports above, for the running program.
_HOMES = {
    "batch": "BatchFailed dynamodb_batch kinesis_batch sqs_batch",
    "breaker": "CircuitBreaker",
    "effects": "Effect effect",
    "errors": (
        "CircuitOpen EffectRepeated EffectUncertain FunctionFailed HandlerError "
        "KeyRefused KeyShared LeaseLost OutsideExecution PayloadChanged RecordFull ResultNotStorable StillRunning"
    ),
    "envelopes": "EventBridgeEvent wrapped_event",
    "events": "Left PutEventsReport Sent put_events put_events_async",
    "execution": "Execution current_execution",
    "failures": "Classes Kind classify",
    "idempotency": "idempotent",
    "invoke": "invoke_lambda invoke_lambda_async",
    "keys": (
        "event_id path s3_object s3_object_at_time schedule_occurrence scheduler_context sqs_message_id stream_sequence"
    ),
    "lambda_context": "invocation",
    "ledger": "Attempt Began EffectRecord Foreign Fresh InProgress Ledger Mismatch Record Replayed Status Token",
    "ledgers.dynamodb": "DynamoDBLedger",
    "ledgers.memory": "MemoryLedger",
    "ledgers.postgres": "PostgresLedger",
    "ledgers.powertools": "PowertoolsAttributes PowertoolsReader PowertoolsRecord PowertoolsStatus",
    "ledgers.reader": "ExecutionState LedgerReader ledger_metrics",
    "ledgers.sqlite": "SqliteLedger",
    "metrics": "Metrics",
    "rate": "TokenBucket",
    "records": "BatchResponse DynamoDBRecord KinesisRecord SqsRecord TimeWindowEvent TimeWindowResponse",
    "retries": "RetryPolicy retry retry_call retry_call_async",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name from its module. Errors: AttributeError."""
        for module, names in _HOMES.items():
            if name in names.split():
                return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __all__
