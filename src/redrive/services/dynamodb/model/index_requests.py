"""Check and parse the indexes that CreateTable and UpdateTable define. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from redrive.core.clock import Instant
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.billing import Billing, BillingMode
from redrive.services.dynamodb.model.index import Index, IndexKind, ProjectionType
from redrive.services.dynamodb.model.table import invalid, invalid_parameter
from redrive.services.dynamodb.model.table_requests import (
    Keys,
    KeySchemaElement,
    Throughput,
    change_billing,
    check_defined,
    check_schema,
    limit_on_demand,
    warm_up,
)


class ProjectionRequest(TypedDict, total=False):
    """Projection."""

    ProjectionType: str
    NonKeyAttributes: Sequence[str]


class _Required(TypedDict):
    IndexName: str
    KeySchema: Sequence[KeySchemaElement]
    Projection: ProjectionRequest


class IndexRequest(_Required, total=False):
    """A member of LocalSecondaryIndexes or GlobalSecondaryIndexes, or the Create of an update."""

    ProvisionedThroughput: Throughput
    OnDemandThroughput: Mapping[str, int]
    WarmThroughput: Mapping[str, int]


def read_indexes(
    keys: Keys,
    local: Sequence[IndexRequest] | None,
    global_: Sequence[IndexRequest] | None,
    table_billing: Billing,
    *,
    new_id: Callable[[], str],
    now: Instant,
) -> tuple[Index, ...]:
    """Return the indexes of a new table with this primary key. Errors: ValidationException."""
    _check_count("LocalSecondaryIndexes", local, limits.LOCAL_INDEXES_MAX)
    _check_count("GlobalSecondaryIndexes", global_, limits.GLOBAL_INDEXES_MAX)
    table_keys = (keys.hash_key,) if keys.range_key is None else (keys.hash_key, keys.range_key)
    if local and keys.range_key is None:
        raise invalid_parameter(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
        )
    indexes = [read_local_index(table_keys, asked, new_id()) for asked in local or ()]
    indexes += [read_global_index(table_keys, asked, new_id(), table_billing, now) for asked in global_ or ()]
    names = [index.name for index in indexes]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise invalid_parameter(f"Duplicate index name: {name}")
    for index in indexes:
        check_defined(index.key_names, keys.attributes)
    check_included(indexes)
    return tuple(indexes)


def read_local_index(table_keys: Sequence[str], asked: IndexRequest, index_id: str) -> Index:
    """Return a local index of a new table. Errors: ValidationException."""
    name, schema = asked["IndexName"], asked["KeySchema"]
    check_schema(schema)
    names = tuple(element["AttributeName"] for element in schema)
    if names[0] != table_keys[0]:
        raise invalid_parameter(
            "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
            f"{name}. index hash key: {names[0]}, table hash key: {table_keys[0]}"
        )
    if len(names) == 1:
        raise invalid_parameter(f"Index KeySchema does not have a range key for index: {name}")
    return _index(asked, index_id, IndexKind.LOCAL, names[:1], names[1:], table_keys, None)


def read_global_index(
    table_keys: Sequence[str], asked: IndexRequest, index_id: str, table_billing: Billing, now: Instant
) -> Index:
    """Return a global index. Errors: ValidationException."""
    hash_keys, range_keys = _read_schema(asked["KeySchema"])
    billing = _new_billing(asked, table_billing, now)
    return _index(asked, index_id, IndexKind.GLOBAL, hash_keys, range_keys, table_keys, billing)


def check_included(indexes: Sequence[Index]) -> None:
    """Refuse more than 100 attributes that indexes include by name, counted for each index.

    Errors: ValidationException.
    """
    count = sum(len(index.included) for index in indexes)
    if count > limits.INCLUDED_ATTRIBUTES_MAX:
        raise invalid_parameter(
            f"Number of projected attributes in all indexes exceeds limit of {limits.INCLUDED_ATTRIBUTES_MAX}"
        )


def _read_schema(schema: Sequence[KeySchemaElement]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hash keys and the range keys of a global index. Errors: ValidationException."""
    names = [element["AttributeName"] for element in schema]
    kinds = [element["KeyType"] for element in schema]
    hashes = kinds.count("HASH")
    if len(schema) <= limits.KEY_ELEMENTS_MAX and hashes < len(schema):
        check_schema(schema)
    if hashes == 0 or kinds[0] != "HASH":
        raise invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if "HASH" in kinds[hashes:] or "RANGE" in kinds[:hashes]:
        raise invalid("Invalid KeySchema: all HASH key elements must come before the RANGE key elements")
    if len(set(names)) != len(names):
        raise invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    most = limits.INDEX_KEY_ATTRIBUTES_MAX
    if hashes > most or len(names) - hashes > most:
        raise invalid(f"Invalid KeySchema: at most {most} HASH and {most} RANGE key elements are allowed")
    return tuple(names[:hashes]), tuple(names[hashes:])


def _index(
    asked: IndexRequest,
    index_id: str,
    kind: IndexKind,
    hash_keys: tuple[str, ...],
    range_keys: tuple[str, ...],
    table_keys: Sequence[str],
    billing: Billing | None,
) -> Index:
    projection, included = _read_projection(asked["Projection"])
    projected: tuple[str, ...] = ()
    if projection is not ProjectionType.ALL:
        projected = tuple(dict.fromkeys((*hash_keys, *range_keys, *table_keys, *included)))
    return Index(
        asked["IndexName"], index_id, kind, hash_keys, range_keys, projection, included, projected, billing
    )  # fmt: skip


def _read_projection(asked: ProjectionRequest) -> tuple[ProjectionType, tuple[str, ...]]:
    name, included = asked.get("ProjectionType"), asked.get("NonKeyAttributes")
    if name is None:
        raise invalid_parameter("Unknown ProjectionType: null")
    if name == "INCLUDE" and included is None:
        raise invalid_parameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if name != "INCLUDE" and included is not None:
        raise invalid_parameter(f"ProjectionType is {name}, but NonKeyAttributes is specified")
    names = tuple(included or ())
    if len(set(names)) != len(names):
        raise invalid_parameter("Duplicate attribute name in NonKeyAttributes")
    return ProjectionType(name), names


def _new_billing(asked: IndexRequest, table_billing: Billing, now: Instant) -> Billing:
    """Return the throughput settings of a new global index. Errors: ValidationException."""
    throughput, name = asked.get("ProvisionedThroughput"), asked["IndexName"]
    if table_billing.mode is BillingMode.PAY_PER_REQUEST and throughput is not None:
        raise invalid_parameter(
            f"ProvisionedThroughput should not be specified for index: {name} when BillingMode is PAY_PER_REQUEST"
        )
    if table_billing.mode is BillingMode.PROVISIONED and throughput is None:
        raise invalid_parameter(f"ProvisionedThroughput must be specified for index: {name}")
    billing = change_billing(Billing(), table_billing.mode.value, throughput, now)
    return warm_up(limit_on_demand(billing, asked.get("OnDemandThroughput")), asked.get("WarmThroughput"))


def _check_count(several: str, asked: Sequence[IndexRequest] | None, most: int) -> None:
    if asked is None:
        return
    if not asked:
        raise invalid_parameter(f"List of {several} is empty")
    if len(asked) > most:
        raise invalid_parameter(f"Number of {several} exceeds per-table limit of {most}")
