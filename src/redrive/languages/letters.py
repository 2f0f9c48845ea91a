"""The names of message attributes in dead letters: one table for writers and readers of dead letters.

A dead letter is a message in a queue. Its attributes say what failed, and why; each kind of source uses its own names.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class LetterNames:
    """The attribute names that one kind of source uses; empty for values that it does not write.

    `code` and `message` are of the error; `id` is of the execution, the event or the request; `source` and `target` are
    ARNs; `due_at` is when the work was due; `retries` counts calls after the first; `exhausted` is the limit of the
    retry policy that was reached; `truncated` says whether the body was cut. Without a name for `truncated`, a body is
    never cut.
    """

    code: str
    message: str
    id: str = ""
    source: str = ""
    target: str = ""
    due_at: str = ""
    retries: str = ""
    exhausted: str = ""
    truncated: str = ""

    @property
    def all(self) -> frozenset[str]:
        """All names that are used."""
        return frozenset(name for field in fields(self) if (name := getattr(self, field.name)))


SCHEDULER = LetterNames(
    code="ERROR_CODE", message="ERROR_MESSAGE", id="EXECUTION_ID", source="SCHEDULE_ARN", target="TARGET_ARN",
    due_at="SCHEDULED_TIME", retries="RETRY_ATTEMPTS", exhausted="EXHAUSTED_RETRY_CONDITION",
    truncated="IS_PAYLOAD_TRUNCATED",
)  # fmt: skip
"""The names of EventBridge Scheduler.

Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
"""

LAMBDA = LetterNames(code="ErrorCode", message="ErrorMessage", id="RequestID")
"""The names for Lambda's events.

Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
"""

RULES = LetterNames(
    code="ERROR_CODE", message="ERROR_MESSAGE", source="RULE_ARN", target="TARGET_ARN", retries="RETRY_ATTEMPTS",
    exhausted="EXHAUSTED_RETRY_CONDITION",
)  # fmt: skip
"""The names for rules of EventBridge.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html
"""

SUBSCRIBERS = LetterNames(
    code="ERROR_CODE", message="ERROR_MESSAGE", source="SUBSCRIBER_ARN", target="TARGET_ARN", retries="RETRY_ATTEMPTS",
    exhausted="EXHAUSTED_RETRY_CONDITION",
)  # fmt: skip
"""The names for subscribers of the custom event buses of 2026 (`eventsv2`); only readers use them."""
