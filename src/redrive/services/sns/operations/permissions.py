"""Permissions for other accounts, as statements of a topic's policy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.sns.access import existing_topic
from redrive.services.sns.model.requests import invalid
from redrive.services.sns.model.topic import Topic
from redrive.store.api import Transaction

_ACCOUNT = re.compile(r"\d{12}", re.ASCII)
_GRANTABLE = frozenset(
    {
        "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
        "ListSubscriptionsByTopic", "Publish", "Receive", "GetDataProtectionPolicy", "PutDataProtectionPolicy",
    }
)  # fmt: skip


@operation("AddPermission")
def add_permission(
    tx: Transaction, caller: Caller, *, topic_arn: str, label: str, aws_account_id: Sequence[str],
    action_name: Sequence[str],
) -> Document:  # fmt: skip
    """Add a statement to the topic's policy that allows the accounts these actions; `label` becomes its Sid.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_AddPermission.html
    """
    topic = existing_topic(tx, caller, topic_arn, "sns:AddPermission")
    if any(not _ACCOUNT.fullmatch(account) for account in aws_account_id):
        raise invalid("AWSAccountId")
    if any(action not in _GRANTABLE for action in action_name):
        raise invalid("Policy statement action out of service scope!")
    document, statements = _read(topic)
    if any(statement.get("Sid") == label for statement in statements):
        raise invalid("Statement already exists")
    added = {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": _one_or_many([f"arn:aws:iam::{account}:root" for account in aws_account_id])},
        "Action": _one_or_many([f"SNS:{action}" for action in action_name]),
        "Resource": topic.arn,
    }
    policy = dump_json({**document, "Statement": [*statements, added]})
    tx.resources.put(topic.scope, replace(topic, policy=policy))
    return {}


@operation("RemovePermission")
def remove_permission(tx: Transaction, caller: Caller, *, topic_arn: str, label: str) -> Document:
    """Remove the statement with this label from the topic's policy. An unknown label is no error.

    Errors: InvalidParameterException; NotFoundException.
    Source: https://docs.aws.amazon.com/sns/latest/api/API_RemovePermission.html
    """
    topic = existing_topic(tx, caller, topic_arn, "sns:RemovePermission")
    document, statements = _read(topic)
    kept = [statement for statement in statements if statement.get("Sid") != label]
    if len(kept) < len(statements):
        policy = dump_json({**document, "Statement": kept}) if kept else ""
        tx.resources.put(topic.scope, replace(topic, policy=policy))
    return {}


def _read(topic: Topic) -> tuple[Document, list[Document]]:
    document: Document = load_json(topic.shown_policy)
    found = document.get("Statement", [])
    return document, [found] if isinstance(found, dict) else list(found)


def _one_or_many(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values
