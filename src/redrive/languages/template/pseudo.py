"""The pseudo parameters: facts about the stack that every template can use.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/pseudo-parameter-reference.html
"""

from __future__ import annotations

from dataclasses import dataclass

from redrive.languages.template.source import Node

NO_VALUE = "AWS::NoValue"
PSEUDO_PARAMETERS = frozenset(
    {
        "AWS::AccountId",
        "AWS::NotificationARNs",
        "AWS::Partition",
        "AWS::Region",
        "AWS::StackId",
        "AWS::StackName",
        "AWS::URLSuffix",
        NO_VALUE,
    }
)


@dataclass(frozen=True, slots=True)
class PseudoParameters:
    """The stack's own facts; partition and URL suffix follow from the region."""

    account_id: str
    region: str
    stack_name: str
    stack_id: str
    notification_arns: tuple[str, ...] = ()

    @property
    def partition(self) -> str:
        """The partition of the region, such as `aws`."""
        if self.region.startswith("cn-"):
            return "aws-cn"
        return "aws-us-gov" if self.region.startswith("us-gov-") else "aws"

    @property
    def url_suffix(self) -> str:
        """The domain of AWS's endpoints in this partition."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"

    def values(self) -> dict[str, Node]:
        """Every pseudo parameter with a value; AWS::NoValue has none."""
        return {
            "AWS::AccountId": self.account_id,
            "AWS::NotificationARNs": list(self.notification_arns),
            "AWS::Partition": self.partition,
            "AWS::Region": self.region,
            "AWS::StackId": self.stack_id,
            "AWS::StackName": self.stack_name,
            "AWS::URLSuffix": self.url_suffix,
        }
