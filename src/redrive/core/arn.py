"""Amazon Resource Names, read and written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arn:
    """`arn:partition:service:region:account:resource`; region and account may be empty.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
    """

    service: str
    region: str
    account: str
    resource: str
    partition: str = "aws"

    @classmethod
    def parse(cls, text: str) -> Arn:
        """Read an ARN. Errors: ValueError if it is not one."""
        parts = text.split(":", 5)
        if len(parts) != 6 or parts[0] != "arn" or not parts[1] or not parts[2] or not parts[5]:
            raise ValueError(f"not an ARN: {text!r}")
        return cls(service=parts[2], region=parts[3], account=parts[4], resource=parts[5], partition=parts[1])

    def __str__(self) -> str:
        return f"arn:{self.partition}:{self.service}:{self.region}:{self.account}:{self.resource}"
