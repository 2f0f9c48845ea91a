"""Permissions: AddPermission adds a statement to a queue's policy, RemovePermission removes one.

Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_AddPermission.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from redrive.core.documents import Document, dump_json, load_json
from redrive.core.limits import Limits
from redrive.services.sqs import limits
from redrive.services.sqs.model.policy import OWNERS_ALONE, over_limit
from redrive.services.sqs.model.requests import invalid_value, missing_parameter

_LABEL = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.LABEL_LENGTH_MAX}}}")
_ACCOUNT = re.compile(r"\d{12}", re.ASCII)

_GRANTABLE = frozenset(
    {
        "*", "ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl",
        "ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage",
    }
)  # fmt: skip


def check_permission(label: str, accounts: Sequence[str], actions: Sequence[str], quotas: Limits) -> None:
    """Check the label, accounts and actions of a permission.

    Errors: MissingRequiredParameterException; InvalidParameterValueException; OverLimit (more than seven actions).
    """
    if not _LABEL.fullmatch(label):
        reason = "Label can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length."
        raise invalid_value(label, "Label", reason)
    if not accounts:
        raise missing_parameter("AWSAccountIds")
    if not actions:
        raise missing_parameter("Actions")
    for account in accounts:
        if not _ACCOUNT.fullmatch(account):
            raise invalid_value(account, "PrincipalId", "Unable to verify.")
    for action in actions:
        if action in OWNERS_ALONE:
            raise invalid_value(action, "ActionName", "Only the queue owner is allowed to invoke this action.")
        if action not in _GRANTABLE:
            raise invalid_value(action, "ActionName", "It is the name of no action of SQS.")
    if quotas is Limits.STRICT and len(actions) > limits.STATEMENT_ACTIONS_MAX:
        raise over_limit(f"{len(actions)} Actions were found, maximum allowed is {limits.STATEMENT_ACTIONS_MAX}.")


def add_statement(
    policy: str, queue_arn: str, *, label: str, accounts: Sequence[str], actions: Sequence[str], quotas: Limits
) -> str:
    """Return the policy with one more statement. Errors: InvalidParameterValueException (label in use); OverLimit."""
    document = _read(policy) or {"Version": "2008-10-17", "Id": f"{queue_arn}/SQSDefaultPolicy", "Statement": []}
    statements = _statements(document)
    if any(statement.get("Sid") == label for statement in statements):
        raise invalid_value(label, "Label", "Already exists.")
    if quotas is Limits.STRICT and len(statements) >= limits.POLICY_STATEMENTS_MAX:
        raise over_limit(f"A queue policy has at most {limits.POLICY_STATEMENTS_MAX} statements.")
    added = {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": _one_or_many([f"arn:aws:iam::{account}:root" for account in accounts])},
        "Action": _one_or_many([f"SQS:{action}" for action in actions]),
        "Resource": queue_arn,
    }
    return dump_json({**document, "Statement": [*statements, added]})


def remove_statement(policy: str, label: str) -> str:
    """Return the policy without one statement, or "" if none is left.

    Errors: InvalidParameterValueException (no such label).
    """
    document = _read(policy)
    statements = _statements(document)
    kept = [statement for statement in statements if statement.get("Sid") != label]
    if len(kept) == len(statements):
        raise invalid_value(label, "Label", "can't find label on existing policy.")
    return dump_json({**document, "Statement": kept}) if kept else ""


def _read(policy: str) -> Document:
    document: Document = load_json(policy) if policy else {}
    return document


def _statements(document: Document) -> list[Document]:
    """Return the statements of a policy as a list; the document may have a single statement instead of a list."""
    found = document.get("Statement", [])
    return [found] if isinstance(found, dict) else list(found)


def _one_or_many(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values
