"""What the Resource of a Task means: a function, an activity, or a call of a service and what is awaited after it.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/connect-supported-services.html
"""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass

RESOURCES_KEPT = 4_096
"""The size of the cache."""


class Kind(enum.Enum):
    """What a task calls."""

    FUNCTION = "function"
    ACTIVITY = "activity"
    OPTIMIZED = "optimized"
    SDK = "sdk"
    HTTP = "http"


class Pattern(enum.Enum):
    """What a task awaits: the answer, the end of what the call has begun, or somebody who returns the token."""

    RESPONSE = ""
    SYNC = ".sync"
    SYNC_2 = ".sync:2"
    CALLBACK = ".waitForTaskToken"


@dataclass(frozen=True, slots=True)
class TaskResource:
    """`type` and `name` are resourceType and resource in the history. `service` and `action` name the call."""

    kind: Kind
    arn: str
    type: str = ""
    name: str = ""
    service: str = ""
    action: str = ""
    pattern: Pattern = Pattern.RESPONSE

    @property
    def region(self) -> str:
        """The region in the ARN of a function or an activity; empty for calls."""
        return self.arn.split(":")[3]


_FUNCTION = re.compile(r"arn:aws[a-z-]*:lambda:[^:]+:\d{12}:function:[^:]+(:[^:]+)?")
_ACTIVITY = re.compile(r"arn:aws[a-z-]*:states:[^:]+:\d{12}:activity:[^:]+")
_SDK = re.compile(r"arn:aws[a-z-]*:states:::aws-sdk:([a-z0-9]+):([a-zA-Z0-9]+)(\.waitForTaskToken)?")
_OPTIMIZED = re.compile(r"arn:aws[a-z-]*:states:::([a-z-]+):([a-zA-Z0-9.]+?)(\.sync:2|\.sync|\.waitForTaskToken)?")


@functools.lru_cache(maxsize=RESOURCES_KEPT)
def read_resource(arn: str) -> TaskResource | None:
    """The meaning of a Resource; None if it has none."""
    if _FUNCTION.fullmatch(arn):
        return TaskResource(Kind.FUNCTION, arn, service="lambda", action="invoke")
    if _ACTIVITY.fullmatch(arn):
        return TaskResource(Kind.ACTIVITY, arn)
    found = _SDK.fullmatch(arn)
    if found:
        service, action, suffix = found.groups("")
        return TaskResource(
            Kind.SDK, arn, f"aws-sdk:{service}", action + suffix, service, action, Pattern(suffix)
        )  # fmt: skip
    found = _OPTIMIZED.fullmatch(arn)
    if found:
        service, action, suffix = found.groups("")
        kind = Kind.HTTP if (service, action) == ("http", "invoke") else Kind.OPTIMIZED
        return TaskResource(kind, arn, service, action + suffix, service, action, Pattern(suffix))
    return None
