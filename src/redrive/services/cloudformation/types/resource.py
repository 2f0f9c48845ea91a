"""What a resource type is, and what its functions use.

Each type is data (its properties, its name, its attributes) and three functions that call the service's own operations:
`create`, `update`, `delete`. They run inside the transaction of a step, so a failed call leaves no changes. This module
must not know stacks: the workers decide who calls these functions, why, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.template import Node
from redrive.services.cloudformation.model.names import generate_name
from redrive.services.cloudformation.types.schema import Properties, PropertyError
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class Place:
    """Where a resource is created: the transaction, the principal, and the resource's place in the stack."""

    tx: Transaction
    caller: Caller
    stack_name: str
    stack_id: str
    logical_id: str

    @property
    def stack_uid(self) -> str:
        """The unique part of the stack's id."""
        return self.stack_id.rpartition("/")[2]

    def call(self, service: str, operation: str, **params: object) -> Document:
        """Run an operation of a service; parameters with the value None are left out. Errors: ServiceError."""
        given = {name: value for name, value in params.items() if value is not None}
        return self.tx.services.call(self.tx, self.caller, service, operation, given)

    def name(self, given: str | None, length_max: int) -> str:
        """Return the name in the template, or a generated one."""
        return given or generate_name(self.tx.entropy, self.stack_name, self.logical_id, length_max)


class ProgressFailure(PropertyError):
    """The creation or change of a resource failed; `physical_id` is its id nevertheless."""

    def __init__(self, message: str, physical_id: str) -> None:
        super().__init__(message)
        self.physical_id = physical_id


@dataclass(frozen=True, slots=True)
class Existing:
    """A resource that exists: its physical id, its properties and its attributes."""

    physical_id: str
    properties: Document
    attributes: Document


def no_warning(properties: Document) -> str:  # noqa: ARG001 -- the signature of every warning.
    """The `warn` function of most types, which have no warnings."""
    return ""


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A type. `create` and `update` return the resource afterwards; its physical id is the value of Ref.

    `name_property` is the property with which a template names the resource. `has_tags`: the resource gets the stack's
    tags. `missing` are the service's errors for a resource that does not exist. `is_pending` returns whether the
    service is still working on the resource. `warn` returns what a resource with these properties does not do here, for
    the stack's events. `is_open`: the type accepts any property, unchanged. `has_outputs`: its attributes are another
    template's outputs. `attribute_of` computes attributes that are not stored with the resource. `progress` returns the
    resource after the work on it has ended, None before. `found` returns the attributes of the resource that has a name
    already, None if there is none; without it, a resource that exists already cannot be imported by its name.

    Errors of `progress`: ServiceError, PropertyError; the work failed.
    """

    name: str
    properties: Properties
    create: Callable[[Place, Document], Existing]
    update: Callable[[Place, Existing, Document], Existing]
    delete: Callable[[Place, Existing], None]
    attributes: frozenset[str] = frozenset()
    name_property: str | None = None
    has_tags: bool = False
    missing: frozenset[str] = frozenset()
    is_pending: Callable[[Place, Existing], bool] | None = None
    warn: Callable[[Document], str] = no_warning
    is_open: bool = False
    has_outputs: bool = False
    attribute_of: Callable[[Place, str, Existing, str], Node] | None = None
    progress: Callable[[Place, Existing], Existing | None] | None = None
    found: Callable[[Place, str], Document | None] | None = None

    @property
    def has_any_attribute(self) -> bool:
        """Whether the attributes of a resource are unknown before its creation."""
        return self.is_open or self.has_outputs


def not_updatable(
    place: Place,  # noqa: ARG001 -- the signature of every update.
    existing: Existing,
    properties: Document,
) -> Existing:
    """The `update` function of types whose every change creates a new resource: does nothing."""
    return Existing(existing.physical_id, properties, existing.attributes)


def already_exists(type_name: str, identifier: str) -> ServiceError:
    """Build the error for a resource that already exists outside of the stack."""
    return ServiceError(
        "AlreadyExistsException", f"Resource of type '{type_name}' with identifier '{identifier}' already exists."
    )


def exists(place: Place, missing: frozenset[str], service: str, operation: str, **params: object) -> bool:
    """Whether a reading operation finds the resource. Errors: ServiceError, except those of a missing resource."""
    return read(place, missing, service, operation, **params) is not None


def read(place: Place, missing: frozenset[str], service: str, operation: str, **params: object) -> Document | None:
    """Return what a reading operation answers, None if the resource is missing. Errors: ServiceError, others."""
    try:
        return place.call(service, operation, **params)
    except ServiceError as error:
        if error.code in missing:
            return None
        raise


def tags_of(properties: Document) -> dict[str, str]:
    """Convert a list of tags to a mapping."""
    return {tag["Key"]: tag["Value"] for tag in properties.get("Tags", ())}


def tag_changes(old: Document, new: Document) -> tuple[dict[str, str], list[str]]:
    """Return the tags to set and the keys to remove, from the old properties to the new."""
    before, after = tags_of(old), tags_of(new)
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return changed, sorted(before.keys() - after.keys())


def changed_keys(old: Mapping[str, object], new: Mapping[str, object]) -> set[str]:
    """Return the names of the properties that differ."""
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def handler_failure(error: ServiceError | PropertyError, request_token: str) -> str:
    """Return the reason of a resource's failure, as its events show it.

    Source: https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
    """
    if isinstance(error, PropertyError):
        return error.message
    return (
        f'Resource handler returned message: "{error.message}" '
        f"(RequestToken: {request_token}, HandlerErrorCode: {_handler_code(error)})"
    )


_HANDLER_CODES = (
    ("NotFound", ("NotFound", "NoSuchEntity", "DoesNotExist", "NonExistent")),
    ("AlreadyExists", ("AlreadyExists", "NameExists", "EntityAlready", "ResourceExists", "ResourceInUse")),
    ("ResourceConflict", ("Conflict",)),
    ("AccessDenied", ("AccessDenied",)),
    ("ServiceLimitExceeded", ("LimitExceeded",)),
    ("Throttling", ("Throttl", "TooManyRequests")),
    ("InvalidRequest", ("Validation", "Invalid", "Malformed", "Missing")),
)


def _handler_code(error: ServiceError) -> str:
    for handler_code, parts in _HANDLER_CODES:
        if any(part in error.code for part in parts):
            return handler_code
    return "GeneralServiceException"
