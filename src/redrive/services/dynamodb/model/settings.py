"""Settings of tables that are stored beside them: point-in-time recovery, contributor insights, resource policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.dynamodb import limits


@dataclass(frozen=True, slots=True)
class Recovery:
    """Point-in-time recovery of a table, which is on since `enabled_at`. A table without it is not recovered."""

    KIND: ClassVar[str] = "dynamodb.recovery"

    name: str
    period_days: int
    enabled_at: Instant

    def earliest(self, now: Instant) -> Instant:
        """Return the earliest instant to which the table can be restored on AWS."""
        return max(self.enabled_at, now - self.period_days * DAY_MS)


@dataclass(frozen=True, slots=True)
class Insights:
    """Contributor insights of a table or of an index: only stored and shown."""

    KIND: ClassVar[str] = "dynamodb.insights"

    table_name: str
    index_name: str
    mode: str
    is_enabled: bool
    changed_at: Instant

    @property
    def name(self) -> str:
        """The name of the table, and of the index behind it."""
        return f"{self.table_name}/{self.index_name}" if self.index_name else self.table_name

    @property
    def status(self) -> str:
        """ENABLED or DISABLED."""
        return "ENABLED" if self.is_enabled else "DISABLED"


@dataclass(frozen=True, slots=True)
class TablePolicy:
    """The resource policy of a table, or of its stream: `name` is what stands behind `table/` in the ARN."""

    KIND: ClassVar[str] = "dynamodb.resource_policy"

    name: str
    document: str
    revision: str


def describe_recovery(recovery: Recovery | None, now: Instant) -> Document:
    """ContinuousBackupsDescription. Backups on demand are always possible, so continuous backups are always on."""
    described: Document = {"PointInTimeRecoveryStatus": "DISABLED"}
    if recovery is not None:
        described = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": recovery.period_days,
            "EarliestRestorableDateTime": recovery.earliest(now),
            "LatestRestorableDateTime": now,
        }
    return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": described}


def describe_insights(insights: Insights, status: str) -> Document:
    """Contributor insights as the update answers them."""
    described: Document = {
        "TableName": insights.table_name, "ContributorInsightsStatus": status, "ContributorInsightsMode": insights.mode,
    }  # fmt: skip
    if insights.index_name:
        described["IndexName"] = insights.index_name
    return described


def rules_of(insights: Insights, table_id: str) -> list[str]:
    """The names of the CloudWatch rules that contributor insights have; none while they are off."""
    if not insights.is_enabled:
        return []
    where = f"{insights.table_name}-{table_id}" if not insights.index_name else f"{insights.name}-{table_id}"
    throttled = [f"DynamoDBContributorInsights-PKT-{where}", f"DynamoDBContributorInsights-SKT-{where}"]
    if insights.mode == limits.INSIGHTS_MODES[1]:
        return throttled
    return [f"DynamoDBContributorInsights-PKC-{where}", f"DynamoDBContributorInsights-SKC-{where}", *throttled]


def policy_not_found(arn: str) -> ServiceError:
    """Build the error for a resource without a policy, or with a policy of another revision."""
    return ServiceError(
        "PolicyNotFoundException", f"Resource-based policy not found for the provided ResourceArn: {arn}"
    )
