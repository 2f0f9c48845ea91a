"""Operations that change a setting of a stream: mode, retention, encryption, monitoring, sizes, throughput."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from redrive.core.clock import DAY_MS
from redrive.core.documents import Document
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.worker import wake_sweep
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.descriptions import warm_throughput
from redrive.services.kinesis.model.metrics import ALL, SHARD_METRICS
from redrive.services.kinesis.model.requests import invalid_argument, invalid_request, limit_exceeded
from redrive.services.kinesis.model.stream import (
    NOT_ENCRYPTED,
    ON_DEMAND,
    USER_PARTITION_KEY,
    Stream,
)
from redrive.services.kinesis.operations.account import settings_of
from redrive.services.kinesis.operations.streams import check_strategy, check_warm_throughput, find_stream
from redrive.services.kinesis.retention import RETENTION
from redrive.store.api import Transaction


@operation("UpdateStreamMode")
def update_stream_mode(
    tx: Transaction,
    caller: Caller,
    *,
    stream_mode_details: Mapping[str, str],
    stream_arn: str,
    stream_id: str | None = None,
    warm_throughput_mi_bps: int | None = None,
) -> Document:
    """Change between provisioned capacity and capacity on demand, twice within 24 hours. The shards stay as they are.

    Errors: ResourceNotFoundException; LimitExceededException; InvalidArgumentException (warm throughput).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateStreamMode.html
    """
    stream = find_stream(tx, caller, None, stream_arn, "kinesis:UpdateStreamMode")
    mode = stream_mode_details["StreamMode"]
    if warm_throughput_mi_bps is not None:
        check_warm_throughput(mode, warm_throughput_mi_bps)
    recent = tuple(at for at in stream.mode_changed_at if tx.now - at < DAY_MS)
    if mode != stream.mode:
        if len(recent) >= limits.MODE_CHANGES_PER_DAY_MAX and tx.services.limits is Limits.STRICT:
            raise limit_exceeded(
                f"The mode of stream {stream.name} under account {stream.scope.account} can be changed "
                f"{limits.MODE_CHANGES_PER_DAY_MAX} times within 24 hours."
            )
        recent = (*recent, tx.now)
    is_on_demand = mode == ON_DEMAND
    _store(
        tx, stream, mode=mode, mode_changed_at=recent,
        warm_mibps=warm_throughput_mi_bps if warm_throughput_mi_bps is not None or not is_on_demand
        else stream.warm_mibps,
        distribution=stream.distribution if is_on_demand else USER_PARTITION_KEY,
    )  # fmt: skip
    return {}


@operation("IncreaseStreamRetentionPeriod")
def increase_stream_retention_period(
    tx: Transaction,
    caller: Caller,
    *,
    retention_period_hours: int,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Keep records longer: up to 8,760 hours. Records that have expired do not come back.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_IncreaseStreamRetentionPeriod.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:IncreaseStreamRetentionPeriod")
    _check_retention(retention_period_hours)
    if retention_period_hours < stream.retention_hours:
        raise invalid_argument(
            f"Requested retention period ({retention_period_hours} hours) for stream {stream.name} can not be shorter "
            f"than existing retention period ({stream.retention_hours} hours). Use DecreaseRetentionPeriod API."
        )
    _store(tx, stream, retention_hours=retention_period_hours, trimmed_at=tx.now - stream.retention_ms)
    return {}


@operation("DecreaseStreamRetentionPeriod")
def decrease_stream_retention_period(
    tx: Transaction,
    caller: Caller,
    *,
    retention_period_hours: int,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Keep records for a shorter time, at least 24 hours. Older records are gone at once.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DecreaseStreamRetentionPeriod.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:DecreaseStreamRetentionPeriod")
    _check_retention(retention_period_hours)
    if retention_period_hours > stream.retention_hours:
        raise invalid_argument(
            f"Requested retention period ({retention_period_hours} hours) for stream {stream.name} can not be longer "
            f"than existing retention period ({stream.retention_hours} hours). Use IncreaseRetentionPeriod API."
        )
    _store(tx, stream, retention_hours=retention_period_hours)
    return {}


@operation("StartStreamEncryption")
def start_stream_encryption(
    tx: Transaction,
    caller: Caller,
    *,
    encryption_type: str,
    key_id: str,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Store the key of a stream, which answers show from now on. No record is really encrypted.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_StartStreamEncryption.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:StartStreamEncryption")
    _check_encryption_type(encryption_type)
    _store(tx, stream, key_id=key_id)
    return {}


@operation("StopStreamEncryption")
def stop_stream_encryption(
    tx: Transaction,
    caller: Caller,
    *,
    encryption_type: str,
    key_id: str,
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Forget the key of a stream. A stream without a key stays as it is.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_StopStreamEncryption.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:StopStreamEncryption")
    _check_encryption_type(encryption_type)
    _store(tx, stream, key_id="")
    return {}


@operation("EnableEnhancedMonitoring")
def enable_enhanced_monitoring(
    tx: Transaction,
    caller: Caller,
    *,
    shard_level_metrics: Sequence[str],
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Measure these metrics for each shard. The answer has the metrics before and after.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_EnableEnhancedMonitoring.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:EnableEnhancedMonitoring")
    return _monitor(tx, stream, {*stream.shard_metrics, *_named(shard_level_metrics)})


@operation("DisableEnhancedMonitoring")
def disable_enhanced_monitoring(
    tx: Transaction,
    caller: Caller,
    *,
    shard_level_metrics: Sequence[str],
    stream_name: str | None = None,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Measure these metrics no longer for each shard. The answer has the metrics before and after.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DisableEnhancedMonitoring.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:DisableEnhancedMonitoring")
    return _monitor(tx, stream, set(stream.shard_metrics) - _named(shard_level_metrics))


@operation("UpdateMaxRecordSize")
def update_max_record_size(
    tx: Transaction,
    caller: Caller,
    *,
    max_record_size_in_ki_b: int,
    stream_arn: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Change how large a record of the stream may be: 1,024 to 10,240 KiB.

    Errors: ResourceNotFoundException; InvalidArgumentException.
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateMaxRecordSize.html
    """
    stream = find_stream(tx, caller, None, stream_arn, "kinesis:UpdateMaxRecordSize")
    _store(tx, stream, record_kib_max=max_record_size_in_ki_b)
    return {}


@operation("UpdateStreamRecordDistributionStrategy")
def update_stream_record_distribution_strategy(
    tx: Transaction, caller: Caller, *, stream_arn: str, record_distribution_strategy: str, stream_id: str | None = None
) -> Document:
    """Let records go where their partition keys lead, or (AUTO) to all shards in turn.

    Errors: ResourceNotFoundException; InvalidArgumentException (AUTO for a provisioned stream).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateStreamRecordDistributionStrategy.html
    """
    stream = find_stream(tx, caller, None, stream_arn, "kinesis:UpdateStreamRecordDistributionStrategy")
    check_strategy(stream.mode, record_distribution_strategy)
    _store(tx, stream, distribution=record_distribution_strategy)
    return {}


@operation("UpdateStreamWarmThroughput")
def update_stream_warm_throughput(
    tx: Transaction,
    caller: Caller,
    *,
    warm_throughput_mi_bps: int,
    stream_arn: str | None = None,
    stream_name: str | None = None,
    stream_id: str | None = None,
) -> Document:
    """Store the throughput that a stream on demand is to take at once, for an account with a commitment.

    Errors: ResourceNotFoundException; InvalidArgumentException; ValidationException (no commitment).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateStreamWarmThroughput.html
    """
    stream = find_stream(tx, caller, stream_name, stream_arn, "kinesis:UpdateStreamWarmThroughput")
    check_warm_throughput(stream.mode, warm_throughput_mi_bps)
    if not settings_of(tx, caller).is_committed(tx.now):
        raise invalid_request("Warm throughput needs an account with MinimumThroughputBillingCommitment ENABLED.")
    _store(tx, stream, warm_mibps=warm_throughput_mi_bps)
    return {
        "StreamARN": stream.arn,
        "StreamName": stream.name,
        "WarmThroughput": warm_throughput(warm_throughput_mi_bps),
    }


def _store(tx: Transaction, stream: Stream, **changes: object) -> None:
    tx.resources.put(stream.scope, dataclasses.replace(stream, **changes))  # type: ignore[arg-type]
    wake_sweep(tx, RETENTION)


def _check_retention(hours: int) -> None:
    """Refuse a retention outside of AWS's range. Errors: InvalidArgumentException."""
    if hours < limits.RETENTION_HOURS_MIN:
        raise invalid_argument(
            f"Minimum allowed retention period is {limits.RETENTION_HOURS_MIN} hours. Requested retention period "
            f"({hours} hours) is too short."
        )
    if hours > limits.RETENTION_HOURS_MAX:
        raise invalid_argument(
            f"Maximum allowed retention period is {limits.RETENTION_HOURS_MAX} hours. Requested retention period "
            f"({hours} hours) is too long."
        )


def _check_encryption_type(encryption_type: str) -> None:
    if encryption_type == NOT_ENCRYPTED:
        raise invalid_argument("EncryptionType must be KMS.")


def _named(metrics: Sequence[str]) -> set[str]:
    """The names of metrics; ALL means each of them."""
    return set(SHARD_METRICS) if ALL in metrics else set(metrics)


def _monitor(tx: Transaction, stream: Stream, wanted: set[str]) -> Document:
    """Measure exactly these metrics for each shard."""
    ordered = tuple(name for name in SHARD_METRICS if name in wanted)
    _store(tx, stream, shard_metrics=ordered)
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardLevelMetrics": list(stream.shard_metrics),
        "DesiredShardLevelMetrics": list(ordered),
    }
