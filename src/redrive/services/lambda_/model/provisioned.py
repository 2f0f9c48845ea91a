"""Provisioned concurrency: its stored form, and its form in answers. No transaction, no clock.

Source: https://docs.aws.amazon.com/lambda/latest/dg/provisioned-concurrency.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.lambda_.limits import PASSAGE_MS
from redrive.services.lambda_.model.function import last_modified


@dataclass(frozen=True, slots=True)
class ProvisionedConcurrency:
    """The provisioned concurrency of a version or an alias. `name` is the function's name, a colon, the qualifier."""

    KIND: ClassVar[str] = "lambda.provisioned_concurrency"

    name: str
    function_arn: str
    requested: int
    modified_at: Instant

    @property
    def qualifier(self) -> str:
        """The version or the alias."""
        return self.name.partition(":")[2]

    def is_ready(self, now: Instant) -> bool:
        """Whether the allocation is over. At the instant of its start it is over, as for a function's creation."""
        return not self.modified_at < now < self.modified_at + PASSAGE_MS


def provisioned_document(config: ProvisionedConcurrency, *, is_ready: bool) -> Document:
    """The configuration as GetProvisionedConcurrencyConfig answers it."""
    allocated = config.requested if is_ready else 0
    return {
        "RequestedProvisionedConcurrentExecutions": config.requested,
        "AvailableProvisionedConcurrentExecutions": allocated,
        "AllocatedProvisionedConcurrentExecutions": allocated,
        "Status": "READY" if is_ready else "IN_PROGRESS",
        "LastModified": last_modified(config.modified_at),
    }
