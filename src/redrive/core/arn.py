"""Amazon Resource Names: parsing and formatting."""

from __future__ import annotations

import functools
from dataclasses import dataclass

ARNS_KEPT = 4_096
"""The size of the parser's cache. Each message uses the same few ARNs."""


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

    @staticmethod
    def parse(text: str) -> Arn:
        """Parse an ARN. Errors: ValueError if the text is not an ARN."""
        return _parse(text)

    def __str__(self) -> str:
        return f"arn:{self.partition}:{self.service}:{self.region}:{self.account}:{self.resource}"


@functools.lru_cache(maxsize=ARNS_KEPT)
def _parse(text: str) -> Arn:
    parts = text.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn" or not parts[1] or not parts[2] or not parts[5]:
        raise ValueError(f"not an ARN: {text!r}")
    return Arn(service=parts[2], region=parts[3], account=parts[4], resource=parts[5], partition=parts[1])
