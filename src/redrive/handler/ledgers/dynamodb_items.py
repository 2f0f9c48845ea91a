"""How a record is written as a DynamoDB item, and read back; no client, no clock.

The table is keyed by `execution_id` (a string) and may have its time to live on `ttl`. Attributes that are not ours are
left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict, cast

from redrive.handler.ledger import Attempt, EffectRecord, Record, Status

Item = Mapping[str, object]

# A name for each attribute in expressions: half of them are reserved words.
NAMES = {
    "#id": "execution_id", "#status": "status", "#token": "token", "#first": "first_at", "#updated": "updated_at",
    "#lease": "lease_ends_at", "#ttl": "ttl", "#hash": "payload_hash", "#result": "result", "#made": "attempts",
    "#history": "history", "#duplicates": "duplicates", "#messages": "messages", "#effects": "effects",
    "#outcome": "outcome", "#ended": "ended_at", "#error": "error",
}  # fmt: skip


class _Plain(TypedDict, total=False):
    """An item after `from_item`."""

    execution_id: str
    status: str
    token: str
    first_at: int
    updated_at: int
    lease_ends_at: int
    ttl: int
    payload_hash: str
    result: str
    attempts: int
    history: list[dict[str, object]]
    duplicates: int
    messages: frozenset[str]
    effects: dict[str, dict[str, object]]


def to_attribute(value: object) -> dict[str, object]:
    """A value as DynamoDB spells it; members that are None are left out."""
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": str(value)}
        case int() | float():
            return {"N": str(value)}
        case frozenset():
            return {"SS": sorted(value)}
        case list() | tuple():
            return {"L": [to_attribute(member) for member in value]}
        case Mapping():
            return {"M": to_item(value)}
        case _:
            raise TypeError(f"a {type(value).__name__} has no place in a record")


def to_item(values: Mapping[str, object]) -> dict[str, object]:
    """Values by name as an item; those that are None are left out."""
    return {name: to_attribute(value) for name, value in values.items() if value is not None}


def from_attribute(attribute: object) -> object:
    """A value from DynamoDB's spelling. Numbers come back as int if they are whole."""
    ((kind, value),) = cast("Mapping[str, object]", attribute).items()
    match kind, value:
        case "N", str():
            return int(value) if value.lstrip("-").isdigit() else float(value)
        case "SS" | "NS" | "BS", list():
            return frozenset(value)
        case "L", list():
            return [from_attribute(member) for member in value]
        case "M", Mapping():
            return from_item(value)
        case "NULL", _:
            return None
        case _:
            return value


def from_item(item: Item) -> dict[str, object]:
    """The values of an item, by name."""
    return {name: from_attribute(attribute) for name, attribute in item.items()}


def attempt_values(attempt: Attempt) -> dict[str, object]:
    """An attempt as the values of a map."""
    return {
        "started_at": attempt.started_at, "source": attempt.source, "message_id": attempt.message_id,
        "outcome": attempt.outcome, "ended_at": attempt.ended_at, "error": attempt.error,
    }  # fmt: skip


def effect_values(effect: EffectRecord) -> dict[str, object]:
    """An effect as the values of a map; its name is the key that the map stands under."""
    return {
        "idempotency_key": effect.idempotency_key, "first_at": effect.first_at, "done_at": effect.done_at,
        "result": effect.result,
    }  # fmt: skip


def item_of(record: Record) -> dict[str, object]:
    """A record as an item."""
    return to_item({
        "execution_id": record.key,
        "status": record.status,
        "token": record.token,
        "first_at": record.first_at,
        "updated_at": record.updated_at,
        "lease_ends_at": record.lease_ends_at,
        "ttl": None if record.expires_at is None else record.expires_at // 1000,
        "payload_hash": record.payload_hash,
        "result": record.result,
        "attempts": record.attempts_made,
        "history": [attempt_values(attempt) for attempt in record.attempts],
        "duplicates": record.duplicates or None,
        "messages": record.message_ids or None,
        "effects": {effect.name: effect_values(effect) for effect in record.effects},
    })  # fmt: skip


def record_of(item: Item) -> Record:
    """A record from an item. Attributes that another tool did not write are taken as unknown."""
    plain = cast("_Plain", from_item(item))
    first_at = plain.get("first_at", 0)
    return Record(
        key=plain["execution_id"],
        status=Status(plain["status"]) if "status" in plain else Status.FAILED,
        token=plain.get("token"),
        first_at=first_at,
        updated_at=plain.get("updated_at", first_at),
        lease_ends_at=plain.get("lease_ends_at"),
        expires_at=plain["ttl"] * 1000 if "ttl" in plain else None,
        payload_hash=plain.get("payload_hash"),
        result=plain.get("result"),
        attempts_made=plain.get("attempts", 0),
        attempts=tuple(_attempt(values) for values in plain.get("history", [])),
        duplicates=plain.get("duplicates", 0),
        message_ids=plain.get("messages", frozenset()),
        effects=tuple(_effect(name, values) for name, values in plain.get("effects", {}).items()),
    )


def _attempt(values: dict[str, object]) -> Attempt:
    known = cast("_AttemptValues", values)
    attempt = Attempt(known["started_at"], known.get("source"), known.get("message_id"))
    return replace(
        attempt, outcome=Status(known["outcome"]), ended_at=known.get("ended_at"), error=known.get("error")
    )  # fmt: skip


def _effect(name: str, values: dict[str, object]) -> EffectRecord:
    known = cast("_EffectValues", values)
    return EffectRecord(
        name, known["idempotency_key"], known["first_at"], known.get("done_at"), known.get("result")
    )  # fmt: skip


class _AttemptValues(TypedDict, total=False):
    started_at: int
    source: str
    message_id: str
    outcome: str
    ended_at: int
    error: str


class _EffectValues(TypedDict, total=False):
    idempotency_key: str
    first_at: int
    done_at: int
    result: str
