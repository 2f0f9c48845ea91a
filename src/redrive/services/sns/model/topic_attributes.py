"""The attributes of topics: which texts are valid, and what GetTopicAttributes shows.

Source: https://docs.aws.amazon.com/sns/latest/api/API_SetTopicAttributes.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from redrive.core.documents import load_json
from redrive.languages.iam import PolicyError, PolicyKind, parse_policy
from redrive.services.sns import limits
from redrive.services.sns.model.delivery_policy import check_topic_policy
from redrive.services.sns.model.requests import invalid
from redrive.services.sns.model.topic import Topic

POLICY = "Policy"
RETENTION = "MessageRetentionPeriod"

_FEEDBACK = tuple(
    f"{protocol}{what}"
    for protocol in ("HTTP", "Lambda", "SQS", "Firehose", "Application")
    for what in ("SuccessFeedbackRoleArn", "SuccessFeedbackSampleRate", "FailureFeedbackRoleArn")
)


def check_attribute(topic: Topic, name: str, value: str, where: str) -> None:
    """Refuse a value that an attribute cannot have. `where` begins the error's sentence.

    Errors: InvalidParameterException.
    """
    check = _CHECKS.get(name)
    if check is None:
        raise invalid("AttributeName")
    if value or name in _NEVER_EMPTY:
        check(topic, value, where)


def with_attributes(topic: Topic, given: Mapping[str, str], where: str) -> tuple[dict[str, str], str]:
    """The topic's attributes after a change, and its policy. An empty text removes an attribute.

    Errors: InvalidParameterException.
    """
    attributes = dict(topic.attributes)
    policy = topic.policy
    for name, value in given.items():
        check_attribute(topic, name, value, where)
        if name == POLICY:
            policy = value
        elif value:
            attributes[name] = value.lower() if name in _BOOLEANS else value
        else:
            attributes.pop(name, None)
    return attributes, policy


def retention_days(topic: Topic) -> int:
    """How long the topic keeps its messages for replays; 0 if it keeps none."""
    text = topic.attributes.get("ArchivePolicy", "")
    return int((load_json(text) if text else {}).get(RETENTION) or 0)


def _check_policy(_topic: Topic, value: str, where: str) -> None:
    try:
        parse_policy(value, PolicyKind.RESOURCE)
    except PolicyError as error:
        raise invalid(f"{where}Policy Error: {error}") from None


def _check_display_name(_topic: Topic, value: str, where: str) -> None:
    if len(value) > limits.DISPLAY_NAME_LENGTH_MAX or not value.isprintable():
        raise invalid(f"{where}DisplayName")


def _check_bytes(_topic: Topic, value: str, where: str) -> None:
    is_number = value.isascii() and value.isdecimal()
    if not is_number or not limits.MESSAGE_BYTES_MIN <= int(value) <= limits.MESSAGE_BYTES_MAX:
        low, high = limits.MESSAGE_BYTES_MIN, limits.MESSAGE_BYTES_MAX
        raise invalid(f"{where}MaximumMessageSize: Invalid value [{value}]. It must be between {low} and {high}")


def _check_archive(topic: Topic, value: str, where: str) -> None:
    if not topic.is_fifo:
        raise invalid(f"{where}ArchivePolicy: it is not supported for standard topics")
    try:
        policy = load_json(value)
        days = int(policy[RETENTION]) if policy else 1
    except (ValueError, KeyError, TypeError):
        raise invalid(f"{where}ArchivePolicy: it must have a {RETENTION}") from None
    if not 1 <= days <= limits.ARCHIVE_DAYS_MAX:
        raise invalid(f"{where}ArchivePolicy: {RETENTION} must be between 1 and {limits.ARCHIVE_DAYS_MAX}")


def _one_of(name: str, *values: str) -> Callable[[Topic, str, str], None]:
    def check(_topic: Topic, value: str, where: str) -> None:
        if value not in values:
            raise invalid(f"{where}{name}: Invalid value [{value}]. Must be one of {', '.join(values)}")

    return check


def _boolean(name: str) -> Callable[[Topic, str, str], None]:
    def check(topic: Topic, value: str, where: str) -> None:
        if value.lower() not in {"true", "false"}:
            raise invalid(f"{where}{name}: Invalid value [{value}]. Must be true or false.")
        if not topic.is_fifo and (name != "FifoTopic" or value.lower() == "true"):
            raise invalid(f"{where}{name}: it is for FIFO topics only")

    return check


def _anything(_topic: Topic, _value: str, _where: str) -> None:
    """Every text is valid."""


_BOOLEANS = frozenset({"FifoTopic", "ContentBasedDeduplication"})
_NEVER_EMPTY = frozenset({"SignatureVersion", "ContentBasedDeduplication", "FifoThroughputScope"})

_CHECKS: Mapping[str, Callable[[Topic, str, str], None]] = MappingProxyType(
    {
        POLICY: _check_policy,
        "DisplayName": _check_display_name,
        "DeliveryPolicy": lambda _topic, value, where: check_topic_policy(value, f"{where}DeliveryPolicy"),
        "SignatureVersion": _one_of("SignatureVersion", "1", "2"),
        "TracingConfig": _one_of("TracingConfig", "PassThrough", "Active"),
        "FifoThroughputScope": _one_of("FifoThroughputScope", "Topic", "MessageGroup"),
        "FifoTopic": _boolean("FifoTopic"),
        "ContentBasedDeduplication": _boolean("ContentBasedDeduplication"),
        "MaximumMessageSize": _check_bytes,
        "ArchivePolicy": _check_archive,
        "KmsMasterKeyId": _anything,
        **dict.fromkeys(_FEEDBACK, _anything),
    }
)
