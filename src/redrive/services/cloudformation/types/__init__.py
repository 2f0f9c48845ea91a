"""The resource types that stacks can be made of, one module for each service."""

from __future__ import annotations

from types import MappingProxyType

from redrive.services.cloudformation.types.cloudformation import WAIT_CONDITION_HANDLE
from redrive.services.cloudformation.types.dynamodb import TABLE
from redrive.services.cloudformation.types.iam import MANAGED_POLICY, POLICY, ROLE
from redrive.services.cloudformation.types.iam_users import ACCESS_KEY, USER
from redrive.services.cloudformation.types.lambda_ import (
    EVENT_INVOKE_CONFIG,
    EVENT_SOURCE_MAPPING,
    FUNCTION,
    PERMISSION,
)
from redrive.services.cloudformation.types.logs import LOG_GROUP, LOG_STREAM
from redrive.services.cloudformation.types.macro import MACRO
from redrive.services.cloudformation.types.resource import ResourceType
from redrive.services.cloudformation.types.scheduler import SCHEDULE, SCHEDULE_GROUP
from redrive.services.cloudformation.types.sqs import QUEUE, QUEUE_POLICY

_ALL: tuple[ResourceType, ...] = (
    ACCESS_KEY,
    EVENT_INVOKE_CONFIG,
    EVENT_SOURCE_MAPPING,
    FUNCTION,
    LOG_GROUP,
    LOG_STREAM,
    MACRO,
    MANAGED_POLICY,
    PERMISSION,
    POLICY,
    QUEUE,
    QUEUE_POLICY,
    ROLE,
    SCHEDULE,
    SCHEDULE_GROUP,
    TABLE,
    USER,
    WAIT_CONDITION_HANDLE,
)

TYPES = MappingProxyType({each.name: each for each in _ALL})
"""Every type by its name."""

CUSTOM_NAMES = MappingProxyType({each.name: each.name_property for each in _ALL if each.name_property is not None})
"""The property by which a template names a resource of a type itself."""

IAM_PREFIX = "AWS::IAM::"
"""How the names of types begin whose resources give permissions."""
