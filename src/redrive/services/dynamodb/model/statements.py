"""Statements of PartiQL on a table: what a write makes of an item, rows of a SELECT, tokens, errors in a batch.

languages/partiql parses statements; here are the rules that need a table's key.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
    AttributeValue,
    Condition,
    Item,
    Path,
    apply_update,
    check_item_size,
    check_updated_size,
    dump_item,
    encode_key,
    holds,
    load_item,
    lookup,
    project_paths,
    touched_paths,
)
from redrive.languages.partiql import (
    Delete,
    Exists,
    Insert,
    Keys,
    Reach,
    Returning,
    Select,
    Statement,
    UpdateStatement,
    full_key_of,
)
from redrive.services.dynamodb.model.entries import check_index_keys
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.items import check_key_kept, failed_condition, is_key, key_of_item, read_key
from redrive.services.dynamodb.model.requests import attributes_of
from redrive.services.dynamodb.model.table import Table, invalid, invalid_parameter
from redrive.store.tables.items import ItemKey

PERMISSIONS: Mapping[type, str] = {
    Select: "PartiQLSelect", Insert: "PartiQLInsert", UpdateStatement: "PartiQLUpdate", Delete: "PartiQLDelete",
    Exists: "PartiQLSelect",
}  # fmt: skip
"""The permission that each kind of statement requires. Source:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html"""

_BATCH_CODES = {
    "ValidationException": "ValidationError",
    "ResourceNotFoundException": "ResourceNotFound",
    "DuplicateItemException": "DuplicateItem",
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "AccessDeniedException": "AccessDenied",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ItemCollectionSizeLimitExceededException": "ItemCollectionSizeLimitExceeded",
}

RAN_CODES = frozenset({"DuplicateItemException", "ConditionalCheckFailedException"})
"""The errors of statements that have run: their answers in a batch tell the table."""


@dataclass(frozen=True, slots=True)
class Write:
    """An INSERT, UPDATE, DELETE or EXISTS on one item. `given` is the whole item of an INSERT, otherwise the key."""

    statement: Insert | UpdateStatement | Delete | Exists
    table: Table
    given: Item
    condition: Condition | None
    on_failure: str | None

    def key(self) -> ItemKey:
        """Return the item's key. Errors: ValidationException for a key or an item that the table cannot have."""
        if isinstance(self.statement, Insert):
            check_item_size(self.given)
            key = key_of_item(self.table, self.given)
            check_index_keys(self.table, self.given)
            return key
        if isinstance(self.statement, UpdateStatement):
            check_key_kept(self.table, self.statement.update)
        _, key = read_key(self.table, self.given)
        return key

    def outcome(self, old: Item | None) -> Item | None:
        """Return the item after the statement, None if there is none.

        Errors: DuplicateItemException; ConditionalCheckFailedException; ValidationException for an update that cannot
        be applied.
        """
        match self.statement:
            case Insert():
                if old is not None:
                    raise ServiceError("DuplicateItemException", "Duplicate primary key exists in table")
                return self.given
            case UpdateStatement(update=update):
                new = apply_update(update, self._required(old))
                check_updated_size(new)
                check_index_keys(self.table, new, old)
                return new
            case Delete():
                if old is not None:
                    self._required(old)
                return None
            case Exists():
                return self._required(old)

    def returned(self, old: Item | None, new: Item | None) -> Item | None:
        """Return what RETURNING asks for; None if there is nothing."""
        if not isinstance(self.statement, UpdateStatement | Delete):
            return None
        match self.statement.returning:
            case Returning.ALL_OLD:
                return old
            case Returning.ALL_NEW:
                return new
            case Returning.MODIFIED_OLD | Returning.MODIFIED_NEW as returning:
                assert isinstance(self.statement, UpdateStatement), "a DELETE returns ALL OLD"
                item = old if returning is Returning.MODIFIED_OLD else new
                return project_paths(touched_paths(self.statement.update), item or {}) or None
            case None:
                return None

    def _required(self, old: Item | None) -> Item:
        if old is None or (self.condition is not None and not holds(self.condition, old)):
            raise failed_condition(old, self.on_failure)
        return old


def write_of(
    statement: Insert | UpdateStatement | Delete | Exists, table: Table, on_failure: str | None = None
) -> Write:
    """Return the write of one item. Errors: ValidationException if the WHERE clause does not have the whole key."""
    if isinstance(statement, Insert):
        return Write(statement, table, statement.item, None, on_failure)
    where = statement.select.where if isinstance(statement, Exists) else statement.where
    found = full_key_of(where, table.key_names)
    if found is None:
        raise invalid("Where clause does not contain a mandatory equality on all key attributes")
    return Write(statement, table, found[0], found[1], on_failure)


def table_keys(table: Table) -> Keys:
    """Return the key of a table, as languages/partiql looks for it in WHERE clauses."""
    range_type = None if table.range_key is None else table.attributes[table.range_key]
    return Keys(table.hash_key, table.attributes[table.hash_key], table.range_key, range_type)


def index_keys(table: Table, index: Index) -> Keys | None:
    """Return the key of an index; None if it has more than one hash key or range key, which only Query can use."""
    if len(index.hash_keys) != 1 or len(index.range_keys) > 1:
        return None
    hash_key, range_key = index.hash_keys[0], (*index.range_keys, None)[0]
    range_type = None if range_key is None else table.attributes[range_key]
    return Keys(hash_key, table.attributes[hash_key], range_key, range_type)


def check_projected(select: Select, index: Index) -> None:
    """Refuse attributes that an index does not have: in the WHERE clause, and of a global index in the SELECT list.

    Errors: ValidationException.
    """
    wanted = () if select.where is None else dict.fromkeys(attributes_of(select.where))
    missing = [name for name in wanted if not index.contains(name)]
    if missing:
        raise invalid_parameter(
            f"Secondary index {index.name} does not project one or more filter attributes: [{', '.join(missing)}]"
        )
    shown = dict.fromkeys(path.attribute for path in select.projection or ())
    missing = [name for name in shown if not index.contains(name)]
    if missing and index.is_global:
        raise invalid_parameter(f"Global secondary index {index.name} does not project [{', '.join(missing)}]")


def row_of(projection: Sequence[Path] | None, item: Item) -> Item:
    """Return what a SELECT shows of an item: each path under its last name, with the indexes behind that name."""
    if projection is None:
        return item
    found = [(_shown_name(path), lookup(item, path)) for path in projection]
    return {name: value for name, value in found if value is not None}


def check_order(select: Select, keys: Keys, reaches: Sequence[Reach] | None) -> None:
    """Refuse an ORDER BY that no index of keys can answer. Errors: ValidationException."""
    if not select.order:
        return
    if select.where is None:
        raise invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
    if reaches is None:
        raise invalid("ORDER BY needs a WHERE clause that gives the partition key by =, IN or OR")
    names = [term.path.attribute if len(term.path.elements) == 1 else str(term.path) for term in select.order]
    for name in names:
        if name not in (keys.hash_key, keys.range_key):
            raise invalid(f"ORDER BY takes key attributes only, and {name} is none")
    if len(reaches) > 1 and names[0] != keys.hash_key:
        raise invalid(f"ORDER BY with several partition keys has to begin with the partition key {keys.hash_key}")


def ordered(select: Select, keys: Keys, reaches: Sequence[Reach]) -> tuple[Sequence[Reach], bool]:
    """Return the queries in the order of the SELECT, and whether each goes forward through its sort keys."""
    backwards = {term.path.attribute: term.descending for term in select.order}
    if keys.hash_key in backwards:
        reaches = sorted(
            reaches, key=lambda reach: encode_key(reach.key.hash_value), reverse=backwards[keys.hash_key]
        )  # fmt: skip
    return reaches, not backwards.get(keys.range_key or "", False)


def next_token(last: Item) -> str:
    """Return the token for the page after this key."""
    return base64.urlsafe_b64encode(dump_item(last)).decode("ascii")


def read_token(token: str, table: Table) -> dict[str, AttributeValue]:
    """Return the key in a token. Errors: ValidationException for a token of another table, or none of ours."""
    try:
        key = load_item(base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True))
        is_whole = is_key(table, {name: key[name] for name in table.key_names})
    except (binascii.Error, ValueError, KeyError, AttributeError, TypeError, StopIteration):
        raise invalid("Invalid NextToken") from None
    if not is_whole:
        raise invalid("The provided starting key is invalid")
    return key


def batch_error(error: ServiceError) -> Document:
    """Return the Error of a statement in a batch."""
    return {"Code": _BATCH_CODES.get(error.code, error.code.removesuffix("Exception")), "Message": error.message}


def in_transaction(place: int, error: ServiceError) -> ServiceError:
    """Return the error of a statement that makes its whole transaction invalid."""
    if error.code != "ValidationException":
        return error
    return invalid(f"Validation failed in TransactStatements[{place}]: {error.message}")


def check_transactional(statement: Statement) -> None:
    """Refuse what a transaction does not take. Errors: ValidationException."""
    if isinstance(statement, UpdateStatement | Delete) and statement.returning is not None:
        raise invalid("RETURNING clause is not supported in ExecuteTransaction.")
    if statement.source.index is not None:
        raise invalid("Reads on indices are not supported within transactions.")


def _shown_name(path: Path) -> str:
    at = max(place for place, element in enumerate(path.elements) if isinstance(element, str))
    return str(path.elements[at]) + "".join(f"[{index}]" for index in path.elements[at + 1 :])
