"""The supported resource types of stacks, one module per service."""

from __future__ import annotations

from types import MappingProxyType

from redrive.services.cloudformation.types.api_destinations import API_DESTINATION, CONNECTION
from redrive.services.cloudformation.types.archives import ARCHIVE
from redrive.services.cloudformation.types.buckets import BUCKET, BUCKET_POLICY
from redrive.services.cloudformation.types.cloudformation import CDK_METADATA
from redrive.services.cloudformation.types.cloudtrail import TRAIL
from redrive.services.cloudformation.types.cloudwatch import ALARM, COMPOSITE_ALARM, DASHBOARD
from redrive.services.cloudformation.types.custom import custom_type, is_custom
from redrive.services.cloudformation.types.dynamodb import TABLE
from redrive.services.cloudformation.types.ecr import REPOSITORY
from redrive.services.cloudformation.types.events import EVENT_BUS, EVENT_BUS_POLICY, RULE
from redrive.services.cloudformation.types.global_tables import GLOBAL_TABLE
from redrive.services.cloudformation.types.iam import MANAGED_POLICY, POLICY, ROLE
from redrive.services.cloudformation.types.iam_groups import GROUP, INSTANCE_PROFILE, USER_TO_GROUP_ADDITION
from redrive.services.cloudformation.types.iam_users import ACCESS_KEY, USER
from redrive.services.cloudformation.types.kinesis import STREAM, STREAM_CONSUMER, STREAM_POLICY
from redrive.services.cloudformation.types.kms import KEY, KEY_ALIAS
from redrive.services.cloudformation.types.lambda_ import (
    EVENT_INVOKE_CONFIG,
    EVENT_SOURCE_MAPPING,
    FUNCTION,
    PERMISSION,
)
from redrive.services.cloudformation.types.lambda_urls import CODE_SIGNING_CONFIG, URL
from redrive.services.cloudformation.types.lambda_versions import ALIAS, VERSION
from redrive.services.cloudformation.types.layers import LAYER_VERSION, LAYER_VERSION_PERMISSION
from redrive.services.cloudformation.types.log_filters import (
    DESTINATION,
    METRIC_FILTER,
    QUERY_DEFINITION,
    SUBSCRIPTION_FILTER,
)
from redrive.services.cloudformation.types.log_policies import ACCOUNT_POLICY, TRANSFORMER
from redrive.services.cloudformation.types.logs import LOG_GROUP, LOG_STREAM, RESOURCE_POLICY
from redrive.services.cloudformation.types.macro import MACRO
from redrive.services.cloudformation.types.mute_rules import MUTE_RULE
from redrive.services.cloudformation.types.nested import NESTED_STACK
from redrive.services.cloudformation.types.resource import ResourceType
from redrive.services.cloudformation.types.scheduler import SCHEDULE, SCHEDULE_GROUP
from redrive.services.cloudformation.types.secrets import (
    ROTATION_SCHEDULE,
    SECRET,
    SECRET_POLICY,
    SECRET_TARGET_ATTACHMENT,
)
from redrive.services.cloudformation.types.sns import SUBSCRIPTION, TOPIC, TOPIC_INLINE_POLICY, TOPIC_POLICY
from redrive.services.cloudformation.types.sqs import QUEUE, QUEUE_INLINE_POLICY, QUEUE_POLICY
from redrive.services.cloudformation.types.ssm import PARAMETER
from redrive.services.cloudformation.types.stand_ins import stand_in
from redrive.services.cloudformation.types.stepfunctions import (
    ACTIVITY,
    STATE_MACHINE,
    STATE_MACHINE_ALIAS,
    STATE_MACHINE_VERSION,
)
from redrive.services.cloudformation.types.waits import WAIT_CONDITION, WAIT_CONDITION_HANDLE

_ALL: tuple[ResourceType, ...] = (
    ACCESS_KEY,
    ACTIVITY,
    ALARM,
    ALIAS,
    API_DESTINATION,
    ARCHIVE,
    BUCKET,
    BUCKET_POLICY,
    CDK_METADATA,
    CODE_SIGNING_CONFIG,
    COMPOSITE_ALARM,
    CONNECTION,
    ACCOUNT_POLICY,
    DASHBOARD,
    MUTE_RULE,
    TRANSFORMER,
    EVENT_BUS,
    EVENT_BUS_POLICY,
    EVENT_INVOKE_CONFIG,
    EVENT_SOURCE_MAPPING,
    FUNCTION,
    GLOBAL_TABLE,
    GROUP,
    INSTANCE_PROFILE,
    KEY,
    KEY_ALIAS,
    LAYER_VERSION,
    LAYER_VERSION_PERMISSION,
    LOG_GROUP,
    LOG_STREAM,
    DESTINATION,
    METRIC_FILTER,
    QUERY_DEFINITION,
    SUBSCRIPTION_FILTER,
    MACRO,
    MANAGED_POLICY,
    NESTED_STACK,
    PARAMETER,
    PERMISSION,
    POLICY,
    QUEUE,
    QUEUE_INLINE_POLICY,
    QUEUE_POLICY,
    REPOSITORY,
    SUBSCRIPTION,
    TOPIC,
    TOPIC_INLINE_POLICY,
    TOPIC_POLICY,
    RESOURCE_POLICY,
    ROLE,
    ROTATION_SCHEDULE,
    RULE,
    SCHEDULE,
    SCHEDULE_GROUP,
    SECRET,
    SECRET_POLICY,
    SECRET_TARGET_ATTACHMENT,
    STATE_MACHINE,
    STATE_MACHINE_ALIAS,
    STATE_MACHINE_VERSION,
    STREAM,
    STREAM_CONSUMER,
    STREAM_POLICY,
    TABLE,
    TRAIL,
    URL,
    USER,
    USER_TO_GROUP_ADDITION,
    VERSION,
    WAIT_CONDITION,
    WAIT_CONDITION_HANDLE,
)

TYPES = MappingProxyType({each.name: each for each in _ALL})
"""Every type by its name."""


def resource_type(name: str) -> ResourceType:
    """Return the type with this name; the type of its stand-ins if it is not supported."""
    known = TYPES.get(name)
    if known is not None:
        return known
    return custom_type(name) if is_custom(name) else stand_in(name)


def is_served(name: str) -> bool:
    """Whether this type is supported."""
    return name in TYPES or is_custom(name)


CUSTOM_NAMES = MappingProxyType({each.name: each.name_property for each in _ALL if each.name_property is not None})
"""For each type with a name property, that property."""

IAM_PREFIX = "AWS::IAM::"
"""The prefix of the types whose resources give permissions."""
