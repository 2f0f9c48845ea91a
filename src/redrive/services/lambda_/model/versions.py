"""Versions and aliases of functions: their stored form, and their form in answers. No transaction, no clock.

Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-versions.html
Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-aliases.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.lambda_.model.function import LATEST, Function, invalid_parameter

_DIGITS = 10
"""The stored name pads the version to this many digits, so that versions sort by number."""


@dataclass(frozen=True, slots=True)
class VersionCounter:
    """The last version number of a function's name.

    The row stays after the function is deleted, because AWS uses no version number twice.
    """

    KIND: ClassVar[str] = "lambda.version_counter"

    name: str
    last: int


@dataclass(frozen=True, slots=True)
class FunctionVersion:
    """A published version: the function's code and configuration as they were. `name` sorts by version number.

    `latest_description` is the description that $LATEST had. The version itself may have another one.
    """

    KIND: ClassVar[str] = "lambda.version"

    name: str
    function: Function
    latest_description: str = ""

    @property
    def number(self) -> int:
        """The version number."""
        return int(self.function.version)


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias. `name` is the function's name, a colon and the alias's name; `weights` has at most one version."""

    KIND: ClassVar[str] = "lambda.alias"

    name: str
    arn: str
    version: str
    revision: str
    description: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def alias_name(self) -> str:
        """The alias's own name."""
        return self.name.partition(":")[2]

    def chosen_version(self, draw: float) -> str:
        """The version of one run: `draw` is between 0 and 1, and below the weight it chooses the additional version."""
        for version, weight in self.weights.items():
            if draw < weight:
                return version
        return self.version


def version_name(function_name: str, number: int) -> str:
    """The stored name of a version."""
    return f"{function_name}:{number:0{_DIGITS}d}"


def qualified_name(function_name: str, qualifier: str) -> str:
    """The stored name of what belongs to a version or an alias of a function."""
    return f"{function_name}:{qualifier}"


def published(function: Function, number: int, *, description: str | None, revision: str, settled: str) -> Function:
    """A function as its new version keeps it. What belongs to the function as a whole is left out."""
    return replace(
        function,
        version=str(number),
        description=function.description if description is None else description,
        revision=revision,
        settled_revision=settled,
        passage_at=0,
        is_first_passage=False,
        replaced_digest="",
        reserved=None,
        recursive_loop="Terminate",
        code_signing_arn="",
        tags={},
        statements=(),
        policy_revision="",
        policies={},
    )


def is_unchanged(version: FunctionVersion, function: Function) -> bool:
    """Whether $LATEST has the code and configuration of this version."""
    same = published(function, version.number, description=version.function.description, revision="", settled="")
    before = replace(
        version.function, revision="", settled_revision="", passage_at=0, is_first_passage=False, modified_at=0
    )
    return version.latest_description == function.description and before == replace(same, modified_at=0)


def alias_document(alias: Alias) -> Document:
    """An alias as GetAlias answers it. Source: https://docs.aws.amazon.com/lambda/latest/api/API_GetAlias.html"""
    document: Document = {
        "AliasArn": alias.arn,
        "Name": alias.alias_name,
        "FunctionVersion": alias.version,
        "Description": alias.description,
        "RevisionId": alias.revision,
    }
    if alias.weights:
        document["RoutingConfig"] = {"AdditionalVersionWeights": dict(alias.weights)}
    return document


def check_weights(version: str, weights: Mapping[str, float]) -> None:
    """Refuse weights that an alias cannot have.

    Errors: InvalidParameterValueException; ValidationException (a weight outside of 0 to 1; a key that is no version).
    """
    if not weights:
        return
    shown = "{" + ", ".join(f"{key}={value}" for key, value in weights.items()) + "}"
    if any(not key.isdecimal() for key in weights):
        raise _weights_refused(
            shown, "keys", "Member must have length less than or equal to 1024, Member must have length greater than "
            "or equal to 1, Member must satisfy regular expression pattern: [0-9]+, Member must not be null",
        )  # fmt: skip
    if any(not 0 <= value <= 1 for value in weights.values()):
        raise _weights_refused(
            shown, "value", "Member must have value less than or equal to 1.0, Member must have value greater than or "
            "equal to 0.0, Member must not be null",
        )  # fmt: skip
    if len(weights) > 1:
        raise invalid_parameter("Number of items in AdditionalVersionWeights cannot be greater than 1")
    if version == LATEST:
        raise invalid_parameter("$LATEST is not supported for an alias pointing to more than 1 version")
    if version in weights:
        raise invalid_parameter(
            f"Invalid function version {version}. Function version {version} is already included in routing "
            "configuration."
        )


def _weights_refused(shown: str, part: str, bound: str) -> ServiceError:
    return ServiceError(
        "ValidationException",
        f"1 validation error detected: Value '{shown}' at 'routingConfig.additionalVersionWeights' failed to satisfy "
        f"constraint: Map {part} must satisfy constraint: [{bound}]",
        http_status=400,
    )
