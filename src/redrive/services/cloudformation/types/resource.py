"""What a resource type is, and what its functions work with.

Each type is data (its properties, its name, its attributes) and three functions that call the service's own operations:
`create`, `update`, `delete`. They run inside the transaction of a step, so one that fails leaves nothing behind.
It must not know stacks: who asks, what for, and when, is the workers' business.
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
    """Where a resource is made: the transaction, on whose behalf, and for which part of which stack."""

    tx: Transaction
    caller: Caller
    stack_name: str
    stack_id: str
    logical_id: str

    @property
    def stack_uid(self) -> str:
        """The stack's own part of its id."""
        return self.stack_id.rpartition("/")[2]

    def call(self, service: str, operation: str, **params: object) -> Document:
        """Run an operation of a service; absent parameters may be None. Errors: ServiceError."""
        given = {name: value for name, value in params.items() if value is not None}
        return self.tx.services.call(self.tx, self.caller, service, operation, given)

    def name(self, given: str | None, length_max: int) -> str:
        """The name that the template gives, else a generated one."""
        return given or generate_name(self.tx.entropy, self.stack_name, self.logical_id, length_max)


class ProgressFailure(PropertyError):
    """What is being made or changed has failed; `physical_id` is what it is called all the same."""

    def __init__(self, message: str, physical_id: str) -> None:
        super().__init__(message)
        self.physical_id = physical_id


@dataclass(frozen=True, slots=True)
class Existing:
    """A resource that was made: its physical id, and the properties and attributes it has."""

    physical_id: str
    properties: Document
    attributes: Document


def no_warning(properties: Document) -> str:  # noqa: ARG001 -- the signature of every warning.
    """What is said of a resource of most types: nothing."""
    return ""


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A type. `create` and `update` answer the resource as it then is; its physical id is the value of Ref.

    `name_property` is what a template may name it by. `has_tags`: the stack's tags become its own.
    `missing` are the errors by which its service says that it is gone. `is_pending` answers whether the service is
    still at work on it. `warn` says what a resource of these properties does not do here, for the stack's events.
    `is_open`: it takes any property, as written. `has_outputs`: its attributes are another
    template's outputs. `attribute_of` answers attributes that are not kept with the resource.
    `progress` answers how a resource has become once whoever works on it is done, None before that.
    Errors of `progress`: ServiceError, PropertyError; it failed.
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

    @property
    def has_any_attribute(self) -> bool:
        """Whether nobody can tell before a resource is made which attributes it will have."""
        return self.is_open or self.has_outputs


def not_updatable(
    place: Place,  # noqa: ARG001 -- the signature of every update.
    existing: Existing,
    properties: Document,
) -> Existing:
    """The update of a type of which every change makes a new resource: there is nothing to do."""
    return Existing(existing.physical_id, properties, existing.attributes)


def already_exists(type_name: str, identifier: str) -> ServiceError:
    """The refusal to take over a resource that someone else has made."""
    return ServiceError(
        "AlreadyExistsException", f"Resource of type '{type_name}' with identifier '{identifier}' already exists."
    )


def exists(place: Place, missing: frozenset[str], service: str, operation: str, **params: object) -> bool:
    """Whether a reading operation finds what it is asked for. Errors: ServiceError, other than that it is missing."""
    try:
        place.call(service, operation, **params)
    except ServiceError as error:
        if error.code in missing:
            return False
        raise
    return True


def tags_of(properties: Document) -> dict[str, str]:
    """A list of tags as a mapping."""
    return {tag["Key"]: tag["Value"] for tag in properties.get("Tags", ())}


def tag_changes(old: Document, new: Document) -> tuple[dict[str, str], list[str]]:
    """The tags to set, and the keys of those to take away, between two sets of properties."""
    before, after = tags_of(old), tags_of(new)
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return changed, sorted(before.keys() - after.keys())


def changed_keys(old: Mapping[str, object], new: Mapping[str, object]) -> set[str]:
    """The names of the properties that differ."""
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def handler_failure(error: ServiceError | PropertyError, request_token: str) -> str:
    """Why a resource failed, as its events say it.

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
    ("AlreadyExists", ("AlreadyExists", "NameExists", "EntityAlready", "ResourceInUse")),
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
