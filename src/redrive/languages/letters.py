"""What the message attributes of dead letters are called: one table for who writes letters and who reads them.

A dead letter is a message in a queue. What failed, and why, stands in its attributes; each kind of source has names of
its own for them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class LetterNames:
    """The names that one kind of source gives to what its letters say; empty for what they do not say.

    `code` and `message` are of the error; `id` is of the execution, the event or the request; `source` and `target` are
    ARNs; `due_at` is when the work was due; `retries` counts calls after the first; `exhausted` is the limit of the
    retry policy that was reached; `truncated` says whether the body was cut. Letters without a name for that are never
    cut.
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
        """The names themselves."""
        return frozenset(name for field in fields(self) if (name := getattr(self, field.name)))


SCHEDULER = LetterNames(
    code="ERROR_CODE", message="ERROR_MESSAGE", id="EXECUTION_ID", source="SCHEDULE_ARN", target="TARGET_ARN",
    due_at="SCHEDULED_TIME", retries="RETRY_ATTEMPTS", exhausted="EXHAUSTED_RETRY_CONDITION",
    truncated="IS_PAYLOAD_TRUNCATED",
)  # fmt: skip
"""EventBridge Scheduler's. Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html"""

LAMBDA = LetterNames(code="ErrorCode", message="ErrorMessage", id="RequestID")
"""Those of Lambda's events. Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html"""
