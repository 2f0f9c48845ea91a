"""Configurations of one kind of a bucket, each with an id, as a setting of the bucket."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.pages import InvalidToken, decode_token, encode_token
from redrive.core.scope import Caller
from redrive.services.s3 import limits
from redrive.services.s3.access import bucket_of
from redrive.services.s3.changing import set_setting
from redrive.services.s3.model.errors import invalid_argument, malformed_xml
from redrive.services.s3.model.refusals import not_set
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of configurations: AWS's name of the shape, and the most that a bucket may have."""

    name: str
    configurations_max: int = limits.CONFIGURATIONS_MAX

    @property
    def write(self) -> str:
        """The action that puts and deletes."""
        return f"s3:Put{self.name}"

    @property
    def read(self) -> str:
        """The action that gets and lists."""
        return f"s3:Get{self.name}"

    @property
    def list_member(self) -> str:
        """The member of lists that has the configurations."""
        return f"{self.name}List"


METRICS = Kind("MetricsConfiguration")
ANALYTICS = Kind("AnalyticsConfiguration")
INVENTORY = Kind("InventoryConfiguration")
TIERING = Kind("IntelligentTieringConfiguration")


def put(
    tx: Transaction, caller: Caller, bucket: str, kind: Kind, id: str, configuration: Document, owner: str | None
) -> Document:
    """Keep a configuration in place of the one with the same id."""
    found = bucket_of(tx, caller, bucket, kind.write, expected_owner=owner)
    if not id:
        raise invalid_argument("Invalid ID", "id", id)
    if configuration.get("Id") != id:
        raise malformed_xml()
    present = found.settings.get(kind.name, {})
    if id not in present and len(present) >= kind.configurations_max:
        message = "You are attempting to create a new configuration but have already reached the configuration limit."
        raise ServiceError("TooManyConfigurations", message, http_status=400)
    set_setting(tx, found, kind.name, {**present, id: configuration})
    return {}


def get(tx: Transaction, caller: Caller, bucket: str, kind: Kind, id: str, owner: str | None) -> Document:
    """Return a configuration. Errors: NoSuchConfiguration."""
    found = bucket_of(tx, caller, bucket, kind.read, expected_owner=owner)
    configuration = found.settings.get(kind.name, {}).get(id)
    if configuration is None:
        raise _missing(bucket)
    return {kind.name: configuration}


def delete(tx: Transaction, caller: Caller, bucket: str, kind: Kind, id: str, owner: str | None) -> Document:
    """Delete a configuration. Errors: NoSuchConfiguration."""
    found = bucket_of(tx, caller, bucket, kind.write, expected_owner=owner)
    present = found.settings.get(kind.name, {})
    if id not in present:
        raise _missing(bucket)
    left = {name: configuration for name, configuration in present.items() if name != id}
    set_setting(tx, found, kind.name, left or None)
    return {}


def page(tx: Transaction, caller: Caller, bucket: str, kind: Kind, token: str | None, owner: str | None) -> Document:
    """List configurations by their ids. Errors: InvalidArgument."""
    found = bucket_of(tx, caller, bucket, kind.read, expected_owner=owner)
    try:
        after = decode_token(token, kind.name, bucket)
    except InvalidToken:
        message = "The continuation token provided is incorrect"
        raise invalid_argument(message, "continuation-token", str(token)) from None
    present = found.settings.get(kind.name, {})
    left = sorted(name for name in present if name > after)
    shown = left[: limits.CONFIGURATIONS_PAGE]
    answer: Document = {"IsTruncated": len(left) > len(shown), kind.list_member: [present[name] for name in shown]}
    if token is not None:
        answer["ContinuationToken"] = token
    if answer["IsTruncated"]:
        answer["NextContinuationToken"] = encode_token(shown[-1], kind.name, bucket)
    return answer


def _missing(bucket: str) -> ServiceError:
    return not_set("NoSuchConfiguration", "The specified configuration does not exist.", bucket)
