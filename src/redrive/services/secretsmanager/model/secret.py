"""Secrets, their versions and the stages of these: their stored form, and their form in answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from redrive.core.arn import Arn
from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.model.requests import invalid_request

CURRENT = "AWSCURRENT"
PREVIOUS = "AWSPREVIOUS"
PENDING = "AWSPENDING"
DEFAULT_KEY = "alias/aws/secretsmanager"
NAME = re.compile(r"[A-Za-z0-9/_+=.@!-]{1,512}")

DELETION_TIMER = "secretsmanager.deletion"
ROTATION_TIMER = "secretsmanager.rotation"
"""The kinds of the timers of secrets: a deletion is due; a step of a rotation, or a rotation, is due."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a secret, without its value. One that a rotation has begun has no value yet."""

    id: str
    created_at: Instant
    stages: tuple[str, ...]
    has_value: bool = True
    accessed_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Rotation:
    """A rotation under way: the version that it makes, and the step that is next; `only_test`: it makes none."""

    token: str
    step: int = 0
    failures: int = 0
    only_test: bool = False


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret. `uid` tells it from an earlier secret of its name; `fence` counts calls of the rotation function."""

    KIND: ClassVar[str] = "secretsmanager.secret"

    name: str
    suffix: str
    uid: str
    created_at: Instant
    changed_at: Instant
    description: str | None = None
    kms_key_id: str | None = None
    policy: str = ""
    accessed_at: Instant | None = None
    deleted_at: Instant | None = None
    deletion_at: Instant | None = None
    versions: tuple[Version, ...] = ()
    rotation_enabled: bool = False
    rotation_function: str | None = None
    rotation_rules: Document = field(default_factory=dict)
    rotation: Rotation | None = None
    rotated_at: Instant | None = None
    rotates_at: Instant | None = None
    fence: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)

    def arn(self, scope: Scope) -> str:
        return secret_arn(scope, f"{self.name}-{self.suffix}")

    def version(self, version_id: str) -> Version | None:
        return next((version for version in self.versions if version.id == version_id), None)

    def with_stage(self, stage: str) -> Version | None:
        """The version that has a stage."""
        return next((version for version in self.versions if stage in version.stages), None)

    def check_kept(self) -> None:
        """Refuse what cannot be done with a secret that was deleted. Errors: InvalidRequestException."""
        if self.deletion_at is not None:
            raise invalid_request("You can't perform this operation on the secret because it was marked for deletion.")

    @property
    def stages_by_version(self) -> Document:
        return {version.id: list(version.stages) for version in self.versions if version.stages}

    def listed(self, scope: Scope) -> Document:
        """The secret as ListSecrets shows it."""
        return {**self._shared(scope), "SecretVersionsToStages": self.stages_by_version or None}

    def described(self, scope: Scope) -> Document:
        """The secret as DescribeSecret shows it."""
        return {**self._shared(scope), "VersionIdsToStages": self.stages_by_version or None}

    def _shared(self, scope: Scope) -> Document:
        return {
            "ARN": self.arn(scope),
            "Name": self.name,
            "Description": self.description,
            "KmsKeyId": self.kms_key_id,
            "RotationEnabled": True if self.rotation_enabled else None,
            "RotationLambdaARN": self.rotation_function,
            "RotationRules": self.rotation_rules or None,
            "LastRotatedDate": self.rotated_at,
            "LastChangedDate": self.changed_at,
            "LastAccessedDate": self.accessed_at,
            "DeletedDate": self.deleted_at,
            "NextRotationDate": self.rotates_at,
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()] or None,
            "CreatedDate": self.created_at,
        }


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a version, encrypted by KMS, in base64. Its resource name begins with the secret's uid."""

    KIND: ClassVar[str] = "secretsmanager.value"

    secret_uid: str
    version_id: str
    sealed: str
    is_binary: bool

    @property
    def name(self) -> str:
        return value_key(self.secret_uid, self.version_id)


def value_key(uid: str, version_id: str) -> str:
    """Return the resource name of a value."""
    return f"{uid}/{version_id}"


def secret_arn(scope: Scope, name_and_suffix: str) -> str:
    """Return the ARN of a secret."""
    return str(Arn("secretsmanager", scope.region, scope.account, f"secret:{name_and_suffix}"))


def timer_name(scope: Scope, name: str) -> str:
    """Return the name of a secret's timers."""
    return f"{scope}/{name}"


def day_of(instant: Instant) -> Instant:
    """Return the beginning of the day: AWS tells only the day of the last access."""
    return instant - instant % DAY_MS


def staged(versions: Sequence[Version], version_id: str, stages: Iterable[str]) -> tuple[Version, ...]:
    """Return the versions after stages have moved to one of them. AWSPREVIOUS goes where AWSCURRENT has been."""
    moving = set(stages)
    left = next((version for version in versions if CURRENT in version.stages), None)
    follows = CURRENT in moving and left is not None and left.id != version_id
    made = []
    for version in versions:
        kept = [stage for stage in version.stages if stage not in moving]
        if follows:
            kept = [stage for stage in kept if stage != PREVIOUS]
            kept += [PREVIOUS] if left is not None and version.id == left.id else []
        if version.id == version_id:
            kept += sorted(moving)
        made.append(replace(version, stages=tuple(kept)))
    return tuple(made)


def trimmed(versions: Sequence[Version]) -> tuple[tuple[Version, ...], list[str]]:
    """Return the versions that are kept, and the ids of those that are dropped: the oldest without stages."""
    over = len(versions) - limits.VERSIONS_MAX
    dropped = [version.id for version in versions if not version.stages][: max(over, 0)]
    return tuple(version for version in versions if version.id not in dropped), dropped
