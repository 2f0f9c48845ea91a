"""Services, operations and shapes as AWS's models describe them, in immutable types.

Holds only the part of a model that the wire needs. `files` finds and reads models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.core.errors import Bug
from redrive.wire.services import ServiceSpec


@dataclass(frozen=True, slots=True)
class ErrorTraits:
    """What the model says about an error: its HTTP status (None if not given), and its query code."""

    http_status: int | None
    query_code: str


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of a value: `min` and `max` of its length (of a number: its value), a Java pattern, an `enum`."""

    min: float | None = None
    max: float | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A type of the model. Shapes refer to one another, in cycles too, so shapes are compared by identity.

    `members` are a structure's; `parts` are a list's `member`, or a map's `key` and `value`. `payload` names the member
    that is the HTTP body; a sensitive value must not be logged. `is_current` is False if the model is older than those
    that the operations were written with. `namespace` is the prefix and the URI that a structure declares in XML.
    """

    name: str
    type: str
    constraints: Constraints
    members: Mapping[str, Member]
    parts: Mapping[str, Member]
    required: frozenset[str] = frozenset()
    is_flattened: bool = False
    is_document: bool = False
    is_sensitive: bool = False
    is_event_stream: bool = False
    payload: str | None = None
    timestamp_format: str | None = None
    error: ErrorTraits | None = None
    is_current: bool = True
    namespace: tuple[str, str] | None = None

    def refuse_member(self, name: str) -> None:
        """Handle a member that this structure lacks: an older model drops it. Errors: Bug, if the model is current."""
        if self.is_current:
            raise Bug(f"{self.name} has no member {name!r}")

    @property
    def element(self) -> Member:
        """The element of a list."""
        return self.parts["member"]

    @property
    def key(self) -> Member:
        """The key of a map."""
        return self.parts["key"]

    @property
    def value(self) -> Member:
        """The value of a map."""
        return self.parts["value"]


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A member of a structure, list or map, with its shape.

    `location` is uri, querystring, header, headers (a map, by a prefix of names) or statusCode; None means the body.
    `location_name` is the name on the wire, `query_name` the name on the query protocol; for parts of lists and maps
    both are empty unless the model sets them. `is_event_payload`: the bytes of an event of a stream are this member.
    `is_attribute`: in XML the member is an attribute. `is_streaming`: the body may be too large for the memory.
    """

    name: str
    shape: Shape
    location: str | None = None
    location_name: str = ""
    query_name: str = ""
    is_flattened: bool = False
    timestamp_format: str | None = None
    is_event_payload: bool = False
    is_attribute: bool = False
    is_streaming: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OperationModel:
    """One operation. `uri` is the template of its path with its fixed query; `success_status` is the HTTP status.

    `validation_code` is the error code for parameters that violate the model; empty if the service validates them
    itself. `is_deprecated`: another operation has the same requests.
    """

    service: str
    name: str
    method: str
    uri: str
    success_status: int
    input: Shape | None
    output: Shape | None
    errors: tuple[Shape, ...]
    result_wrapper: str
    validation_code: str
    is_deprecated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ServiceModel:
    """One service as the wire knows it: its table entry, and what its model declares."""

    spec: ServiceSpec
    api_version: str
    json_version: str = "1.0"
    is_query_compatible: bool = False
    xml_namespace: str = ""
    operations: Mapping[str, OperationModel] = field(default_factory=dict)
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    errors: Mapping[str, Shape] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The service's name in our table: `sqs`."""
        return self.spec.name
