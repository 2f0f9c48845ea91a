"""Parameters and their versions: their stored form, and their form in answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.scope import Scope
from redrive.services.ssm.model.names import key_of, parameter_arn

STRING = "String"
STRING_LIST = "StringList"
SECURE_STRING = "SecureString"

STANDARD = "Standard"
ADVANCED = "Advanced"
INTELLIGENT = "Intelligent-Tiering"

DEFAULT_KEY = "alias/aws/ssm"
_VERSION_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: what is true of all its versions, and what the newest of them is.

    `labels` are the versions of labels. `shown_name` is the name as it was given, with or without a slash.
    """

    KIND: ClassVar[str] = "ssm.parameter"

    shown_name: str
    type: str
    version: int
    tier: str
    data_type: str = "text"
    description: str | None = None
    allowed_pattern: str | None = None
    key_id: str | None = None
    policies: str | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return key_of(self.shown_name)

    def arn(self, scope: Scope) -> str:
        return parameter_arn(scope, self.name)

    def labels_of(self, version: int) -> list[str]:
        """The labels of one version, sorted."""
        return sorted(label for label, of in self.labels.items() if of == version)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a parameter. Its resource name begins with the parameter's.

    `value` of a SecureString is its ciphertext in base64; `is_sealed` if it is encrypted under a data key.
    """

    KIND: ClassVar[str] = "ssm.version"

    parameter: str
    number: int
    value: str
    type: str
    changed_at: Instant
    changed_by: str
    tier: str
    data_type: str
    description: str | None = None
    allowed_pattern: str | None = None
    key_id: str | None = None
    policies: str | None = None
    is_sealed: bool = False

    @property
    def name(self) -> str:
        return version_key(self.parameter, self.number)

    def described(self, value: str, labels: list[str], shown_name: str) -> Document:
        """The version as GetParameterHistory shows it."""
        return {**self.metadata(shown_name), "Value": value, "Labels": labels}

    def metadata(self, shown_name: str) -> Document:
        """The version as DescribeParameters shows it, without its value."""
        return {
            "Name": shown_name,
            "Type": self.type,
            "KeyId": self.key_id,
            "LastModifiedDate": self.changed_at,
            "LastModifiedUser": self.changed_by,
            "Description": self.description,
            "AllowedPattern": self.allowed_pattern,
            "Version": self.number,
            "Tier": self.tier,
            "Policies": shown_policies(self.policies),
            "DataType": self.data_type,
        }


def version_key(parameter: str, number: int) -> str:
    """Return the resource name of a version; versions of a parameter are sorted by number."""
    return f"{parameter}:{number:0{_VERSION_DIGITS}d}"


def shown_policies(policies: str | None) -> list[Document]:
    """Return the policies of a parameter as answers show them."""
    found = load_json(policies) if policies else []
    return [
        {"PolicyText": dump_json(policy), "PolicyType": policy["Type"], "PolicyStatus": "Pending"} for policy in found
    ]
