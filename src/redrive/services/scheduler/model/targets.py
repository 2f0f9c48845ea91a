"""What a schedule may have as its target, and AWS's words for what it may not."""

from __future__ import annotations

import re

from redrive.delivery.sources.targets import Templated, Universal, UnsupportedTarget, find_target

NOT_AN_ARN = "Provided Arn is not in correct format."


class RefusedTarget(ValueError):
    """No target of EventBridge Scheduler has this ARN. Its text is what AWS answers."""


def schedule_target(arn: str) -> Templated | Universal:
    """The kind of target that an ARN stands for. Errors: RefusedTarget."""
    try:
        return find_target(arn)
    except UnsupportedTarget as error:
        words = f"{error.service} is not a supported service for a target" if error.service else NOT_AN_ARN
        raise RefusedTarget(words) from error


def is_read_only(action: str) -> bool:
    """Whether an action is one of those that universal targets refuse because they only read.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html
    """
    return _READ_ONLY.match(action) is not None


_READ_ONLY = re.compile(
    "(get|describe|list|poll|receive|search|scan|query|select|read|lookup|discover|validate|batchGet|batchDescribe|batchRead"
    "|transactGet|adminGet|adminList|testMigration|retrieve|testConnection|translateDocument|isAuthorized|invokeModel)"
    "(?![a-z])"
)

PARAMETER_BLOCKS = (
    "EcsParameters", "EventBridgeParameters", "EventBridgePutEventsV2Parameters", "EventBridgePutRawEventsParameters",
    "KinesisParameters", "SageMakerPipelineParameters", "SqsParameters",
)  # fmt: skip
"""All parameter blocks of a target, those of the kinds above and those of the second edition of event buses."""
