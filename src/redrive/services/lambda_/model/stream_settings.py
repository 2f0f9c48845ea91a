"""The settings that only mappings from streams have. No transaction, no clock."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.services.lambda_.limits import STREAM_BACKOFF_FIRST_MS, STREAM_BACKOFF_MAX_MS

INFINITE = -1
"""No bound for retries, or for the age of records."""

CONSUMER = "/consumer/"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How a mapping reads the shards of a stream. `start` is AWS's StartingPosition.

    `has_begun`: the reader has a position in each shard. A mapping that was never enabled has none.
    """

    start: str
    start_at: Instant | None = None
    parallelization: int = 1
    bisects: bool = False
    retries_max: int = INFINITE
    age_s_max: int = INFINITE
    tumbling_s: int = 0
    on_failure_arn: str = ""
    has_begun: bool = False

    def is_exhausted(self, failures: int) -> bool:
        """Whether no retry is left after this many failures that count."""
        return self.retries_max != INFINITE and failures > self.retries_max

    def expires_at(self, arrived_at: Instant) -> Instant | None:
        """When a record is as old as the maximum age, and is discarded; None if records have no maximum age."""
        return None if self.age_s_max == INFINITE else arrived_at + self.age_s_max * SECOND_MS

    def is_expired(self, arrived_at: Instant, now: Instant) -> bool:
        """Whether a record is too old for the function."""
        at = self.expires_at(arrived_at)
        return at is not None and at <= now


@dataclass(frozen=True, slots=True)
class Given:
    """The parameters of a request that only mappings from streams have; None for those that were not given."""

    destination_config: Document | None
    maximum_record_age_in_seconds: int | None
    bisect_batch_on_function_error: bool | None
    maximum_retry_attempts: int | None
    parallelization_factor: int | None
    tumbling_window_in_seconds: int | None

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters by AWS's names."""
        return {
            "ParallelizationFactor": self.parallelization_factor,
            "DestinationConfig": self.destination_config,
            "MaximumRecordAgeInSeconds": self.maximum_record_age_in_seconds,
            "BisectBatchOnFunctionError": self.bisect_batch_on_function_error,
            "MaximumRetryAttempts": self.maximum_retry_attempts,
            "TumblingWindowInSeconds": self.tumbling_window_in_seconds,
        }

    def applied(self, settings: StreamSettings) -> StreamSettings:
        """The settings with what was given. An empty DestinationConfig removes the destination."""
        age_s_max, retries_max = self.maximum_record_age_in_seconds, self.maximum_retry_attempts
        bisects, slots = self.bisect_batch_on_function_error, self.parallelization_factor
        tumbling_s, destinations = self.tumbling_window_in_seconds, self.destination_config
        to = settings.on_failure_arn
        if destinations is not None:
            to = str((destinations.get("OnFailure") or {}).get("Destination") or "")
        return replace(
            settings,
            on_failure_arn=to,
            age_s_max=settings.age_s_max if age_s_max is None else age_s_max,
            retries_max=settings.retries_max if retries_max is None else retries_max,
            bisects=settings.bisects if bisects is None else bisects,
            parallelization=settings.parallelization if slots is None else slots,
            tumbling_s=settings.tumbling_s if tumbling_s is None else tumbling_s,
        )


def stream_arn_of(source_arn: str) -> str:
    """The stream that an event source reads: the stream itself, or the stream of a consumer."""
    return source_arn.partition(CONSUMER)[0]


def backoff_ms(failures: int) -> int:
    """The wait after this many failures in a row: 0.25 s, 0.5 s, 1 s, 2 s … up to 60 s.

    AWS publishes no curve: see docs/semantics/lambda-streams.md.
    """
    return min(STREAM_BACKOFF_MAX_MS, STREAM_BACKOFF_FIRST_MS << min(failures - 1, 20))


def settings_document(settings: StreamSettings) -> Document:
    """The settings in AWS's form."""
    document: Document = {
        "StartingPosition": settings.start,
        "ParallelizationFactor": settings.parallelization,
        "MaximumRecordAgeInSeconds": settings.age_s_max,
        "BisectBatchOnFunctionError": settings.bisects,
        "MaximumRetryAttempts": settings.retries_max,
        "TumblingWindowInSeconds": settings.tumbling_s,
        "DestinationConfig": {"OnFailure": {"Destination": settings.on_failure_arn} if settings.on_failure_arn else {}},
    }
    if settings.start_at is not None:
        document["StartingPositionTimestamp"] = settings.start_at
    return document
