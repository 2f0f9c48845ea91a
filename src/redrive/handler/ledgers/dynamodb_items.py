"""Converts records to DynamoDB items and back; no client, no clock.

The table is keyed by `execution_id` (a string) and may have its time to live on `ttl`. Attributes of other tools stay
unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, cast

from redrive.handler.clock import Instant
from redrive.handler.ledger import Attempt, EffectRecord, Record, Status

Item = Mapping[str, object]

# Attributes whose names are reserved words in expressions.
NAMES = {"#status": "status", "#token": "token", "#ttl": "ttl", "#result": "result", "#error": "error"}


def to_attribute(value: object) -> dict[str, object]:
    """A value in DynamoDB's format; members that are None are left out."""
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
    """Values by name as an item; None values are left out."""
    return {name: to_attribute(value) for name, value in values.items() if value is not None}


def from_attribute(attribute: object) -> object:
    """A value from DynamoDB's format. Whole numbers become int."""
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
    """An attempt as a map."""
    return {
        "started_at": attempt.started_at, "source": attempt.source, "message_id": attempt.message_id,
        "outcome": attempt.outcome, "ended_at": attempt.ended_at, "error": attempt.error,
    }  # fmt: skip


def effect_values(effect: EffectRecord) -> dict[str, object]:
    """An effect as a map; its name is the key of that map."""
    return {
        "idempotency_key": effect.idempotency_key, "first_at": effect.first_at, "done_at": effect.done_at,
        "result": effect.result,
    }  # fmt: skip


RUNNING, SUCCESS, FAILED = (to_attribute(status) for status in Status)


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
        "function_name": record.function_name,
        "result": record.result,
        "attempts": record.attempts_made,
        "history": [attempt_values(attempt) for attempt in record.attempts],
        "duplicates": record.duplicates,
        "messages": record.message_ids or None,
        "effects": {effect.name: effect_values(effect) for effect in record.effects},
    })  # fmt: skip


def begun_attempt(now: Instant, source: str | None, message_id: str | None) -> dict[str, object]:
    """A new attempt, as an attribute."""
    values: dict[str, object] = {"started_at": {"N": str(now)}, "outcome": RUNNING}
    if source is not None:
        values["source"] = {"S": source}
    if message_id is not None:
        values["message_id"] = {"S": message_id}
    return {"M": values}


def text_in(item: Item, name: str) -> str | None:
    """An attribute's text; None if the item has no such attribute."""
    attribute = cast("Mapping[str, str] | None", item.get(name))
    return None if attribute is None else attribute["S"]


def number_in(item: Item, name: str) -> int | None:
    """An attribute's whole number; None if the item has no such attribute."""
    attribute = cast("Mapping[str, str] | None", item.get(name))
    return None if attribute is None else int(attribute["N"])


def status_in(item: Item) -> Status:
    """The status of the execution. Without a status the execution may run, as after a failure."""
    return Status(text_in(item, "status") or Status.FAILED)


def attempts_in(item: Item) -> tuple[int, int]:
    """The number of attempts, and the index of the latest in the kept history."""
    history = cast("Mapping[str, list[object]]", item["history"])
    return number_in(item, "attempts") or 0, len(history["L"]) - 1


def effects_in(item: Item) -> dict[str, EffectRecord]:
    """The effects of all runs, by name."""
    attribute = cast("Mapping[str, Item] | None", item.get("effects"))
    if attribute is None or not attribute["M"]:
        return {}
    return {name: _effect(name, cast("_KnownEffect", from_attribute(known))) for name, known in attribute["M"].items()}


def record_of(item: Item) -> Record:
    """A record from an item. Attributes that another tool did not write count as unknown.

    `lease_ends_at` stays in the item after the end of a run, without a meaning.
    """
    known = cast("_Known", from_item(item))
    first_at = known.get("first_at", 0)
    status = status_in(item)
    return Record(
        key=known["execution_id"],
        status=status,
        token=known.get("token"),
        first_at=first_at,
        updated_at=known.get("updated_at", first_at),
        lease_ends_at=known.get("lease_ends_at") if status is Status.RUNNING else None,
        expires_at=known["ttl"] * 1000 if "ttl" in known else None,
        payload_hash=known.get("payload_hash"),
        result=known.get("result"),
        attempts_made=known.get("attempts", 0),
        attempts=tuple(_attempt(values) for values in known.get("history", ())),
        duplicates=known.get("duplicates", 0),
        message_ids=known.get("messages", frozenset()),
        effects=tuple(effects_in(item).values()),
        function_name=known.get("function_name"),
    )


def _attempt(known: _KnownAttempt) -> Attempt:
    return Attempt(
        known["started_at"], known.get("source"), known.get("message_id"),
        Status(known["outcome"]), known.get("ended_at"), known.get("error"),
    )  # fmt: skip


def _effect(name: str, known: _KnownEffect) -> EffectRecord:
    return EffectRecord(
        name, known["idempotency_key"], known["first_at"], known.get("done_at"), known.get("result")
    )  # fmt: skip


if TYPE_CHECKING:

    class _Known(TypedDict, total=False):
        """An item after `from_item`."""

        execution_id: str
        token: str
        first_at: int
        updated_at: int
        lease_ends_at: int
        ttl: int
        payload_hash: str
        function_name: str
        result: str
        attempts: int
        history: list[_KnownAttempt]
        duplicates: int
        messages: frozenset[str]

    class _KnownAttempt(TypedDict, total=False):
        started_at: int
        source: str
        message_id: str
        outcome: str
        ended_at: int
        error: str

    class _KnownEffect(TypedDict, total=False):
        idempotency_key: str
        first_at: int
        done_at: int
        result: str
