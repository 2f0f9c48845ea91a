"""Secondary indexes: their stored form. An index's entries are rows of the items' table under the index's id."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from redrive.services.dynamodb.model.billing import Billing


class IndexKind(Enum):
    """A local index shares the table's hash key and throughput; a global one has both of its own."""

    LOCAL = "LOCAL"
    GLOBAL = "GLOBAL"


class ProjectionType(Enum):
    """Which attributes of the table's items an index contains; the keys of both are always among them."""

    ALL = "ALL"
    KEYS_ONLY = "KEYS_ONLY"
    INCLUDE = "INCLUDE"


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index. `id` distinguishes it from an earlier index of the same name.

    A global index has up to four hash keys and up to four range keys. `projected` are the names of all attributes
    that the index contains; it is empty for ALL. `billing` is None for a local index. While `is_filling`, entries of
    items that were written before the index was created are missing.
    """

    name: str
    id: str
    kind: IndexKind
    hash_keys: tuple[str, ...]
    range_keys: tuple[str, ...]
    projection: ProjectionType
    included: tuple[str, ...] = ()
    projected: tuple[str, ...] = ()
    billing: Billing | None = None
    is_filling: bool = False

    @property
    def is_global(self) -> bool:
        """Whether the index is a global one."""
        return self.kind is IndexKind.GLOBAL

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the index's own key attributes, the hash keys first."""
        return self.hash_keys + self.range_keys

    def contains(self, attribute: str) -> bool:
        """Whether the entries of the index have this attribute if the items have it."""
        return self.projection is ProjectionType.ALL or attribute in self.projected
