"""Repositories: their stored form, and their form in answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository. It has settings, and no images."""

    KIND: ClassVar[str] = "ecr.repository"

    name: str
    created_at: Instant
    mutability: str = "MUTABLE"
    scan_on_push: bool = False
    encryption: Document = field(default_factory=lambda: {"encryptionType": "AES256"})
    policy: str | None = None
    lifecycle: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        return repository_arn(scope, self.name)

    def described(self, scope: Scope) -> Document:
        """The repository as DescribeRepositories shows it."""
        return {
            "repositoryArn": self.arn(scope),
            "registryId": scope.account,
            "repositoryName": self.name,
            "repositoryUri": f"{scope.account}.dkr.ecr.{scope.region}.amazonaws.com/{self.name}",
            "createdAt": self.created_at,
            "imageTagMutability": self.mutability,
            "imageScanningConfiguration": {"scanOnPush": self.scan_on_push},
            "encryptionConfiguration": self.encryption,
        }


def repository_arn(scope: Scope, name: str) -> str:
    """Return the ARN of a repository."""
    return str(Arn("ecr", scope.region, scope.account, f"repository/{name}"))


def no_such_repository(account: str, name: str) -> ServiceError:
    """Build the error for a repository that does not exist."""
    message = f"The repository with name '{name}' does not exist in the registry with id '{account}'"
    return ServiceError("RepositoryNotFoundException", message)
