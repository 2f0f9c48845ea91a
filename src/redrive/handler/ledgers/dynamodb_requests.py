"""UpdateItem requests of the DynamoDB ledger, as pure functions; no client, no clock.

The constant parts of requests are made once, when the module is imported: a function pays for each millisecond.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from redrive.handler.clock import Instant
from redrive.handler.ledger import MESSAGE_IDS_KEPT, EffectRecord, Status, Token
from redrive.handler.ledgers.dynamodb_items import (
    FAILED,
    NAMES,
    RUNNING,
    SUCCESS,
    Item,
    begun_attempt,
    effect_values,
    to_attribute,
    to_item,
)
from redrive.handler.transitions import Claim

Request = dict[str, object]

_BEGIN = (
    "SET #status = if_not_exists(#status, :running), #token = if_not_exists(#token, :token),"
    " lease_ends_at = if_not_exists(lease_ends_at, :lease), #ttl = if_not_exists(#ttl, :ttl),"
    " first_at = if_not_exists(first_at, :now), updated_at = if_not_exists(updated_at, :now),"
    " attempts = if_not_exists(attempts, :one), history = if_not_exists(history, :history),"
    " effects = if_not_exists(effects, :no_effects), duplicates = if_not_exists(duplicates, :none_yet) + :one"
)
_IS_DUPLICATE = (
    "attribute_exists(duplicates) AND #ttl > :now_s"
    " AND (#status = :success OR #status = :running AND lease_ends_at > :now)"
)
_HAS_ROOM = "(attribute_not_exists(messages) OR contains(messages, :message_id) OR size(messages) < :messages_max)"
_FENCE = "#token = :token AND #status = :running"
_WITNESSES = ("token", "status", "updated_at")  # Each write of a run changes one of these.


def begin(claim: Claim, now: Instant, nonce: str) -> Request:
    """Write a new execution, or count a duplicate of an execution that runs or is done; refused if it is neither.

    The answer has the new item, whose token is this nonce if the execution is new.
    """
    values = {
        **_BEGINNING_VALUES, ":token": {"S": nonce}, ":lease": {"N": str(claim.lease_ends_at(now))},
        ":ttl": {"N": str(claim.expires_at(now) // 1000)}, ":now": {"N": str(now)}, ":now_s": {"N": str(now // 1000)},
        ":history": {"L": [begun_attempt(now, claim.source, claim.message_id)]},
    }  # fmt: skip
    if claim.payload_hash is not None:
        values[":hash"] = {"S": claim.payload_hash}
    if claim.function_name is not None:
        values[":function"] = {"S": claim.function_name}
    if claim.message_id is not None:
        values |= _message_values(claim.message_id)
    shared = _BEGINNINGS[claim.payload_hash is not None, claim.message_id is not None, claim.function_name is not None]
    return {**shared, "Key": key_of(claim.key), "ExpressionAttributeValues": values}


def change(old: Item, new: Item) -> Request:
    """Replace one form of an item by another, if no run has written since."""
    changed = [name for name in new if new[name] != old.get(name)]
    removed = [name for name in old if name not in new]
    places = {name: f"n{number}" for number, name in enumerate([*changed, *removed])}
    update = "SET " + ", ".join(f"#{places[name]} = :{places[name]}" for name in changed)
    if removed:
        update += " REMOVE " + ", ".join(f"#{places[name]}" for name in removed)
    known = {f":was_{name}": old[name] for name in _WITNESSES if name in old}
    condition = " AND ".join(
        f"#was_{name} = :was_{name}" if name in old else f"attribute_not_exists(#was_{name})" for name in _WITNESSES
    )
    return {
        "Key": {"execution_id": old["execution_id"]},
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {f"#{place}": name for name, place in places.items()}
        | {f"#was_{name}": name for name in _WITNESSES},
        "ExpressionAttributeValues": {f":{places[name]}": new[name] for name in changed} | known,
    }


def duplicate(key: str, message_id: str | None) -> Request:
    """Count a duplicate of an existing execution; refused if there is no room for more messages."""
    update, condition = "ADD duplicates :one", "attribute_exists(execution_id)"
    values = to_item({":one": 1})
    if message_id is not None:
        update += ", messages :message"
        condition += f" AND {_HAS_ROOM}"
        values |= _message_values(message_id)
    return _request(key, update, condition, values)


def end(token: Token, status: Status, now: Instant, text: str) -> Request:
    """Record the end of a run: result or error, at its index of the history; refused if a later run exists."""
    attempt = f"history[{token.place}]"
    is_success = status is Status.SUCCESS
    place = "#result" if is_success else f"{attempt}.#error"
    return {
        "Key": key_of(token.key),
        "UpdateExpression": f"SET #status = :status, updated_at = :now, {place} = :text,"
        f" {attempt}.outcome = :status, {attempt}.ended_at = :now",
        "ConditionExpression": _FENCE,
        "ExpressionAttributeNames": _NAMES_TO_SUCCEED if is_success else _NAMES_TO_FAIL,
        "ExpressionAttributeValues": {
            ":status": SUCCESS if is_success else FAILED, ":now": {"N": str(now)}, ":text": {"S": text},
            ":token": {"S": token.nonce}, ":running": RUNNING,
        },
    }  # fmt: skip


def note_effect(token: Token, effect: EffectRecord, now: Instant) -> Request:
    """Store an effect of a run, replacing the effect of the same name; refused if a later run exists."""
    update = "SET effects.#effect = :effect, updated_at = :now"
    noted = to_attribute(effect_values(effect))
    values = {":effect": noted, ":now": {"N": str(now)}, ":token": {"S": token.nonce}, ":running": RUNNING}
    return _request(token.key, update, _FENCE, values, {"#effect": effect.name})


def swap_cell(key: str, version: int, text: str) -> Request:
    """Write a cell if its version is still this one."""
    condition = "version = :version" if version else "attribute_not_exists(version)"
    values = to_item({":next": version + 1, ":text": text, ":version": version or None})
    return _request(key, "SET version = :next, #text = :text", condition, values, {"#text": "text"})


def key_of(key: str) -> dict[str, object]:
    """The key of an execution's item."""
    return {"execution_id": {"S": key}}


def _request(
    key: str, update: str, condition: str, values: Mapping[str, object], names: Mapping[str, str] | None = None
) -> Request:
    used = {**_names_in(update, condition), **(names or {})}
    return {
        "Key": key_of(key),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeValues": values,
        **({"ExpressionAttributeNames": used} if used else {}),
    }


def _names_in(*expressions: str) -> dict[str, str]:
    """The placeholders for reserved names in expressions, which DynamoDB requires."""
    together = " ".join(expressions)
    return {placeholder: name for placeholder, name in NAMES.items() if placeholder in together}


def _message_values(message_id: str) -> dict[str, object]:
    text = {"S": message_id}
    return {":message": {"SS": [message_id]}, ":message_id": text, ":messages_max": {"N": str(MESSAGE_IDS_KEPT)}}


def _beginning(has_hash: bool, has_message: bool, has_function: bool) -> Request:
    """The constant part of all requests to begin, with or without these. A duplicate adds only its message."""
    update, is_duplicate = _BEGIN, _IS_DUPLICATE
    if has_hash:
        update += ", payload_hash = if_not_exists(payload_hash, :hash)"
        is_duplicate += " AND attribute_exists(payload_hash)"
    if has_function:
        update += ", function_name = if_not_exists(function_name, :function)"
        is_duplicate += " AND attribute_exists(function_name)"
    if has_message:
        update += " ADD messages :message"
        is_duplicate += f" AND {_HAS_ROOM}"
    condition = f"attribute_not_exists(execution_id) OR ({is_duplicate})"
    return {
        "UpdateExpression": update, "ConditionExpression": condition, "ReturnValues": "ALL_NEW",
        "ExpressionAttributeNames": _names_in(update, condition),
    }  # fmt: skip


_BEGINNINGS = {has: _beginning(*has) for has in product((False, True), repeat=3)}
_BEGINNING_VALUES = to_item(
    {":running": Status.RUNNING, ":success": Status.SUCCESS, ":one": 1, ":none_yet": -1, ":no_effects": {}}
)
_NAMES_TO_SUCCEED, _NAMES_TO_FAIL = _names_in(_FENCE, "#result"), _names_in(_FENCE, "#error")
