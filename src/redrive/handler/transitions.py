"""The state machine of a record: pure rules, one for each method of a ledger.

Ledgers that lock a record while they change it use these functions. The DynamoDB ledger has the same rules as
conditions of its writes; one test suite runs on all ledgers.

    no record, expired, FAILED, RUNNING past its lease   begin → RUNNING, under a new token and lease
    RUNNING within its lease                             begin → InProgress
    SUCCESS                                              begin → Replayed
    not expired, of another function                     begin → Foreign
    not expired, with another payload                    begin → Mismatch
    RUNNING, token matches                               finish → SUCCESS, fail → FAILED, note_effect
    token differs                                        nothing changes, False
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from redrive.handler import payloads
from redrive.handler.cells import RESERVED
from redrive.handler.clock import Instant
from redrive.handler.errors import KeyRefused
from redrive.handler.ledger import (
    ATTEMPTS_KEPT,
    MESSAGE_IDS_KEPT,
    Attempt,
    Began,
    EffectRecord,
    Foreign,
    Fresh,
    InProgress,
    Mismatch,
    Record,
    Replayed,
    Status,
    Token,
)


class Claim(NamedTuple):
    """The request of a run that begins."""

    key: str
    payload_hash: str | None
    lease_s: float
    keep_s: float
    message_id: str | None
    source: str | None
    function_name: str | None = None

    def checked(self) -> Claim:
        """The claim itself, if it is valid. Errors: ValueError, KeyRefused."""
        if not self.key:
            raise ValueError("an execution needs a key that is not empty")
        if self.key.startswith(RESERVED):
            raise KeyRefused(f"the key {self.key!r} begins with {RESERVED!r}, where breakers have theirs: use a prefix")
        if self.lease_s <= 0 or self.keep_s < self.lease_s:
            raise ValueError(
                f"a lease of {self.lease_s} s on a record kept for {self.keep_s} s: a lease is longer than nothing, "
                "and a record outlives it"
            )
        return self

    def lease_ends_at(self, now: Instant) -> Instant:
        """The last instant of a lease that begins now."""
        return now + math.ceil(self.lease_s * 1000)

    def expires_at(self, now: Instant) -> Instant:
        """When the record expires; in whole seconds, like DynamoDB's time to live."""
        return math.ceil(now / 1000 + self.keep_s) * 1000


def begin(old: Record | None, claim: Claim, now: Instant, nonce: str) -> tuple[Record, Began]:
    """The record after a run's claim, and the answer to the run."""
    if old is None or old.has_expired(now):
        return _taken(_blank(claim.key, now), claim, now, nonce)
    refused = refusal(claim, now, old.status, old.payload_hash, old.result, old.lease_ends_at, old.function_name)
    if refused is not None:
        return with_duplicate(old, claim.message_id), refused
    return _taken(old, claim, now, nonce)


def finish(old: Record | None, token: Token, result: str, now: Instant) -> tuple[Record | None, bool]:
    """The record after a run has succeeded; `result` is JSON text."""

    def succeeded(record: Record) -> Record:
        return _ended(record, Status.SUCCESS, now)._replace(result=result)

    return _settle(old, token, Status.SUCCESS, succeeded)


def fail(old: Record | None, token: Token, error: str, now: Instant) -> tuple[Record | None, bool]:
    """The record after a run has failed."""
    return _settle(old, token, Status.FAILED, lambda record: _ended(record, Status.FAILED, now, error))


def note_effect(old: Record | None, token: Token, effect: EffectRecord, now: Instant) -> tuple[Record | None, bool]:
    """The record with this effect in place of the effect of the same name."""
    if old is None or old.token != token.nonce or old.status is not Status.RUNNING:
        return old, False
    others = tuple(other for other in old.effects if other.name != effect.name)
    return old._replace(effects=(*others, effect), updated_at=now), True


def refusal(
    claim: Claim, now: Instant,
    status: Status, payload_hash: str | None, result: str | None, lease_ends_at: Instant | None,
    function_name: str | None,
) -> Replayed | InProgress | Mismatch | Foreign | None:  # fmt: skip
    """Why a run does not get the execution of an unexpired record; None if it does."""
    if function_name is not None and claim.function_name is not None and _are_two(function_name, claim.function_name):
        return Foreign(recorded=function_name, given=claim.function_name)
    if payload_hash is not None and claim.payload_hash is not None and claim.payload_hash != payload_hash:
        return Mismatch(recorded=payload_hash, given=claim.payload_hash)
    if status is Status.SUCCESS:
        return Replayed(payloads.decode(result))
    if status is Status.RUNNING and lease_ends_at is not None and now < lease_ends_at:
        return InProgress(lease_ends_at)
    return None


def _are_two(one: str, other: str) -> bool:
    """Whether two names are known to belong to two functions. A name without a Lambda function equals any."""
    one_lambda, _, one_name = one.rpartition(":")
    other_lambda, _, other_name = other.rpartition(":")
    are_lambdas_known = one_lambda != "" and other_lambda != ""
    return one_name != other_name or (are_lambdas_known and one_lambda != other_lambda)


def with_duplicate(old: Record, message_id: str | None) -> Record:
    """The record after a delivery that found the execution running or done."""
    return old._replace(duplicates=old.duplicates + 1, message_ids=_with_message(old.message_ids, message_id))


def room_for_one(attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """The history with room for one more attempt. A full history loses its older half, so that this happens seldom."""
    return attempts if len(attempts) < ATTEMPTS_KEPT else attempts[-(ATTEMPTS_KEPT // 2) :]


def _blank(key: str, now: Instant) -> Record:
    return Record(key, Status.FAILED, None, first_at=now, updated_at=now, lease_ends_at=None, expires_at=None)


def _taken(old: Record, claim: Claim, now: Instant, nonce: str) -> tuple[Record, Fresh]:
    kept = room_for_one(old.attempts)
    new = old._replace(
        status=Status.RUNNING,
        token=nonce,
        updated_at=now,
        lease_ends_at=claim.lease_ends_at(now),
        expires_at=claim.expires_at(now),
        payload_hash=claim.payload_hash or old.payload_hash,
        function_name=old.function_name or claim.function_name,
        attempts_made=old.attempts_made + 1,
        attempts=(*kept, Attempt(now, claim.source, claim.message_id)),
        message_ids=_with_message(old.message_ids, claim.message_id),
    )
    token = Token(claim.key, nonce, attempt=new.attempts_made, place=len(kept))
    return new, Fresh(token, {effect.name: effect for effect in new.effects})


def _settle(
    old: Record | None, token: Token, status: Status, change: Callable[[Record], Record]
) -> tuple[Record | None, bool]:
    if old is None or old.token != token.nonce:
        return old, False
    if old.status is Status.RUNNING:
        return change(old), True
    return old, old.status is status  # The same run sent it before.


def _ended(old: Record, status: Status, now: Instant, error: str | None = None) -> Record:
    last = old.attempts[-1]._replace(outcome=status, ended_at=now, error=error)
    return old._replace(status=status, updated_at=now, lease_ends_at=None, attempts=(*old.attempts[:-1], last))


def _with_message(known: frozenset[str], message_id: str | None) -> frozenset[str]:
    if message_id is None or len(known) >= MESSAGE_IDS_KEPT:
        return known
    return known | {message_id}
