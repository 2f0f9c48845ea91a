"""Check and apply GlobalSecondaryIndexUpdates of UpdateTable. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.billing import BillingMode
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.index_requests import (
    IndexRequest,
    check_included,
    read_global_index,
)
from redrive.services.dynamodb.model.table import Table, invalid_parameter, not_found
from redrive.services.dynamodb.model.table_requests import (
    AttributeDefinition,
    Throughput,
    change_billing,
    check_defined,
    limit_on_demand,
    read_definitions,
    warm_up,
)


class _Named(TypedDict):
    IndexName: str


class UpdateRequest(_Named, total=False):
    """The Update of an update."""

    ProvisionedThroughput: Throughput
    OnDemandThroughput: Mapping[str, int]
    WarmThroughput: Mapping[str, int]


class IndexUpdate(TypedDict, total=False):
    """A member of GlobalSecondaryIndexUpdates: one of these."""

    Create: IndexRequest
    Update: UpdateRequest
    Delete: _Named


@dataclasses.dataclass(frozen=True, slots=True)
class Changed:
    """A table after the changes of its indexes, and what changed. A created index is not filled yet."""

    table: Table
    created: Index | None = None
    deleted: Index | None = None
    updated: frozenset[str] = frozenset()
    switched: frozenset[str] = frozenset()
    """The indexes that have their throughput already, because the billing mode of the table has changed."""


def change_indexes(
    table: Table,
    updates: Sequence[IndexUpdate],
    definitions: Sequence[AttributeDefinition] | None,
    *,
    old_mode: BillingMode,
    new_id: Callable[[], str],
    now: Instant,
) -> Changed:
    """Apply updates to the indexes of a table, whose own throughput has changed already, from `old_mode`.

    `definitions` may define more than is needed. At most one index is created or deleted at a time.
    Errors: ValidationException; LimitExceededException; ResourceNotFoundException for an unknown index.
    """
    if updates:
        _check_updates(table, updates)
    defined = _defined(table, definitions)
    changed = Changed(table)
    if table.billing.mode is not old_mode:
        changed = _switched(table, updates, now)
    for update in updates:
        match update:
            case {"Create": asked}:
                changed = _created(changed, asked, defined, new_id(), now)
            case {"Delete": {"IndexName": name}}:
                changed = _deleted(changed, name)
            case {"Update": asked}:
                changed = _updated(changed, asked, now)
    return changed


def _switched(table: Table, updates: Sequence[IndexUpdate], now: Instant) -> Changed:
    """Return the table with its global indexes in the billing mode that the table has changed to.

    Errors: ValidationException if provisioned indexes get no throughput.
    """
    mode = table.billing.mode
    asked = [update["Update"] for update in updates if update.get("Update") is not None]
    throughputs = {update["IndexName"]: update.get("ProvisionedThroughput") for update in asked}
    indexes = []
    for index in table.indexes:
        if index.billing is None:
            indexes.append(index)
            continue
        throughput = throughputs.get(index.name)
        if mode is BillingMode.PROVISIONED and throughput is None:
            raise invalid_parameter(f"ProvisionedThroughput must be specified for index: {index.name}")
        billing = change_billing(index.billing, mode.value, throughput, now)
        indexes.append(dataclasses.replace(index, billing=billing))
    switched = frozenset(index.name for index in indexes if mode is BillingMode.PROVISIONED)
    return Changed(dataclasses.replace(table, indexes=tuple(indexes)), switched=switched)


def _check_updates(table: Table, updates: Sequence[IndexUpdate]) -> None:
    """Refuse updates that say nothing, name an index twice, or create and delete several indexes."""
    names: list[str] = []
    for update in updates:
        given = [asked for asked in update.values() if asked is not None]
        if len(given) != 1:
            raise invalid_parameter(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        names.append(_name_of(update))
        if names[-1] in names[:-1]:
            raise invalid_parameter(
                f"Only one global secondary index update per index is allowed simultaneously. Index: {names[-1]}"
            )
    online = [_name_of(update) for update in updates if update.get("Update") is None]
    filling = {index.name for index in table.indexes if index.is_filling}
    if len(online) > 1 or (online and filling - set(online)):
        raise ServiceError(
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )


def _name_of(update: IndexUpdate) -> str:
    asked = update.get("Create") or update.get("Update") or update.get("Delete")
    assert asked is not None
    return asked["IndexName"]


def _created(changed: Changed, asked: IndexRequest, defined: Mapping[str, str], index_id: str, now: Instant) -> Changed:
    table = changed.table
    if table.find_index(asked["IndexName"]) is not None:
        raise invalid_parameter(f"Index {asked['IndexName']} already exists")
    index = read_global_index(table.key_names, asked, index_id, table.billing, now)
    check_defined(index.key_names, defined)
    index = dataclasses.replace(index, is_filling=True)
    indexes = (*table.indexes, index)
    if sum(one.is_global for one in indexes) > limits.GLOBAL_INDEXES_MAX:
        raise invalid_parameter(
            f"Number of GlobalSecondaryIndexes exceeds per-table limit of {limits.GLOBAL_INDEXES_MAX}"
        )
    check_included(indexes)
    attributes = {**table.attributes, **{name: defined[name] for name in index.key_names}}
    table = dataclasses.replace(table, indexes=indexes, attributes=attributes)
    return dataclasses.replace(changed, table=table, created=index)


def _deleted(changed: Changed, name: str) -> Changed:
    """Return the change without an index, and without the definitions that only the index needs."""
    table = changed.table
    index = _global_index(table, name)
    indexes = tuple(one for one in table.indexes if one is not index)
    used = {*table.key_names, *(key for one in indexes for key in one.key_names)}
    attributes = {key: type_name for key, type_name in table.attributes.items() if key in used}
    table = dataclasses.replace(table, indexes=indexes, attributes=attributes)
    return dataclasses.replace(changed, table=table, deleted=index)


def _updated(changed: Changed, asked: UpdateRequest, now: Instant) -> Changed:
    table, name = changed.table, asked["IndexName"]
    index = _global_index(table, name)
    billing, throughput = index.billing, asked.get("ProvisionedThroughput")
    assert billing is not None, "a global index has settings of its own"
    if throughput is not None and billing.mode is BillingMode.PAY_PER_REQUEST:
        raise invalid_parameter(
            f"ProvisionedThroughput should not be specified for index: {name} when BillingMode is PAY_PER_REQUEST"
        )
    if throughput is not None and name not in changed.switched:
        billing = change_billing(billing, None, throughput, now, of=f"index {name}")
    billing = warm_up(limit_on_demand(billing, asked.get("OnDemandThroughput")), asked.get("WarmThroughput"))
    updated = dataclasses.replace(index, billing=billing)
    indexes = tuple(updated if one is index else one for one in table.indexes)
    table = dataclasses.replace(table, indexes=indexes)
    return dataclasses.replace(changed, table=table, updated=changed.updated | {name})


def _global_index(table: Table, name: str) -> Index:
    """Return the global index with this name.

    Errors: ResourceNotFoundException; ValidationException for a local index.
    """
    index = table.find_index(name)
    if index is None:
        raise not_found()
    if not index.is_global:
        raise invalid_parameter(f"Local secondary indexes cannot be changed or deleted. Index: {name}")
    return index


def _defined(table: Table, definitions: Sequence[AttributeDefinition] | None) -> Mapping[str, str]:
    """Return the types of the table's key attributes and of those that a request defines.

    Errors: ValidationException for another type of an attribute that is a key already.
    """
    defined = read_definitions(definitions or ())
    for name, type_name in defined.items():
        known = table.attributes.get(name, type_name)
        if known != type_name:
            kind = "HASH" if name == table.hash_key or _is_hash_of_index(table, name) else "RANGE"
            old, new = (f"Schema:[SchemaElement: key{{{name}:{of}:{kind}}}]" for of in (known, type_name))
            raise invalid_parameter(
                "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
                f"defined. Existing schema: {old} New schema: {new}"
            )
    return {**table.attributes, **defined}


def _is_hash_of_index(table: Table, name: str) -> bool:
    return name != table.range_key and any(name in index.hash_keys for index in table.indexes)
