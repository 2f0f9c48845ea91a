"""What the ledger of a function remembers of a letter's execution, and what follows for running it again.

    no row, younger than the memory    never begun, if the key is the function's for certain
    no row, older than the memory      nobody knows: the row may have expired
    SUCCESS                            done: a redrive returns the recorded result
    SUCCESS, expired                   done, and a redrive would do it again
    RUNNING, under a lease             somebody is at work: wait for the end of the lease
    RUNNING, after its lease           that run died: a redrive runs it again
    FAILED                             a redrive runs it again

Before the last two, each effect that was begun and not finished is looked at: its downstream must still know the key.

Rows of the handler library are read as `handler.ledgers.dynamodb` writes them, those of Powertools by
`handler.ledgers.powertools`. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from redrive.core.clock import HOUR_MS, SECOND_MS, Instant, format_instant
from redrive.core.errors import UserError
from redrive.deadletters.execution_keys import ExecutionKey, KeySource, powertools_id
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.letter import Letter
from redrive.handler.ledger import KEEP_S_DEFAULT, EffectRecord, Record, Status
from redrive.handler.ledgers.dynamodb_items import record_of
from redrive.handler.ledgers.powertools import PowertoolsReader, PowertoolsRecord, PowertoolsStatus

KEYS_OF_BATCH = 100
"""The most keys of one BatchGetItem."""

ROUNDS_MAX = 20
"""How often keys are asked again that DynamoDB left out of an answer."""

POWERTOOLS_MEMORY_MS = HOUR_MS
"""How long Powertools keeps a record if the function does not say it (`expires_after_seconds`)."""


class Memory(Protocol):
    """Says what is known of executions."""

    def findings(self, letters: Sequence[Letter]) -> list[list[Finding]]:
        """The findings of each letter, in the order of the letters. Errors: ClientError."""
        ...


@dataclass(frozen=True, slots=True)
class EffectMemory:
    """How long downstreams remember an idempotency key, in milliseconds: `key_memory` of the handler's effects."""

    by_name: Mapping[str, int] = field(default_factory=dict)
    usual_ms: int | None = None

    def of(self, effect: str) -> int | None:
        """The memory for an effect, or for a part of it (`charge:line 1`); None if it is not known."""
        return self.by_name.get(effect, self.by_name.get(effect.partition(":")[0], self.usual_ms))


FAILED = "it failed: it is run again"
"""The reason of a finding on an execution that has failed."""


CHANGES = "its row stands under the message id: a message that is sent again has another, and begins anew"
"""A key that does not outlive a redrive."""


class LedgerMemory:
    """A table of the handler library's ledger."""

    def __init__(
        self,
        dynamodb: Any,
        table: str,
        keys: KeySource,
        now: Callable[[], Instant],
        *,
        horizon_ms: int = KEEP_S_DEFAULT * SECOND_MS,
        effects: EffectMemory | None = None,
    ) -> None:
        """`horizon_ms` is how long the function's rows are kept: `keep` of `idempotent`."""
        self._dynamodb = dynamodb
        self._table = table
        self._keys = keys
        self._now = now
        self._horizon_ms = horizon_ms
        self._effects = effects or EffectMemory()

    def findings(self, letters: Sequence[Letter]) -> list[list[Finding]]:
        """See `Memory.findings`."""
        keys = [self._keys.texts(letter) for letter in letters]
        records = self._read(list(dict.fromkeys(key.value for candidates in keys for key in candidates)))
        now = self._now()
        return [
            list(self._told(letter, candidates, records, now)) for letter, candidates in zip(letters, keys, strict=True)
        ]

    def _read(self, keys: Sequence[str]) -> dict[str, Record]:
        found: dict[str, Record] = {}
        for start in range(0, len(keys), KEYS_OF_BATCH):
            wanted = [{"execution_id": {"S": key}} for key in keys[start : start + KEYS_OF_BATCH]]
            request: Any = {self._table: {"Keys": wanted, "ConsistentRead": True}}
            for _ in range(ROUNDS_MAX):
                answer = self._dynamodb.batch_get_item(RequestItems=request)
                for item in answer.get("Responses", {}).get(self._table, []):
                    found[item["execution_id"]["S"]] = _readable(item, self._table)
                request = answer.get("UnprocessedKeys") or {}
                if not request:
                    break
            else:
                raise UserError(
                    f"{self._table} is throttled: DynamoDB did not read all keys.", next_step="Try again later."
                )
        return found

    def _told(
        self, letter: Letter, keys: Sequence[ExecutionKey], records: Mapping[str, Record], now: Instant
    ) -> Iterator[Finding]:
        key = next((key for key in keys if key.value in records), None)
        if key is not None:
            yield from self._of_record(records[key.value], now)
            if key.value.endswith(letter.message_id) and letter.message_id:
                yield Finding("key", Answer.CAUTION, CHANGES, key.value)
        else:
            yield _absent(letter, keys, now, self._horizon_ms)

    def _of_record(self, record: Record, now: Instant) -> Iterator[Finding]:
        state = _expired_state(record) if record.has_expired(now) else _state(record, now)
        yield state
        if state.answer.allows:
            unfinished = (effect for effect in record.effects if effect.done_at is None)
            yield from (_of_effect(effect, self._effects.of(effect.name), now) for effect in unfinished)


class PowertoolsMemory:
    """A table of Powertools' idempotency. `name` is the beginning of its ids: `<function>.<module>.<handler>`."""

    def __init__(
        self,
        dynamodb: Any,
        table: str,
        name: str,
        keys: KeySource,
        now: Callable[[], Instant],
        *,
        horizon_ms: int = POWERTOOLS_MEMORY_MS,
    ) -> None:
        """`horizon_ms` is the function's `expires_after_seconds`."""
        self._reader = PowertoolsReader(table, client=dynamodb, clock=now)
        self._name = name
        self._keys = keys
        self._now = now
        self._horizon_ms = horizon_ms

    def findings(self, letters: Sequence[Letter]) -> list[list[Finding]]:
        """See `Memory.findings`."""
        return [[self._told(letter)] for letter in letters]

    def _told(self, letter: Letter) -> Finding:
        value, now = self._keys.value(letter), self._now()
        if value is None:
            return _absent(letter, [], now, self._horizon_ms)
        record_id = powertools_id(self._name, value)
        record = self._reader.read(record_id)
        if record is None:
            key = ExecutionKey(record_id, "", is_certain=self._keys.is_given_for(letter))
            return _absent(letter, [key], now, self._horizon_ms)
        return _of_powertools(record)


def _readable(item: Any, table: str) -> Record:
    try:
        return record_of(item)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{table} has a row that is no execution: {item['execution_id']['S']} ({type(error).__name__}: {error}).",
            next_step="Name the table of the handler's ledger.", exit_code=2,
        ) from error  # fmt: skip


def _absent(letter: Letter, keys: Sequence[ExecutionKey], now: Instant, horizon_ms: int) -> Finding:
    """Nothing is recorded under any key."""
    if not keys:
        return Finding("ledger", Answer.CAUTION, "the letter has nothing where the key is expected")
    tried = ", ".join(f"{key.place or 'key'} {key.value}" for key in keys)
    since = letter.sent_at if letter.work.due_at is None else letter.work.due_at
    if since is not None and now - since >= horizon_ms:
        return Finding("horizon", Answer.REFUSE, "older than the ledger's memory: its row may have expired", tried)
    if not any(key.is_certain for key in keys):
        return Finding("ledger", Answer.CAUTION, "no row under the usual keys: name the key with --key", tried)
    until = None if since is None else since + horizon_ms
    return Finding("ledger", Answer.GO, "never begun", tried, until)


def _state(record: Record, now: Instant) -> Finding:
    """What a row that has not expired says."""
    lease_ends_at = record.lease_ends_at
    match record.status:
        case Status.SUCCESS:
            reason = "it has succeeded: a redrive would do nothing"
            return Finding("ledger", Answer.SKIP, reason, f"at {_iso(record.updated_at)}", record.expires_at)
        case Status.RUNNING if lease_ends_at is None:
            return Finding("ledger", Answer.CAUTION, "begun by another tool, without a lease", record.key)
        case Status.RUNNING if lease_ends_at is not None and lease_ends_at > now:
            reason = "it is running: another run holds the lease"
            return Finding("ledger", Answer.WAIT, reason, f"until {_iso(lease_ends_at)}", lease_ends_at)
        case Status.RUNNING:
            reason = "its run died: the lease has ended, it is run again"
            return Finding("ledger", Answer.GO, reason, f"begun at {_iso(record.first_at)}", record.expires_at)
        case Status.FAILED:
            error = next((one.error for one in reversed(record.attempts) if one.error), None) or ""
            return Finding("ledger", Answer.GO, FAILED, error, record.expires_at)


def _expired_state(record: Record) -> Finding:
    """What a row says that has expired and is not deleted yet: the next run begins as if there were none."""
    if record.status is Status.SUCCESS:
        reason = "it has succeeded, and its row has expired: it would be done again"
        return Finding("horizon", Answer.REFUSE, reason, f"at {_iso(record.updated_at)}")
    if record.effects:
        reason = "its row has expired, and its effects would be repeated"
        return Finding("horizon", Answer.REFUSE, reason, ", ".join(effect.name for effect in record.effects))
    return Finding("horizon", Answer.CAUTION, "it was begun, and its row has expired", f"at {_iso(record.first_at)}")


def _of_effect(effect: EffectRecord, memory_ms: int | None, now: Instant) -> Finding:
    """An effect that was begun, and nobody knows how it ended."""
    detail = f"{effect.name} at {_iso(effect.first_at)} under {effect.idempotency_key}"
    name = effect.name.partition(":")[0]
    if memory_ms is None:
        reason = f"the effect {name} was begun: say how long its key is known with --key-memory {name}=24h"
        return Finding("key memory", Answer.CAUTION, reason, detail)
    ends_at = effect.first_at + memory_ms
    if now >= ends_at:
        reason = f"the effect {name} was begun, and its downstream has forgotten the key: look there"
        return Finding("key memory", Answer.REFUSE, reason, detail, ends_at)
    return Finding("key memory", Answer.GO, f"the effect {name} was begun, and its key is still known", detail, ends_at)


def _of_powertools(record: PowertoolsRecord) -> Finding:
    match record.status:
        case PowertoolsStatus.COMPLETED:
            reason = "it has succeeded: a redrive would do nothing"
            return Finding("ledger", Answer.SKIP, reason, record.id, record.expires_at)
        case PowertoolsStatus.INPROGRESS if record.is_stuck:
            return Finding("ledger", Answer.GO, "its run died: it is run again", record.id, record.expires_at)
        case PowertoolsStatus.INPROGRESS:
            ends_at = record.in_progress_until or record.expires_at
            return Finding("ledger", Answer.WAIT, "it is running: another run is in progress", record.id, ends_at)
        case PowertoolsStatus.EXPIRED if record.data is not None:
            reason = "it has succeeded, and its row has expired: it would be done again"
            return Finding("horizon", Answer.REFUSE, reason, record.id)
        case PowertoolsStatus.EXPIRED:
            return Finding("horizon", Answer.CAUTION, "it was begun, and its row has expired", record.id)


def _iso(at: Instant) -> str:
    return format_instant(at)
