"""Trails as they are stored, and the errors about them.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/APIReference/API_Trail.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope

_NAME = re.compile(r"[A-Za-z0-9](?:[._-]?[A-Za-z0-9])*")
_ADDRESS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")
_LENGTH_MIN, _LENGTH_MAX = 3, 128
_ARN_PARTS = 6


@dataclass(frozen=True, slots=True)
class Trail:
    """A trail in its home region. `settings` are the members of AWS's document that are only kept: the bucket's name,
    the topic's, and so on. `started_at` and `stopped_at` are the latest of their kind.
    """

    KIND: ClassVar[str] = "cloudtrail.trail"

    name: str
    is_multi_region: bool = False
    includes_global: bool = True
    settings: Document = field(default_factory=dict)
    selectors: tuple[Document, ...] = ()
    advanced: tuple[Document, ...] = ()
    is_logging: bool = False
    started_at: Instant | None = None
    stopped_at: Instant | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def records_data(self) -> bool:
        """Whether a selector could ask for events of data."""
        return any(one.get("DataResources") for one in self.selectors) or any(
            field["Field"] == "resources.type" for one in self.advanced for field in one["FieldSelectors"]
        )

    def is_for(self, home: Scope, scope: Scope) -> bool:
        """Whether the trail, which has this home, records calls in a scope."""
        return (
            self.is_logging and home.account == scope.account and (self.is_multi_region or home.region == scope.region)
        )


def trail_arn(scope: Scope, name: str) -> str:
    """The ARN of a trail."""
    return f"arn:aws:cloudtrail:{scope.region}:{scope.account}:trail/{name}"


def place_of(scope: Scope, written: str) -> tuple[Scope, str]:
    """The home and the name of the trail that a request names by its name or ARN.

    Errors: InvalidTrailNameException; CloudTrailARNInvalidException.
    """
    if not written.startswith("arn:"):
        refuse_bad_name(written)
        return scope, written
    parts = written.split(":", _ARN_PARTS - 1)
    if len(parts) < _ARN_PARTS or parts[2] != "cloudtrail" or not parts[5].startswith("trail/"):
        raise ServiceError("CloudTrailARNInvalidException", f"The ARN {written} is not valid for a trail.")
    return Scope(parts[4], parts[3]), parts[5].removeprefix("trail/")


def refuse_bad_name(name: str) -> None:
    """Refuse what no trail can be called. Errors: InvalidTrailNameException."""
    if not _LENGTH_MIN <= len(name) <= _LENGTH_MAX:
        raise _bad_name(f"Trail name must be between {_LENGTH_MIN} and {_LENGTH_MAX} characters.")
    if not _NAME.fullmatch(name):
        raise _bad_name(
            "Trail name must start and end with a letter or number, and may have single periods, underscores "
            "and dashes between them."
        )
    if _ADDRESS.fullmatch(name):
        raise _bad_name("Trail name cannot be in IP address format.")


def _bad_name(message: str) -> ServiceError:
    return ServiceError("InvalidTrailNameException", message)


def unknown_trail(home: Scope, name: str) -> ServiceError:
    """Build the error for a trail that does not exist."""
    return ServiceError(
        "TrailNotFoundException", f"Unknown trail: {trail_arn(home, name)} for the user: {home.account}"
    )
