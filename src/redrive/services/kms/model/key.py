"""Keys: their stored form, their states, and their form in answers."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.arn import Arn
from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.kms.model.specs import SPECS, KeySpec

KEY_TIMER = "kms.key"
"""The kind of the timers of keys: a deletion or an automatic rotation is due."""


class KeyState(enum.Enum):
    """The state of a key. Keys of other states cannot exist here.

    Source: https://docs.aws.amazon.com/kms/latest/developerguide/key-state.html
    """

    ENABLED = "Enabled"
    DISABLED = "Disabled"
    PENDING_DELETION = "PendingDeletion"


@dataclass(frozen=True, slots=True)
class Material:
    """One generation of a key's secret. `id` is part of what the secret of a symmetric key is derived from."""

    id: str
    created_at: Instant
    on_demand: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """A key. `wrapped` is the private half of an asymmetric key, encrypted under the store's secret, in base64."""

    KIND: ClassVar[str] = "kms.key"

    id: str
    created_at: Instant
    spec_name: str
    usage: str
    policy: str
    materials: tuple[Material, ...]
    description: str = ""
    state: KeyState = KeyState.ENABLED
    wrapped: str = ""
    managed_by: str = ""
    deletion_at: Instant | None = None
    pending_days: int | None = None
    rotation_days: int | None = None
    rotates_at: Instant | None = None
    is_multi_region: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.id

    @property
    def spec(self) -> KeySpec:
        return SPECS[self.spec_name]

    @property
    def material(self) -> Material:
        """The generation that encrypts; earlier ones only decrypt."""
        return self.materials[-1]

    def arn(self, scope: Scope) -> str:
        return key_arn(scope, self.id)

    def check_enabled(self, scope: Scope) -> None:
        """Refuse to use a key that is not enabled. Errors: DisabledException; KMSInvalidStateException."""
        if self.state is KeyState.DISABLED:
            raise ServiceError("DisabledException", f"{self.arn(scope)} is disabled.")
        self.check_stays(scope)

    def check_stays(self, scope: Scope) -> None:
        """Refuse to change a key that is about to be deleted. Errors: KMSInvalidStateException."""
        if self.state is KeyState.PENDING_DELETION:
            raise ServiceError("KMSInvalidStateException", f"{self.arn(scope)} is pending deletion.")

    def check_usage(self, scope: Scope, usage: str, operation: str) -> None:
        """Refuse what the key is not for. Errors: InvalidKeyUsageException."""
        if self.usage != usage:
            message = f"{self.arn(scope)} key usage is {self.usage} which is not valid for {operation}."
            raise ServiceError("InvalidKeyUsageException", message)

    def described(self, scope: Scope) -> Document:
        """The key's metadata, as DescribeKey shows it."""
        metadata: Document = {
            "AWSAccountId": scope.account,
            "KeyId": self.id,
            "Arn": self.arn(scope),
            "CreationDate": self.created_at,
            "Enabled": self.state is KeyState.ENABLED,
            "Description": self.description,
            "KeyUsage": self.usage,
            "KeyState": self.state.value,
            "Origin": "AWS_KMS",
            "KeyManager": "AWS" if self.managed_by else "CUSTOMER",
            "CustomerMasterKeySpec": self.spec_name,
            "KeySpec": self.spec_name,
            "MultiRegion": self.is_multi_region,
            **self.spec.algorithms(self.usage),
        }
        if self.spec.is_symmetric:
            metadata["CurrentKeyMaterialId"] = self.material.id
        if self.deletion_at is not None:
            metadata["DeletionDate"] = self.deletion_at
        if self.is_multi_region:
            primary = {"Arn": self.arn(scope), "Region": scope.region}
            metadata["MultiRegionConfiguration"] = {
                "MultiRegionKeyType": "PRIMARY", "PrimaryKey": primary, "ReplicaKeys": [],
            }  # fmt: skip
        return metadata


def key_arn(scope: Scope, key_id: str) -> str:
    """Return the ARN of a key."""
    return str(Arn("kms", scope.region, scope.account, f"key/{key_id}"))


def next_due(key: Key) -> Instant | None:
    """Return when a key needs attention: it is deleted then, or rotated. A key that is about to go does not rotate."""
    if key.deletion_at is not None:
        return key.deletion_at
    return key.rotates_at


def rotation_after(now: Instant, days: int) -> Instant:
    """Return the instant of the next automatic rotation."""
    return now + days * DAY_MS


def default_policy(account: str) -> str:
    """Return the policy of a key that was created without one: the account's own policies decide.

    Source: https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
    """
    statement = {
        "Sid": "Enable IAM User Permissions",
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
        "Action": "kms:*",
        "Resource": "*",
    }
    return dump_json({"Version": "2012-10-17", "Id": "key-default-1", "Statement": [statement]})


def managed_policy(scope: Scope, service: str) -> str:
    """Return the policy of an AWS managed key: everybody in the account may use the key, through its service only.

    Source: https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#aws-managed-key
    """
    through = {
        "StringEquals": {
            "kms:CallerAccount": scope.account,
            "kms:ViaService": f"{service}.{scope.region}.amazonaws.com",
        }
    }
    used = [
        "kms:Encrypt",
        "kms:Decrypt",
        "kms:ReEncrypt*",
        "kms:GenerateDataKey*",
        "kms:CreateGrant",
        "kms:DescribeKey",
    ]
    root = f"arn:aws:iam::{scope.account}:root"
    statements = [
        {
            "Sid": f"Allow access through {service} for all principals in the account that are authorized to use it",
            "Effect": "Allow", "Principal": {"AWS": "*"}, "Action": used, "Resource": "*", "Condition": through,
        },
        {
            "Sid": "Allow direct access to key metadata to the account",
            "Effect": "Allow", "Principal": {"AWS": root}, "Resource": "*",
            "Action": ["kms:Describe*", "kms:Get*", "kms:List*", "kms:RevokeGrant"],
        },
    ]  # fmt: skip
    return dump_json({"Version": "2012-10-17", "Id": f"auto-{service}-1", "Statement": statements})
