"""Layers: the stored form of a version, its names, and its form in answers. No transaction, no clock.

Source: https://docs.aws.amazon.com/lambda/latest/dg/chapter-layers.html
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.lambda_.model.function import lambda_error

_NAME = re.compile(
    r"(?:arn:[a-z-]+:lambda:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):layer:)?(?P<name>[a-zA-Z0-9_-]+)"
)

_DIGITS = 10
"""The stored name pads the version to this many digits, so that versions sort by number."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer. Its row stays after its versions are deleted, so that no version number is used twice."""

    KIND: ClassVar[str] = "lambda.layer"

    name: str
    arn: str
    last_version: int


@dataclass(frozen=True, slots=True)
class LayerVersion:
    """A version of a layer. `name` sorts by version; `code_digest` is the hexadecimal SHA-256 of the archive."""

    KIND: ClassVar[str] = "lambda.layer_version"

    name: str
    layer_arn: str
    version: int
    created_at: Instant
    code_digest: str
    code_size: int
    description: str = ""
    runtimes: tuple[str, ...] | None = None
    architectures: tuple[str, ...] | None = None
    license_info: str | None = None
    statements: tuple[Document, ...] = ()
    policy_revision: str = ""

    @property
    def arn(self) -> str:
        """The ARN of the version."""
        return f"{self.layer_arn}:{self.version}"

    def fits(self, runtime: str | None, architecture: str | None) -> bool:
        """Whether the version is listed for this runtime and architecture; None matches all."""
        wanted_runtime = runtime is None or runtime in (self.runtimes or ())
        return wanted_runtime and (architecture is None or architecture in (self.architectures or ()))


def parse_layer_name(text: str, scope: Scope) -> tuple[Scope, str]:
    """Return the scope and the name of a layer, which the text gives as name or ARN.

    Errors: InvalidParameterValueException.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise lambda_error("InvalidParameterValueException", f"Invalid Layer name: {text}")
    return Scope(match["account"] or scope.account, match["region"] or scope.region), match["name"]


def layer_arn(scope: Scope, name: str) -> str:
    """The ARN of a layer."""
    return f"arn:aws:lambda:{scope.region}:{scope.account}:layer:{name}"


def layer_version_name(name: str, version: int) -> str:
    """Return the name under which a version is stored."""
    return f"{name}:{version:0{_DIGITS}d}"


def layer_version_summary(version: LayerVersion) -> Document:
    """A version as lists show it."""
    document: Document = {
        "LayerVersionArn": version.arn,
        "Version": version.version,
        "Description": version.description,
        "CreatedDate": _date(version.created_at),
    }
    if version.runtimes is not None:
        document["CompatibleRuntimes"] = list(version.runtimes)
    if version.architectures is not None:
        document["CompatibleArchitectures"] = list(version.architectures)
    if version.license_info is not None:
        document["LicenseInfo"] = version.license_info
    return document


def layer_version_document(version: LayerVersion, location: str) -> Document:
    """A version as GetLayerVersion answers it; `location` is the URL of its archive."""
    return {
        **layer_version_summary(version),
        "LayerArn": version.layer_arn,
        "Content": {
            "Location": location,
            "CodeSha256": base64.b64encode(bytes.fromhex(version.code_digest)).decode(),
            "CodeSize": version.code_size,
        },
    }


def layer_policy(statements: Sequence[Document]) -> str:
    """The policy of a version as JSON text."""
    return dump_json({"Version": "2012-10-17", "Id": "default", "Statement": list(statements)})


def layer_version_missing(arn: str) -> ServiceError:
    """Build the ResourceNotFoundException for a version of a layer."""
    return lambda_error("ResourceNotFoundException", f"Layer version {arn} does not exist.")


def _date(at: Instant) -> str:
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}+0000"
