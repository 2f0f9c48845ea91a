"""Queues: their stored form, their names and URLs, and which queues may redrive to them. No transaction, no clock."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.scope import Caller, Scope
from redrive.services.sqs import limits
from redrive.services.sqs.model.requests import invalid_parameter

FIFO_SUFFIX = ".fifo"

_FIRST_REGION = "us-east-1"
_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class RedrivePolicy:
    """The dead-letter queue for messages that were received `receive_count_max` times and not deleted."""

    dead_letter_arn: str
    receive_count_max: int

    @property
    def dead_letter_name(self) -> str:
        """The name of the dead-letter queue, which is in the same account and region as the source."""
        return self.dead_letter_arn.rsplit(":", 1)[-1]


@dataclass(frozen=True, slots=True)
class RedriveAllowPolicy:
    """Which source queues may use this queue as their dead-letter queue: `allowAll`, `denyAll` or `byQueue`."""

    permission: str
    source_arns: tuple[str, ...] = ()

    def allows(self, source_arn: str) -> bool:
        """Whether the queue with this ARN may use this queue as its dead-letter queue."""
        return self.permission == "allowAll" or (self.permission == "byQueue" and source_arn in self.source_arns)


@dataclass(frozen=True, slots=True)
class QueueAttributes:
    """The settings of a queue, as typed values. The module `attributes` converts them from and to AWS's strings."""

    delay_s: int = 0
    message_bytes_max: int = limits.MESSAGE_BYTES_MAX
    retention_s: int = limits.RETENTION_S_DEFAULT
    receive_wait_s: int = 0
    visibility_timeout_s: int = limits.VISIBILITY_TIMEOUT_S_DEFAULT
    kms_key_reuse_s: int = limits.KMS_KEY_REUSE_S_DEFAULT
    kms_key_id: str = ""
    is_sqs_encrypted: bool = True
    policy: str = ""
    redrive: RedrivePolicy | None = None
    redrive_allow: RedriveAllowPolicy | None = None
    is_fifo: bool = False
    is_deduplicated_by_content: bool = False
    deduplication_scope: str = "queue"
    throughput_limit: str = "perQueue"

    @property
    def retention_ms(self) -> int:
        return self.retention_s * SECOND_MS


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. `id` distinguishes it from an earlier queue of the same name; its messages are stored under `contents`.

    `has_groups`: some message with a group id was sent to the queue. Receives of a standard queue are then fair.
    """

    KIND: ClassVar[str] = "sqs.queue"

    name: str
    id: str
    arn: str
    attributes: QueueAttributes
    created_at: Instant
    modified_at: Instant
    tags: Mapping[str, str] = field(default_factory=dict)
    last_purged_at: Instant | None = None
    has_groups: bool = False
    contents_id: str = ""

    @property
    def contents(self) -> str:
        """The id under which messages are stored: the queue's id, or a new id after a purge of many messages."""
        return self.contents_id or self.id

    @property
    def is_fifo(self) -> bool:
        """Whether the queue keeps the order within each group and deduplicates messages."""
        return self.attributes.is_fifo

    @property
    def scope(self) -> Scope:
        """The account and region of the queue."""
        _, _, _, region, account, _ = self.arn.split(":", 5)
        return Scope(account, region)

    @property
    def topic(self) -> str:
        """The topic that is notified when a receive of this queue may find a message."""
        return f"queue:{self.id}"


def check_name(name: str, *, is_fifo: bool) -> None:
    """Refuse a text that cannot be the name of a queue of this type. Errors: InvalidParameterValueException."""
    stem = name.removesuffix(FIFO_SUFFIX) if is_fifo else name
    is_short = len(name) <= limits.QUEUE_NAME_LENGTH_MAX
    if is_short and _QUEUE_NAME.fullmatch(stem) and (not is_fifo or stem != name):
        return
    if is_fifo:
        raise invalid_parameter(
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, "
            "must end with .fifo suffix and be 1 to 80 in length."
        )
    raise invalid_parameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")


def dedup_scope(queue: Queue, group_id: str) -> str:
    """Return the scope of a deduplication id: its group, or an empty text for the whole queue."""
    return group_id if queue.attributes.deduplication_scope == "messageGroup" else ""


def queue_arn(scope: Scope, name: str) -> str:
    """The ARN of a queue."""
    return f"arn:aws:sqs:{scope.region}:{scope.account}:{name}"


def queue_url(caller: Caller, queue: Queue) -> str:
    """Return a queue's URL, with the host of the caller's request.

    AWS's first region has URLs without a region. All other URLs name the region, so that two queues never share a URL.
    """
    scope = queue.scope
    place = "" if scope.region == _FIRST_REGION else f"queue/{scope.region}/"
    return f"http://{caller.host}/{place}{scope.account}/{queue.name}"


@functools.lru_cache(maxsize=4_096)
def parse_queue_url(url: str) -> tuple[str, str, str]:
    """Return (region, account, name) of the queue that a URL names. Region and account are empty if the URL has none.

    Only the end of the path matters, so URLs with any host and of any style name the same queue:
    `http://127.0.0.1:4566/123456789012/orders`, `https://sqs.eu-west-1.amazonaws.com/123456789012/orders`,
    `http://localhost/queue/eu-west-1/123456789012/orders`, and the plain name `orders`.
    """
    _, _, located = url.partition("://")
    path = located.partition("/")[2] if located else url
    segments = [segment for segment in path.split("/") if segment]
    name = segments[-1] if segments else ""
    account = segments[-2] if len(segments) > 1 else ""
    if len(account) != 12 or not account.isdigit():
        return "", "", name
    return (segments[-3] if len(segments) > 3 and segments[-4] == "queue" else ""), account, name
