"""One occurrence on the way to its target: its ids and its rendered input.

An execution is a snapshot: it keeps the target of the moment when the schedule fired, also if the schedule changes.
"""

from __future__ import annotations

import difflib
import enum
import re
from typing import NamedTuple

from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document, dump_json
from redrive.core.retry import RetryPolicy
from redrive.core.scope import Scope
from redrive.core.uuid7 import uuid7
from redrive.services.scheduler import limits
from redrive.services.scheduler.model.schedule import group_arn, group_of_arn
from redrive.store.tables.deliveries import Delivery

KEYWORDS = ("schedule-arn", "scheduled-time", "execution-id", "attempt-number")

_KEYWORD_LIKE = re.compile(r"<\s*aws[.:]scheduler[.:][^<>]*>", re.IGNORECASE)


class ExecutionIds(enum.Enum):
    """Whether an execution id identifies an occurrence or an attempt. AWS's pages allow both readings.

    A handler should work with both.
    """

    PER_OCCURRENCE = "per-occurrence"
    PER_ATTEMPT = "per-attempt"


class Execution(NamedTuple):
    """An occurrence of a schedule: all values that its attempts share."""

    schedule_arn: str
    scope: Scope
    execution_id: str
    scheduled_at: Instant
    target: Document

    @classmethod
    def of(cls, delivery: Delivery, ids: ExecutionIds) -> Execution:
        """Return the execution of a delivery, as the present attempt sees it.

        With PER_ATTEMPT, each attempt after the first has its own execution id.
        """
        document = delivery.document
        seen_id = document["execution_id"]
        if ids is ExecutionIds.PER_ATTEMPT and delivery.attempts > 1:
            seen_id = uuid7(document["scheduled_at"], f"{seen_id}#{delivery.attempts}")
        return cls(delivery.source_arn, delivery.scope, seen_id, document["scheduled_at"], document["target"])

    @property
    def document(self) -> Document:
        """The document that the delivery stores about the execution."""
        return {"execution_id": self.execution_id, "scheduled_at": self.scheduled_at, "target": self.target}

    @property
    def delivery_id(self) -> str:
        """The delivery's id, which is the same for the same occurrence, so that no occurrence is delivered twice.

        The id contains the execution id, so a new schedule with an old name gets new deliveries.
        """
        return f"{self.schedule_arn}@{format_instant(self.scheduled_at)}#{self.execution_id}"

    @property
    def group_arn(self) -> str:
        """The ARN of the schedule's group."""
        return group_arn(self.scope, group_of_arn(self.schedule_arn))


def execution_id(schedule_arn: str, scheduled_at: Instant, salt: Instant | str) -> str:
    """Return the id of an occurrence. All attempts and redrives share the id, and ids sort by time.

    The id is a UUID of version 7: the scheduled time in milliseconds, then a hash of the schedule's ARN, the time and a
    salt. The salt is drawn when the schedule is created, so that a new schedule with an old name gets new ids.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html and,
    for the form, https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7
    """
    return uuid7(scheduled_at, f"{schedule_arn}@{scheduled_at}@{salt}")


def shown_target(target: Document) -> Document:
    """A target as answers show it, with its retry policy, which may be the default."""
    policy = {"MaximumEventAgeInSeconds": limits.EVENT_AGE_S_DEFAULT, "MaximumRetryAttempts": limits.RETRIES_DEFAULT}
    return {**target, "RetryPolicy": {**policy, **(target.get("RetryPolicy") or {})}}


def retry_policy(target: Document) -> RetryPolicy:
    """Return how often and how long a target's deliveries are tried.

    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html
    """
    chosen = target.get("RetryPolicy") or {}
    return RetryPolicy(
        retries_max=chosen.get("MaximumRetryAttempts", limits.RETRIES_DEFAULT),
        age_ms_max=chosen.get("MaximumEventAgeInSeconds", limits.EVENT_AGE_S_DEFAULT) * SECOND_MS,
    )


def rendered_input(execution: Execution, attempt: int) -> str:
    """Return the target's Input with the context attributes filled in, or the default event if there is no Input.

    The replacement works on plain text; unknown keywords stay as they are.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
    """
    text = execution.target.get("Input")
    if text is None:
        return dump_json(_default_event(execution))
    values = (execution.schedule_arn, format_instant(execution.scheduled_at), execution.execution_id, str(attempt))
    for keyword, value in zip(KEYWORDS, values, strict=True):
        text = text.replace(f"<aws.scheduler.{keyword}>", value)
    return str(text)


def misspelt_keywords(input: str) -> list[str]:
    """Return the texts that look like a context attribute but are none, such as `<aws.scheduler.execution_id>`.

    Each text appears once, in order. AWS delivers these texts literally, so a handler that uses one as a unique id
    takes every event for the same event.
    """
    right = {f"<aws.scheduler.{keyword}>" for keyword in KEYWORDS}
    return [found for found in dict.fromkeys(_KEYWORD_LIKE.findall(input)) if found not in right]


def right_spelling(keyword: str) -> str:
    """Return the context attribute most similar to a misspelt one, or all attributes if none is similar."""
    name = re.sub(r"[^a-z]+", "-", keyword.lower().split("scheduler", 1)[-1][1:].strip("<> "))
    near = difflib.get_close_matches(name.strip("-"), KEYWORDS, n=1)
    return " ".join(f"<aws.scheduler.{right}>" for right in near or KEYWORDS)


def _default_event(execution: Execution) -> Document:
    """The event for a target without Input. `detail` is a text, as in the events that AWS sends."""
    return {
        "version": "0",
        "id": execution.execution_id,
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": execution.scope.account,
        "time": format_instant(execution.scheduled_at),
        "region": execution.scope.region,
        "resources": [execution.schedule_arn],
        "detail": "{}",
    }
