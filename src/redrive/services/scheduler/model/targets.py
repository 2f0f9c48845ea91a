"""Which targets a schedule may have, and AWS's messages for the others."""

from __future__ import annotations

import re

from redrive.delivery.sources.targets import Templated, Universal, UnsupportedTarget, find_target

NOT_AN_ARN = "Provided Arn is not in correct format."


class RefusedTarget(ValueError):
    """An ARN that cannot be a target of EventBridge Scheduler. The text is AWS's message."""


def schedule_target(arn: str) -> Templated | Universal:
    """Return the kind of target that an ARN names. Errors: RefusedTarget."""
    try:
        return find_target(arn)
    except UnsupportedTarget as error:
        words = f"{error.service} is not a supported service for a target" if error.service else NOT_AN_ARN
        raise RefusedTarget(words) from error


def is_read_only(action: str) -> bool:
    """Whether an action only reads. Universal targets refuse such actions.

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
"""All parameter blocks of a target: the blocks of the kinds above, and the newer block of event buses."""
