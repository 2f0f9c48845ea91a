"""One occurrence on its way to its target: what it is called, and what its input says.

An execution is a snapshot: it keeps the target as it was when the schedule fired, whatever becomes of the schedule.
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
    """What an execution id stands for: AWS's pages can be read both ways, and a handler should be right under both."""

    PER_OCCURRENCE = "per-occurrence"
    PER_ATTEMPT = "per-attempt"


class Execution(NamedTuple):
    """An occurrence of a schedule: everything that stays the same over its attempts."""

    schedule_arn: str
    scope: Scope
    execution_id: str
    scheduled_at: Instant
    target: Document

    @classmethod
    def of(cls, delivery: Delivery, ids: ExecutionIds) -> Execution:
        """The execution behind a delivery, as its present attempt sees it.

        With PER_ATTEMPT each attempt after the first sees an execution id of its own.
        """
        document = delivery.document
        seen_id = document["execution_id"]
        if ids is ExecutionIds.PER_ATTEMPT and delivery.attempts > 1:
            seen_id = uuid7(document["scheduled_at"], f"{seen_id}#{delivery.attempts}")
        return cls(delivery.source_arn, delivery.scope, seen_id, document["scheduled_at"], document["target"])

    @property
    def document(self) -> Document:
        """What the delivery keeps of it."""
        return {"execution_id": self.execution_id, "scheduled_at": self.scheduled_at, "target": self.target}

    @property
    def delivery_id(self) -> str:
        """The delivery's id: the same occurrence is promised once.

        The execution id is part of it, so that a schedule made anew under an old name makes promises of its own.
        """
        return f"{self.schedule_arn}@{format_instant(self.scheduled_at)}#{self.execution_id}"

    @property
    def group_arn(self) -> str:
        """The ARN of the schedule's group."""
        return group_arn(self.scope, group_of_arn(self.schedule_arn))


def execution_id(schedule_arn: str, scheduled_at: Instant, salt: Instant | str) -> str:
    """The id of an occurrence: stable over its attempts and over redrive, and sorting by it sorts by time.

    A UUID of version 7: the scheduled time in milliseconds, then a hash of the schedule's ARN, that time and a salt
    that was drawn when the schedule was made, so that one made anew under an old name gets ids of its own.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html and,
    for the form, https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7
    """
    return uuid7(scheduled_at, f"{schedule_arn}@{scheduled_at}@{salt}")


def shown_target(target: Document) -> Document:
    """A target as answers show it: with the retry policy that it has, chosen or by default."""
    policy = {"MaximumEventAgeInSeconds": limits.EVENT_AGE_S_DEFAULT, "MaximumRetryAttempts": limits.RETRIES_DEFAULT}
    return {**target, "RetryPolicy": {**policy, **(target.get("RetryPolicy") or {})}}


def retry_policy(target: Document) -> RetryPolicy:
    """How often and how long a target's deliveries are tried.

    Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html
    """
    chosen = target.get("RetryPolicy") or {}
    return RetryPolicy(
        retries_max=chosen.get("MaximumRetryAttempts", limits.RETRIES_DEFAULT),
        age_ms_max=chosen.get("MaximumEventAgeInSeconds", limits.EVENT_AGE_S_DEFAULT) * SECOND_MS,
    )


def rendered_input(execution: Execution, attempt: int) -> str:
    """The target's Input with the context attributes filled in, or the default event where there is no Input.

    Plain text replacement: what is no keyword stays as it is.
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
    """What looks like a context attribute and is none, such as `<aws.scheduler.execution_id>`; each once, in order.

    AWS delivers it literally, so that handlers that trust it to be unique take every event for the same one.
    """
    right = {f"<aws.scheduler.{keyword}>" for keyword in KEYWORDS}
    return [found for found in dict.fromkeys(_KEYWORD_LIKE.findall(input)) if found not in right]


def right_spelling(keyword: str) -> str:
    """The context attribute that is nearest to a misspelt one, or all of them if none is near."""
    name = re.sub(r"[^a-z]+", "-", keyword.lower().split("scheduler", 1)[-1][1:].strip("<> "))
    near = difflib.get_close_matches(name.strip("-"), KEYWORDS, n=1)
    return " ".join(f"<aws.scheduler.{right}>" for right in near or KEYWORDS)


def _default_event(execution: Execution) -> Document:
    """What a target without Input gets; `detail` is a text, as in the events that AWS sends."""
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
