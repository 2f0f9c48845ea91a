"""Statements of a function's resource policy. No transaction, no clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.documents import Document, dump_json

_ACCOUNT = re.compile(r"\d{12}")
_SERVICE = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.(amazonaws\.com(\.cn)?|amazon\.com|amazon|aws\.internal)")


@dataclass(frozen=True, slots=True)
class FunctionPolicy:
    """The statements of a function's resource policy, or of the policy of one of its versions or aliases."""

    statements: tuple[Document, ...] = ()
    revision: str = ""

    @property
    def text(self) -> str:
        """The policy as JSON text; empty without statements."""
        return policy_document(self.statements) if self.statements else ""


NO_POLICY = FunctionPolicy()


def is_principal(text: str) -> bool:
    """Whether the text is an account, an ARN, `*`, or looks like an AWS service.

    There is no list of services to compare with.
    """
    return text == "*" or text.startswith("arn:") or any(form.fullmatch(text) for form in (_ACCOUNT, _SERVICE))


def policy_document(statements: Sequence[Document]) -> str:
    """The resource policy as JSON text."""
    return dump_json({"Version": "2012-10-17", "Id": "default", "Statement": list(statements)})


def policy_statement(
    *,
    sid: str,
    action: str,
    principal: str,
    resource: str,
    source_arn: str | None,
    equals: Document,
    via_url: bool | None = None,
) -> Document:
    """Build a statement as AddPermission writes it.

    `equals` holds further conditions; those with the value None are left out.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/access-control-resource-based.html
    """
    statement: Document = {
        "Sid": sid,
        "Effect": "Allow",
        "Principal": _principal(principal),
        "Action": action,
        "Resource": resource,
    }
    present = {key: value for key, value in equals.items() if value is not None}
    condition: Document = {}
    if present:
        condition["StringEquals"] = present
    if source_arn is not None:
        condition["ArnLike"] = {"AWS:SourceArn": source_arn}
    if via_url is not None:
        condition["Bool"] = {"lambda:InvokedViaFunctionUrl": str(via_url).lower()}
    if condition:
        statement["Condition"] = condition
    return statement


def _principal(principal: str) -> str | Document:
    if principal == "*":
        return principal
    if _ACCOUNT.fullmatch(principal):
        return {"AWS": f"arn:aws:iam::{principal}:root"}
    return {"AWS" if principal.startswith("arn:") else "Service": principal}
