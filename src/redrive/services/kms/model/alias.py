"""Aliases: names for keys. Those of AWS's services begin with `alias/aws/`.

Source: https://docs.aws.amazon.com/kms/latest/developerguide/kms-alias.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.kms.model.requests import invalid

PREFIX = "alias/"
AWS_PREFIX = "alias/aws/"

SERVICES_WITH_KEYS = ("dynamodb", "ebs", "events", "kinesis", "lambda", "s3", "secretsmanager", "sns", "sqs", "ssm")
"""The services whose AWS managed keys can exist here. A key is created when it is first needed."""

_PAGE = "https://docs.aws.amazon.com/kms/latest/developerguide/kms-alias.html"


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias and the key that it means."""

    KIND: ClassVar[str] = "kms.alias"

    name: str
    key_id: str
    created_at: Instant
    updated_at: Instant

    def described(self, scope: Scope) -> Document:
        return {
            "AliasName": self.name,
            "AliasArn": alias_arn(scope, self.name),
            "TargetKeyId": self.key_id,
            "CreationDate": self.created_at,
            "LastUpdatedDate": self.updated_at,
        }


def alias_arn(scope: Scope, name: str) -> str:
    """Return the ARN of an alias."""
    return str(Arn("kms", scope.region, scope.account, name))


def check_alias(name: str) -> None:
    """Refuse the name of a new alias. Errors: ValidationException."""
    if not name.startswith(PREFIX) or name == PREFIX:
        raise invalid(f'Alias must start with the prefix "alias/". Please see {_PAGE}')
    if name.startswith(AWS_PREFIX):
        raise invalid(f"Alias names that begin with {AWS_PREFIX} are reserved for AWS: {name}")
