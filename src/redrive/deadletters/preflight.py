"""Preflight: is it safe to run a letter's work again now? Each gate answers with a reason.

    whole           nothing of the work was cut off, and it is in the letter or can be fetched
    key             it is not the same for all work, nor one that a redrive changes
    parses          the handler's own parser takes it
    ledger          what the function's ledger says of the execution (memories.py)
    horizon         the ledger's memory reaches back to the work
    key memory      downstreams still know the idempotency keys of effects that were begun
    deduplication   what a FIFO target drops, and for how long; and that the group has gone on
    target          it exists, takes work, is not throttled (targets.py); permission: the caller may send there
    execution       what became of the execution that failed, or whose name the letter gives (executions.py)
    changed         the function was changed since, if its code refused the work
    proof           the last verdict of `redrive prove` on the handler
    retention       the dead-letter queue keeps the letter for some time still
    stream          the stream still has the records of a batch

A gate that is closed can be overridden by a person with a reason; `decided` says what all gates say together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import DAY_MS, MINUTE_MS, Instant, format_instant
from redrive.deadletters.causes import Class, judge
from redrive.deadletters.destinations import Destination, To, usual
from redrive.deadletters.executions import finding_of
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.letter import Failure, Letter, Origin
from redrive.deadletters.memories import Memory
from redrive.deadletters.permissions import Permissions
from redrive.deadletters.proofs import Proof, proof_of
from redrive.deadletters.sources import Client, Source
from redrive.deadletters.targets import Addressee, FunctionState, Targets, addressee_of

DEDUPLICATED_MS = 5 * MINUTE_MS
"""How long FIFO queues and topics remember a deduplication id.

Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html
"""

LEAVES_SOON_MS = DAY_MS
"""A letter that its queue deletes within this time is told."""

LETTERS_OF_BATCH = 100
"""How many letters are examined at a time: a ledger reads the keys of so many in one request."""

_SOURCE_REFUSED = frozenset({Class.PERMISSION, Class.CONFIGURATION, Class.THROTTLED})
"""Refusals of a target's API: the work was not accepted."""

_PLACEHOLDER = re.compile(r"<aws\.scheduler\.[\w.-]+>")

StreamGate = Callable[[Letter], Finding]
Parse = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Gates:
    """What the gates need beside the letter. What is None is not asked, and the table says so."""

    memory: Memory | None = None
    parse: Parse | None = None
    stream: StreamGate | None = None
    sources: Callable[[], Sequence[Source]] = tuple
    """Finds the sources of the dead-letter queue (`find_sources`); called if a letter names no target."""
    proofs: Sequence[Proof] = ()
    retention_ms: int | None = None
    """How long the dead-letter queue keeps letters."""


class Preflight:
    """Examines letters. It reads and changes nothing."""

    def __init__(self, client: Client, now: Callable[[], Instant], gates: Gates) -> None:
        self._client = client
        self._now = now
        self._gates = gates
        self._targets = Targets(client, now)
        self._permissions = Permissions(client)

    def examine(self, letters: Sequence[Letter], to: Destination | None = None) -> list[tuple[Finding, ...]]:
        """The findings of each letter, in the order of the letters.

        `to` is where all of them go; None: each to what follows from it. Errors: ClientError; UserError of a ledger.
        """
        gates = self._gates
        if gates.memory is None:
            # Step Functions itself knows of an execution what no ledger says: the gate `execution` asks it.
            remembered = [
                [] if letter.origin is Origin.EXECUTION else [_without_memory(letter)] for letter in letters
            ]  # fmt: skip
        else:
            remembered = gates.memory.findings(letters)
        return [(*self._of_letter(letter, to), *known) for letter, known in zip(letters, remembered, strict=True)]

    def _of_letter(self, letter: Letter, to: Destination | None) -> Iterator[Finding]:
        gates, now = self._gates, self._now()
        yield from _whole(letter)
        yield from _literal(letter)
        if gates.parse is not None and letter.work.text:
            yield _parsed(letter, gates.parse)
        if letter.work.batch is not None and not letter.work.text:
            yield _not_fetched(letter) if gates.stream is None else gates.stream(letter)
        if gates.retention_ms is not None:
            yield from _retained(letter, gates.retention_ms, now)
        goes_to = usual(letter, gates.sources) if to is None else to
        target = addressee_of(goes_to, letter)
        yield from _deduplicated(letter, target, now)
        if isinstance(goes_to, Destination) and target.service == "states":
            yield from self._execution(letter, goes_to)
        state = self._targets.state(target)
        yield from state.findings
        # An execution is redriven by another permission than the one by which its machine starts others.
        named = goes_to.name if isinstance(goes_to, Destination) and goes_to.kind is To.EXECUTION else target.id
        permission = self._permissions.finding(target.service, named)
        if permission is not None:
            yield permission
        for function in state.functions:
            yield from _changed(letter, function)
            proof = proof_of(function, gates.proofs)
            if proof is not None:
                yield proof

    def _execution(self, letter: Letter, to: Destination) -> Iterator[Finding]:
        try:
            told = finding_of(self._client, letter, to)
        except (ClientError, BotoCoreError) as error:
            told = Finding("execution", Answer.CAUTION, "its execution could not be asked", str(error))
        if told is not None:
            yield told


def unfetched(letter: Letter) -> bool:
    """Whether the work is neither in the letter nor anywhere else that it names."""
    return not letter.work.text and letter.work.batch is None and letter.origin is not Origin.EXECUTION


def _whole(letter: Letter) -> Iterator[Finding]:
    work = letter.work
    if work.is_cut:
        yield Finding("whole", Answer.REFUSE, "the end of the work was cut off: it cannot be run again as it is")
    elif unfetched(letter):
        yield Finding("whole", Answer.REFUSE, "the letter holds no work")


def _literal(letter: Letter) -> Iterator[Finding]:
    """A placeholder of Scheduler that is misspelt stands in each input as it is written: all work has one key."""
    if letter.origin in {Origin.SCHEDULE, Origin.QUEUE, Origin.FUNCTION, Origin.DESTINATION}:
        found = _PLACEHOLDER.search(letter.work.text)
        if found is not None:
            reason = f"it holds {found[0]} as it is written: Scheduler knows no such attribute, so all work has one key"
            yield Finding("key", Answer.REFUSE, reason, "context attributes are spelt as <aws.scheduler.execution-id>")


def _parsed(letter: Letter, parse: Parse) -> Finding:
    try:
        parse(letter.work.text)
    except Exception as error:  # noqa: BLE001 - A parser of the user's own raises what it likes.
        line = next(iter(str(error).splitlines()), "")
        return Finding("parses", Answer.REFUSE, f"the parser refuses it: {type(error).__name__}", line)
    return Finding("parses", Answer.GO, "the parser takes it")


def _not_fetched(letter: Letter) -> Finding:
    return Finding("stream", Answer.CAUTION, "the stream was not asked for the records", letter.source_arn)


def _without_memory(letter: Letter) -> Finding:
    """No ledger was named: only the letter itself can say that the work was never begun."""
    if _is_refused_once(letter):
        return Finding("ledger", Answer.GO, "never begun: the target refused the only attempt", letter.failure.code)
    return Finding("ledger", Answer.CAUTION, "no ledger was named: whether it was begun is not known")


def _is_refused_once(letter: Letter) -> bool:
    """Whether one attempt was made, and the target's API refused that. Of earlier attempts an answer may be lost."""
    if letter.origin not in {Origin.SCHEDULE, Origin.RULE} or letter.failure.attempts != 1:
        return False
    return judge(Failure(code=letter.failure.code), letter.origin).kind in _SOURCE_REFUSED


def _retained(letter: Letter, retention_ms: int, now: Instant) -> Iterator[Finding]:
    if letter.sent_at is None:
        return
    ends_at = letter.sent_at + retention_ms
    if ends_at - now < LEAVES_SOON_MS:
        detail = f"at {format_instant(ends_at)}"
        yield Finding("retention", Answer.CAUTION, "the queue deletes it within a day", detail, ends_at)


def _deduplicated(letter: Letter, target: Addressee, now: Instant) -> Iterator[Finding]:
    """What a FIFO target does with a second send."""
    if not target.is_fifo:
        return
    if letter.group_id:
        reason = "later messages of its group may have been done: it comes after them"
        yield Finding("order", Answer.CAUTION, reason, f"group {letter.group_id}")
    if letter.sent_at is None:
        return
    ends_at = letter.sent_at + DEDUPLICATED_MS
    given = letter.deduplication_id
    # A letter that SQS has moved was sent anew under its message id: the producer's id is not known here.
    is_producers = letter.origin is Origin.QUEUE and given not in {"", letter.message_id}
    if is_producers and now < ends_at:
        reason = "its deduplication id is still known: a send under it is accepted and dropped"
        yield Finding("deduplication", Answer.WAIT, reason, given, ends_at)
        return
    reason = "a second redrive is dropped for 5 minutes after the first, and taken later"
    yield Finding("deduplication", Answer.GO, reason)


def _changed(letter: Letter, function: FunctionState) -> Iterator[Finding]:
    if letter.sent_at is None or function.changed_at is None:
        return
    kind = judge(letter.failure, letter.origin).kind
    name, at = function.name, format_instant(function.changed_at)
    if function.changed_at > letter.sent_at:
        yield Finding("changed", Answer.GO, "the function was changed since", f"{name} at {at}")
    elif kind in {Class.CODE, Class.POISON}:
        reason = "the function was not changed since: the same code meets the same input"
        yield Finding("changed", Answer.CAUTION, reason, f"{name} of {at}")


def with_reason(finding: Finding, reason: str) -> Finding:
    """A finding that a person has overridden: it allows the letter, and keeps both reasons."""
    return replace(finding, answer=Answer.CAUTION, reason=f"{finding.reason} (overridden: {reason})")
