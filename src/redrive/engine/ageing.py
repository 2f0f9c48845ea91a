"""The table of all data that expires: what the upkeep worker deletes, and when. docs/operating/store.md shows it."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from redrive.delivery.upkeep.bodies import GRACE_MS, BodySweep
from redrive.delivery.upkeep.metrics import KEPT_MS as METRICS_KEPT_MS
from redrive.delivery.upkeep.metrics import MetricSweep
from redrive.delivery.upkeep.worker import RUNS_KEPT_MS, Ageing, RunSweep, TokenSweep
from redrive.services.cloudwatch.limits import HISTORY_KEPT_MS
from redrive.services.cloudwatch.retention import AlarmHistorySweep
from redrive.services.dynamodb.limits import STREAM_RETENTION_MS
from redrive.services.dynamodb.stream_retention import TableStreamSweep
from redrive.services.events.archiving import ArchiveSweep
from redrive.services.events.limits import REPLAYS_KEPT_MS
from redrive.services.kinesis.retention import StreamSweep
from redrive.services.logs.limits import QUERY_KEPT_MS
from redrive.services.logs.query_retention import QuerySweep
from redrive.services.logs.retention import LogSweep
from redrive.services.sns.limits import MAIL_AGE_MS
from redrive.services.sns.retention import TopicSweep
from redrive.services.sqs.limits import DEDUPLICATION_MS
from redrive.services.sqs.retention import MessageSweep
from redrive.services.stepfunctions.limits import CLOSED_KEPT_MS
from redrive.services.stepfunctions.retention import ExecutionSweep

_ARCHIVES = ArchiveSweep()
_MESSAGES = MessageSweep()
_RUNS = RunSweep()
_STREAMS = TableStreamSweep()
_TOPICS = TopicSweep()

AGEING: tuple[Ageing, ...] = (
    Ageing(
        "runs and attempts, with the notes and links of a run",
        f"{RUNS_KEPT_MS // DAY_MS} days after the attempt; a run as long as its last attempt", _RUNS,
    ),
    Ageing("moves of messages between queues", f"{RUNS_KEPT_MS // DAY_MS} days", _RUNS),
    Ageing("client tokens of requests", "until they expire, as their service says", TokenSweep()),
    Ageing("messages", "the retention of their queue", _MESSAGES),
    Ageing(
        "what FIFO queues remember of sends and receives", f"{DEDUPLICATION_MS // MINUTE_MS} minutes", _MESSAGES
    ),
    Ageing(
        "data points of metrics",
        "by the second 3 hours, by the minute 15 days, by five minutes 63 days, "
        f"by the hour {METRICS_KEPT_MS // DAY_MS} days",
        MetricSweep(),
    ),
    Ageing("the history of alarms", f"{HISTORY_KEPT_MS // DAY_MS} days", AlarmHistorySweep()),
    Ageing("log events", "the retention of their group, if it has one", LogSweep()),
    Ageing("queries of Logs Insights, and their results", f"{QUERY_KEPT_MS // DAY_MS} days", QuerySweep()),
    Ageing("records of streams of Kinesis, and closed shards", "the retention of their stream", StreamSweep()),
    Ageing("archived events", "the retention of their archive, if it has one", _ARCHIVES),
    Ageing("messages that FIFO topics archive", "the retention of their topic's archive", _TOPICS),
    Ageing("captured e-mail and text messages", f"{MAIL_AGE_MS // DAY_MS} days", _TOPICS),
    Ageing("tokens of subscriptions", "until they expire", _TOPICS),
    Ageing("replays", f"{REPLAYS_KEPT_MS // DAY_MS} days after their end", _ARCHIVES),
    Ageing(
        "executions of state machines, with their histories", f"{CLOSED_KEPT_MS // DAY_MS} days after their end",
        ExecutionSweep(),
    ),
    Ageing("records of DynamoDB streams", f"{STREAM_RETENTION_MS // HOUR_MS} hours", _STREAMS),
    Ageing("disabled DynamoDB streams", f"{STREAM_RETENTION_MS // HOUR_MS} hours after their end", _STREAMS),
    Ageing(
        "large bodies of objects that nobody has, and what uploads have left",
        f"{GRACE_MS // MINUTE_MS} minutes after they were last used", BodySweep(),
    ),
    Ageing("the log of a table with point-in-time recovery", "the period of its recovery", _STREAMS),
)  # fmt: skip
