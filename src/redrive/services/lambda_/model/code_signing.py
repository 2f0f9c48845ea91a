"""Code signing configurations: their stored form, and their form in answers. No transaction, no clock.

Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-codesigning.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.lambda_.model.function import lambda_error, last_modified


@dataclass(frozen=True, slots=True)
class CodeSigningConfig:
    """Who may sign code, and what becomes of code that they have not signed. `name` is the id, `csc-…`."""

    KIND: ClassVar[str] = "lambda.code_signing_config"

    name: str
    arn: str
    publishers: tuple[str, ...]
    modified_at: Instant
    policy: str = "Warn"
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


def code_signing_document(config: CodeSigningConfig) -> Document:
    """The configuration in AWS's form."""
    document: Document = {
        "CodeSigningConfigId": config.name,
        "CodeSigningConfigArn": config.arn,
        "AllowedPublishers": {"SigningProfileVersionArns": list(config.publishers)},
        "CodeSigningPolicies": {"UntrustedArtifactOnDeployment": config.policy},
        "LastModified": last_modified(config.modified_at),
    }
    if config.description:
        document["Description"] = config.description
    return document


def code_signing_missing(arn: str) -> ServiceError:
    """Build the error for a configuration that does not exist."""
    return lambda_error("ResourceNotFoundException", f"The Lambda code signing configuration {arn} can not be found.")
