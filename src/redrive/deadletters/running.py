"""Runs a plan: letters go back, are discarded, or stay, and the journal says of each what was done.

    receive  →  decide (sorting.py)  →  journal `sending`  →  send  →  journal `sent`  →  delete  →  journal `deleted`

A kill at any place loses nothing: a letter is deleted only after the journal, on disk, has that it was accepted or
exported. Nothing is sent twice: what was being sent when the process ended stays in the queue as doubtful, unless its
destination deduplicates (sending.py), or the user wants it sent again.

Of each group some letters go first (canary.py). A letter that was sent and failed again comes back under the id that
its destination gave it: it stays. Of a FIFO queue, one letter of each message group is sent at a time, and one that
stays stops its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from botocore.exceptions import ClientError

from redrive.core.clock import SECOND_MS, Instant
from redrive.deadletters.account import Account
from redrive.deadletters.canary import Canaries
from redrive.deadletters.causes import Cause
from redrive.deadletters.destinations import Destination
from redrive.deadletters.group_order import GroupOrder
from redrive.deadletters.hiding import Held, Hidden
from redrive.deadletters.journal import Known
from redrive.deadletters.outcomes import Accepted, Parcel, Refused, SendOutcome
from redrive.deadletters.pace import Pace
from redrive.deadletters.parcels import parcel_of, until_of
from redrive.deadletters.peek import BATCH, EMPTY_RECEIVES, Depth, depth_of
from redrive.deadletters.plan import Plan
from redrive.deadletters.ports import Ports, tell_of_earlier
from redrive.deadletters.setbacks import credentials_gone, lacks_credentials, patiently
from redrive.deadletters.sorting import Because, Deletes, Discards, Sends, Sorter, Stays, Wishes
from redrive.handler.failures import Kind

REQUESTS = 20
"""How many requests share the writes of the journal; between them the conditions that stop a run are looked at."""

HELD_MAX = 1_000
HELD_BYTES_MAX = 32 * 1024 * 1024
"""How many letters wait in hand for the end of a watch, at most, and how large they are together."""

BACKOFF_MS = SECOND_MS
BACKOFF_MS_MAX = 60 * SECOND_MS
"""How long a throttled letter waits: 1 s, 2 s, 4 s … up to 60 s, while requests are throttled one after the other."""

POLL_MS = 2 * SECOND_MS
"""How often a run looks for letters while it waits."""

BLOCKED = Stays("an earlier letter of its message group stays", Because.PLAN)
STOPPED = Stays("the run was stopped before", Because.PLAN)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A letter that may be sent now."""

    held: Held
    sends: Sends


@dataclass(slots=True)
class _Round:
    """What is to be done with the letters of a round."""

    finished: list[Held] = field(default_factory=list)
    discards: list[tuple[Held, str]] = field(default_factory=list)
    ready: list[_Ready] = field(default_factory=list)


class Redriving:
    """One run of a plan."""

    def __init__(self, plan: Plan, ports: Ports, hidden: Hidden, wishes: Wishes) -> None:
        self.account = Account()
        self._plan = plan
        self._ports = ports
        self._journal = ports.journal
        self._hidden = hidden
        self._wishes = wishes
        self._sorter = Sorter(
            plan, ports.journal, ports.sender, ports.gates, ports.sources, wishes, ports.now(), ports.refined
        )  # fmt: skip
        self._pace = Pace(plan.rate, plan.rate_max, ports.now())
        self._canaries = Canaries(plan.canary)
        self._held: list[Held] = []
        self._in_hand: Sequence[Held] = ()
        self._order = GroupOrder(is_fifo=hidden.is_fifo)
        self._backoff_ms = BACKOFF_MS
        self._length = depth_of(ports.sqs, plan.queue).length

    def rounds(self) -> Iterator[Account]:
        """Run until the queue has no more letters for the plan, or a condition stops the run; yields after each round.

        What stays is visible again at the end, also after an interruption. Errors: ClientError, BotoCoreError.
        """
        try:
            yield from self._rounds()
        except ClientError as error:
            code = str(error.response["Error"].get("Code", ""))
            if not lacks_credentials(code):
                raise
            self.account.stopped = credentials_gone(code)
        finally:
            for held in (*self._held, *self._in_hand):
                self._hidden.keep(held)
            self.account.doubtful = sorted(self._journal.doubts)
            self.account.undeleted = len(self._journal.undeleted)
            self._show_again()
        if (
            self.account.undeleted
            and not self.account.stopped
            and not depth_of(self._ports.sqs, self._plan.queue).hidden
        ):
            # The whole queue was seen. What was not is gone: the last line of an earlier run's journal was lost.
            self.account.undeleted = len(self._hidden.seen & self._journal.undeleted)

    def _rounds(self) -> Iterator[Account]:
        empty = 0
        while not self.account.stopped and (self._held or empty < EMPTY_RECEIVES):
            fresh = self._received()
            due = self._due()
            empty = 0 if fresh or due else empty + 1
            self._work([*due, *fresh])
            self.account.stop_by(self._plan.stop)
            yield self.account
            if self._held and not fresh and not due and not self.account.stopped:
                self._idle()

    def _depth(self) -> Depth:
        return depth_of(self._ports.sqs, self._plan.queue)

    def _show_again(self) -> None:
        """Show what stays. Where that is refused, the letters come back when their time is over."""
        try:
            self._hidden.show_again()
        except ClientError as error:
            if not lacks_credentials(str(error.response["Error"].get("Code", ""))):
                raise

    def _received(self) -> list[Held]:
        size = sum(len(held.letter.body) for held in self._held)
        if len(self._held) >= HELD_MAX or size >= HELD_BYTES_MAX:
            return []
        receives = self._ports.receives
        if self._pace.most is not None:
            receives = max(1, min(receives, self._pace.most // BATCH))
        fresh = patiently(
            lambda: self._hidden.receive(receives, self._ports.spread, self._is_gone), self._ports.wait
        )  # fmt: skip
        self.account.seen += len(fresh)
        return fresh

    def _is_gone(self, message_id: str) -> bool:
        """Whether a letter should have been deleted: SQS may deliver a deleted message once more."""
        return self._journal.known(message_id) in {Known.SENT, Known.DISCARDED}

    def _due(self) -> list[Held]:
        """The letters in hand whose time has come, in their order."""
        now = self._ports.now()
        due = [held for held in self._held if held.due_at <= now]
        self._held = [held for held in self._held if held.due_at > now]
        return due

    def _idle(self) -> None:
        """Wait for the letters in hand; a queue that grows meanwhile takes back what was sent."""
        until = min(held.due_at for held in self._held) - self._ports.now()
        self._ports.wait(max(1, min(until, POLL_MS)) / SECOND_MS)
        grown = self._depth().length - (self._length - self.account.deleted)
        if grown >= max(1, self._plan.stop.came_back):
            self.account.stopped = f"the queue has got {grown} new letters while nothing was sent"

    def _work(self, letters: Sequence[Held]) -> None:
        """One round. If an error ends it, all that it has in hand is shown again."""
        self._in_hand, todo = letters, _Round()
        for held in letters:
            self._sort(held, todo)
        self._discard(todo.discards)
        self._tell_again(todo.finished)
        self._delete([*todo.finished, *(held for held, _ in todo.discards)])
        self._order.begin_sending()
        left = todo.ready
        while left:
            wave, later = self._order.wave(left, lambda ready: ready.held.letter)
            self._send(wave)
            left = self._unblocked(later)
        self._in_hand = ()

    def _sort(self, held: Held, todo: _Round) -> None:
        letter, now = held.letter, self._ports.now()
        if held.hidden_until <= now:
            self._hidden.forget(held)
            self.account.seen -= 1
            return
        decision = self._sorter.decide(letter, now)
        if decision is Deletes.FINISHED:
            self.account.finished += 1
            todo.finished.append(held)
            return
        if (due_at := self._order.waits_until(letter, self._held)) is not None:
            self._held.append(replace(held, due_at=due_at))
            return
        match decision:
            case Stays():
                self._leave(held, decision)
            case Discards(rule):
                todo.discards.append((held, rule.reason))
            case Sends():
                self._admit(_Ready(held, decision), todo, now)

    def _admit(self, ready: _Ready, todo: _Round, now: Instant) -> None:
        """Send a letter in this round, or hold it until the first letters of its cause are known to be well."""
        cause = ready.sends.rule.cause
        if self._order.is_stopped(ready.held.letter):
            self._leave(ready.held, BLOCKED)
        elif why := self._canaries.why_stopped(cause):
            self._leave(ready.held, Stays(why, Because.PLAN))
        elif (until := self._canaries.waits_until(cause, now)) is not None:
            self._held.append(replace(ready.held, due_at=until))
        elif why := self._bad_news(cause):
            self._canaries.stop(cause, why)
            self._leave(ready.held, Stays(why, Because.PLAN))
        else:
            if self._canaries.admitted(cause, now) and self._ports.watch is not None:
                self._ports.watch.begin(ready.held.letter)
            todo.ready.append(ready)

    def _bad_news(self, cause: Cause) -> str:
        """Why no more letters of a cause should go, asked once, at the end of the watch of its first letters."""
        first, since = self._canaries.ended_watch(cause) if self._ports.watch is not None else ((), 0)
        return self._ports.watch.bad_news(first, since) if self._ports.watch is not None and first else ""

    def _unblocked(self, later: Sequence[_Ready]) -> list[_Ready]:
        """The letters whose message group has not been stopped, and does not wait."""
        free = []
        for ready in later:
            if self._order.was_stopped_by_sending(ready.held.letter):
                self._leave(ready.held, BLOCKED)
            elif (due_at := self._order.waits_until(ready.held.letter, self._held)) is not None:
                self._canaries.throttled(ready.sends.rule.cause)
                self._held.append(replace(ready.held, due_at=due_at))
            else:
                free.append(ready)
        return free

    def _send(self, wave: Sequence[_Ready]) -> None:
        by_destination: dict[Destination, list[_Ready]] = {}
        for ready in wave:
            by_destination.setdefault(ready.sends.to, []).append(ready)
        for to, letters in by_destination.items():
            try:
                self._ports.sender.prepare(to)
            except ClientError as error:
                self._not_prepared(letters, str(error.response["Error"].get("Message") or error))
            else:
                self._send_to(to, letters)

    def _not_prepared(self, letters: Sequence[_Ready], why: str) -> None:
        """Leave letters whose destination does not exist, or may not be looked up."""
        for ready in letters:
            self.account.refused += 1
            self._canaries.failed(ready.sends.rule.cause)
            self._leave(ready.held, Stays(f"{ready.sends.to.text}: {why}", Because.PLAN))

    def _send_to(self, to: Destination, letters: Sequence[_Ready]) -> None:
        first = 0
        while first < len(letters) and not self.account.stopped:
            size, most = self._sizes(to)
            together = letters[first : first + most]
            first += len(together)
            self._ports.wait(self._pace.wait_ms(self._ports.now()) / SECOND_MS)
            hidden = [ready for ready in together if self._is_hidden(ready)]
            if hidden:
                self._send_together(to, [hidden[one : one + size] for one in range(0, len(hidden), size)])
            self._pace.sent(len(hidden), self._ports.now())
            self.account.stop_by(self._plan.stop)
        for ready in letters[first:]:
            self._leave(ready.held, STOPPED)

    def _is_hidden(self, ready: _Ready) -> bool:
        """Whether a letter is still ours. If not, somebody else may have it, and it comes again as a new one."""
        if ready.held.hidden_until > self._ports.now():
            return True
        self._hidden.forget(ready.held)
        self._canaries.throttled(ready.sends.rule.cause)
        return False

    def _sizes(self, to: Destination) -> tuple[int, int]:
        """How many letters a request takes, and how many share the writes of the journal: a tenth of a second's."""
        size, most = self._ports.sender.batch(to), self._pace.most
        if most is None:
            return size, size * REQUESTS
        size = min(size, most)
        return size, max(size, min(size * REQUESTS, most // 10))

    def _send_together(self, to: Destination, batches: Sequence[Sequence[_Ready]]) -> None:
        letters = [ready for batch in batches for ready in batch]
        gates = {ready.held.letter.message_id: ready.sends.overridden for ready in letters if ready.sends.overridden}
        now = self._ports.now()
        if gates:
            self._journal.overridden(gates, self._wishes.override, now)
            self.account.overridden += len(gates)
        self._journal.sending([ready.held.letter.message_id for ready in letters], to.text, now)

        def send(batch: Sequence[_Ready]) -> Sequence[SendOutcome]:
            parcels = [parcel_of(ready.held.letter, ready.sends, self._ports.contents) for ready in batch]
            whole = [one for one in parcels if isinstance(one, Parcel)]
            outcomes = iter(self._ports.sender.send(to, whole) if whole else ())
            return [next(outcomes) if isinstance(one, Parcel) else one for one in parcels]

        accepted: list[tuple[Held, str]] = []
        # Each answer is written as it comes: after a kill, only requests without an answer are doubtful.
        for batch, outcomes in zip(batches, self._ports.spread(send, batches), strict=True):
            accepted += self._answered(batch, outcomes)
        self._journal.durable()
        if accepted:
            self._ports.tell(to, [(held.letter, new_id) for held, new_id in accepted])
        self._delete([held for held, _ in accepted])

    def _answered(self, batch: Sequence[_Ready], outcomes: Sequence[SendOutcome]) -> list[tuple[Held, str]]:
        """Write what became of a batch; answers the letters that were accepted, with their new ids."""
        now = self._ports.now()
        pairs = [(ready.held, ready.sends, one) for ready, one in zip(batch, outcomes, strict=True)]
        accepted = {held.letter.message_id: one.id for held, _, one in pairs if isinstance(one, Accepted)}
        refused = {held.letter.message_id: one.code for held, _, one in pairs if isinstance(one, Refused)}
        if accepted:
            self._journal.sent(accepted, now)
            self.account.sent += len(accepted)
            self._backoff_ms = BACKOFF_MS
        if refused:
            self._journal.refused(refused, now)
            self._pace.went_wrong(now)
        for held, sends, one in pairs:
            self._settle(held, sends, one, now)
        if any(isinstance(one, Refused) and one.kind is Kind.THROTTLED for one in outcomes):
            self._backoff_ms = min(BACKOFF_MS_MAX, self._backoff_ms * 2)
        return [(held, one.id) for held, _, one in pairs if isinstance(one, Accepted)]

    def _settle(self, held: Held, sends: Sends, outcome: SendOutcome, now: Instant) -> None:
        cause = sends.rule.cause
        if isinstance(outcome, Accepted):
            self._canaries.accepted(cause, outcome.id, held.letter, sends.to)
        elif isinstance(outcome, Refused) and outcome.kind is Kind.THROTTLED:
            self.account.throttled += 1
            self._canaries.throttled(cause)
            self._held.append(replace(held, due_at=now + self._backoff_ms))
        elif isinstance(outcome, Refused):
            self.account.refused += 1
            self._canaries.failed(cause)
            why = f"{sends.to.text} refused it: {outcome.code}: {outcome.message}"
            self._leave(held, Stays(why, Because.PLAN))
            if lacks_credentials(outcome.code):
                self.account.stopped = credentials_gone(outcome.code)
        else:
            self.account.unknown += 1
            self._canaries.failed(cause)
            self._leave(held, Stays(f"no answer tells whether it was accepted by {sends.to.text}", Because.DOUBT))

    def _leave(self, held: Held, stays: Stays) -> None:
        letter = held.letter
        self._hidden.keep(held)
        self.account.leave(letter.message_id, stays.reason)
        if letter.work.batch is not None and self._ports.contents is not None:
            self.account.keep_records(until_of(letter, self._ports.contents))
        self._order.stop(letter)
        if stays.by is Because.GATE:
            self.account.gated += 1
        elif stays.by is Because.RETURN:
            self.account.came_back += 1
            self._canaries.came_back(letter.message_id, letter.work.id)

    def _discard(self, discards: Sequence[tuple[Held, str]]) -> None:
        if not discards:
            return
        self._ports.export([held.letter for held, _ in discards])
        by_reason: dict[str, list[str]] = {}
        for held, reason in discards:
            by_reason.setdefault(reason, []).append(held.letter.message_id)
        for reason, ids in by_reason.items():
            self._journal.discarded(ids, reason, self._ports.now())
            self.account.discards[reason] += len(ids)
        self.account.discarded += len(discards)

    def _tell_again(self, finished: Sequence[Held]) -> None:
        """Tell what an earlier run has sent: it may have ended before it told that."""
        tell_of_earlier(self._ports, [held.letter for held in finished])

    def _delete(self, letters: Sequence[Held]) -> None:
        """Delete letters. One that cannot be deleted is deleted by the next run."""
        gone = patiently(lambda: list(self._hidden.delete(letters, self._ports.spread)), self._ports.wait)
        if gone:
            self._journal.deleted(gone, self._ports.now())
            self.account.deleted += len(gone)
