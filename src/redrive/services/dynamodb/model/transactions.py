"""The actions of TransactWriteItems, the reasons of a cancelled transaction, and the digests for request tokens."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.languages.dynamo import (
    Condition,
    Item,
    Placeholders,
    Update,
    apply_update,
    check_expressions_given,
    check_item_size,
    check_updated_size,
    creates_item,
    holds,
    item_size,
    parse_condition,
    parse_update,
    read_item,
)
from redrive.services.dynamodb.model.entries import check_index_keys
from redrive.services.dynamodb.model.items import check_key_kept, failed_condition, key_of_item, read_key
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.store.tables.items import ItemKey

PERMISSIONS = {
    "ConditionCheck": "ConditionCheckItem",
    "Put": "PutItem",
    "Delete": "DeleteItem",
    "Update": "UpdateItem",
}
"""The permission that each kind of action requires."""

NOT_TO_BLAME: Document = {"Code": "None"}
"""The cancellation reason of an action that did not fail."""


@dataclass(frozen=True, slots=True)
class Action:
    """One requested action.

    `given` is the item of a Put, or the key of another action; `size` counts all values in bytes.
    """

    kind: str
    table_name: str
    given: Item
    condition: Condition | None
    update: Update | None
    on_failure: str | None
    size_bytes: int

    def key(self, table: Table) -> ItemKey:
        """Return the key of the action's item. Errors: ValidationException for a key that the table cannot have."""
        if self.kind == "Put":
            check_item_size(self.given)
            check_index_keys(table, self.given)
            return key_of_item(table, self.given)
        if self.update is not None:
            check_key_kept(table, self.update)
        _, key = read_key(table, self.given)
        return key

    def outcome(self, table: Table, old: Item | None) -> Item | None:
        """Return the item after the action, None if there is none.

        Errors: ConditionalCheckFailedException; ValidationException for an update that cannot be applied.
        """
        if self.condition is not None and not holds(self.condition, old or {}):
            raise failed_condition(old, self.on_failure)
        if self.kind == "Put":
            return self.given
        if self.kind == "Delete":
            return None
        if self.update is None or (old is None and not creates_item(self.update)):
            return old
        new = apply_update(self.update, self.given if old is None else old)
        check_updated_size(new)
        check_index_keys(table, new, old)
        return new


def read_action(entry: Document) -> Action:
    """Parse an element of TransactItems with its expressions. Errors: ValidationException."""
    asked = [(kind, request) for kind, request in entry.items() if request is not None]
    if len(asked) != 1:
        raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")
    ((kind, request),) = asked
    names, values = request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    update_text, condition_text = request.get("UpdateExpression"), request.get("ConditionExpression")
    texts = {"UpdateExpression": update_text} if kind == "Update" else {}
    texts["ConditionExpression"] = condition_text
    check_expressions_given(names, values, texts, texts)
    placeholders = Placeholders(names, values)
    update = None if update_text is None else parse_update(update_text, placeholders)
    condition = None if condition_text is None else parse_condition(condition_text, placeholders)
    placeholders.check_all_used()
    given = read_item(request["Item" if kind == "Put" else "Key"])
    return Action(
        kind, request["TableName"], given, condition, update, request.get("ReturnValuesOnConditionCheckFailure"),
        item_size(given) + item_size(placeholders.values),
    )  # fmt: skip


_REASONS = {
    "ValidationException": "ValidationError",
    "ItemCollectionSizeLimitExceededException": "ItemCollectionSizeLimitExceeded",
}


def blame(error: ServiceError) -> Document:
    """Return the cancellation reason for an action that failed with this error."""
    return {"Code": _REASONS.get(error.code, "ConditionalCheckFailed"), "Message": error.message, **error.members}


def blamed(place: int, error: ServiceError, count: int) -> ServiceError:
    """Build the error of a transaction with `count` actions, of which one failed."""
    return cancelled([blame(error) if number == place else NOT_TO_BLAME for number in range(count)])


def cancelled(reasons: Sequence[Document]) -> ServiceError:
    """Build the error of a cancelled transaction, with a reason for each action."""
    codes = ", ".join(reason["Code"] for reason in reasons)
    return ServiceError(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        members={"CancellationReasons": list(reasons)},
    )


def digest_of(transact_items: Sequence[Document]) -> str:
    """Return a digest that identifies a transaction; the order of members within an action does not matter."""
    text = json.dumps(transact_items, sort_keys=True, default=lambda binary: base64.b64encode(binary).decode())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
