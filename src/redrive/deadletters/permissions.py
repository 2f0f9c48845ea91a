"""Whether the caller may send to a target, asked of IAM, which decides without sending anything.

Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
"""

from __future__ import annotations

import re

from botocore.exceptions import BotoCoreError, ClientError

from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.sources import Client

_ACTIONS = {
    "sqs": "sqs:SendMessage", "lambda": "lambda:InvokeFunction", "sns": "sns:Publish", "events": "events:PutEvents",
    "states": "states:StartExecution", "kinesis": "kinesis:PutRecord",
}  # fmt: skip
_SESSION = re.compile(r"arn:(?P<partition>aws[\w-]*):sts::(?P<account>\d+):assumed-role/(?P<role>[^/]+)/")


class Permissions:
    """Asks IAM once for each target. IAM that may not be asked says nothing, and nothing is refused."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._caller: str | None = None
        self._known: dict[str, Finding | None] = {}

    def finding(self, service: str, arn: str) -> Finding | None:
        """Whether the caller may send to an ARN; None if it could not be asked."""
        action = "states:RedriveExecution" if ":execution:" in arn else _ACTIONS.get(service)
        if action is None or not arn.startswith("arn:"):
            return None
        if arn not in self._known:
            try:
                self._known[arn] = self._asked(action, arn)
            except (ClientError, BotoCoreError):
                self._known[arn] = None
        return self._known[arn]

    def _asked(self, action: str, arn: str) -> Finding | None:
        if self._caller is None:
            self._caller = _principal(self._client("sts").get_caller_identity()["Arn"])
        if self._caller.endswith(":root"):
            return None
        (told,) = self._client("iam").simulate_principal_policy(
            PolicySourceArn=self._caller, ActionNames=[action], ResourceArns=[arn]
        )["EvaluationResults"]
        detail = f"{self._caller} {action} {arn}"
        match told["EvalDecision"]:
            case "allowed":
                return Finding("permission", Answer.GO, f"you may {action}", detail)
            case "explicitDeny":
                return Finding("permission", Answer.REFUSE, f"your policies deny {action}", detail)
        # A policy of the target may allow it yet, which IAM does not look at here.
        return Finding("permission", Answer.CAUTION, f"your policies do not allow {action}", detail)


def _principal(arn: str) -> str:
    """The role of a session: IAM simulates roles and users."""
    session = _SESSION.match(arn)
    return arn if session is None else f"arn:{session['partition']}:iam::{session['account']}:role/{session['role']}"
