"""Defects of a run that the kills have to find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from redrive.core.clock import Instant
from redrive.deadletters.account import Account
from redrive.deadletters.destinations import Destination
from redrive.deadletters.group_order import GroupOrder
from redrive.deadletters.hiding import Held
from redrive.deadletters.journal import Doubt, Journal, Known
from redrive.deadletters.letter import Letter
from redrive.deadletters.running import Redriving
from redrive.deadletters.sorting import Sorter
from tests.unit.deadletters.killing import Parts, Stage, faults, fifo_faults, fifo_stage, mixed_stage
from tests.unit.deadletters.killing_batches import batch_stage


@dataclass(frozen=True, slots=True)
class Planted:
    """A defect, and where it shows."""

    name: str
    parts: Parts
    stage: Callable[[], AbstractContextManager[Stage]] = mixed_stage
    check: Callable[[Stage, Account], list[str]] = faults
    loses_power: bool = False


class DeletesBeforeSending(Redriving):
    def _send_together(self, to: Destination, batches: Any) -> None:
        self._delete([ready.held for batch in batches for ready in batch])
        super()._send_together(to, batches)


class ExportsAfterDeleting(Redriving):
    def _discard(self, discards: Sequence[tuple[Held, str]]) -> None:
        self._delete([held for held, _ in discards])
        super()._discard(discards)


class GroupsAtOnce(GroupOrder):
    def wave(self, left: Any, letter_of: Any) -> Any:
        return list(reversed(left)), []


class StoppedGroupsGoOn(GroupOrder):
    def is_stopped(self, letter: Letter) -> bool:
        return False


class SendsGroupsAtOnce(Redriving):
    def rounds(self) -> Iterator[Account]:
        self._order.__class__ = GroupsAtOnce
        return super().rounds()


class PassesLettersThatStay(Redriving):
    def rounds(self) -> Iterator[Account]:
        self._order.__class__ = StoppedGroupsGoOn
        return super().rounds()


class TellsOnlyItsOwn(Redriving):
    """What a killed run has sent, and not told, is deleted by the next one without a word."""

    def _tell_again(self, finished: Sequence[Held]) -> None:
        pass


class AnnouncesAfterSending(Journal):
    """What is to be sent is written together with what was sent."""

    def sending(self, message_ids: Iterable[str], to: str, at: Instant) -> None:
        pass


class ForgetsToSync(Journal):
    """What was sent is not on disk when the letters are deleted."""

    def durable(self) -> None:
        pass


class ForgetsWhatWasSent(Journal):
    def known(self, message_id: str) -> Known | None:
        known = super().known(message_id)
        return None if known is Known.SENT else known


class ResendsInItsStage(Journal):
    """A stage that goes on after a kill takes what it has sent itself for what earlier stages have sent."""

    def begin_stage(self, number: int, at: Instant) -> frozenset[str]:
        super().begin_stage(number, at)
        return self.returning


class ForgetsStages(Journal):
    """Letters that came back stay in each stage."""

    def begin_stage(self, number: int, at: Instant) -> frozenset[str]:
        return frozenset()


class ResendsSilently(Sorter):
    def _may_repeat(self, doubt: Doubt, to: Destination, now: Instant) -> bool:
        return True


class OpensGates(Sorter):
    """A gate is asked once: a letter whose journal line stands is taken for passed."""

    def _refusal(self, letter: Letter, to: Destination) -> None:
        return None


class RunThatResendsSilently(Redriving):
    def rounds(self) -> Iterator[Account]:
        self._sorter.__class__ = ResendsSilently
        return super().rounds()


class RunThatOpensGates(Redriving):
    def rounds(self) -> Iterator[Account]:
        self._sorter.__class__ = OpensGates
        return super().rounds()


PLANTED = (
    Planted("deletes before sending", Parts(run=DeletesBeforeSending)),
    Planted("exports after deleting", Parts(run=ExportsAfterDeleting)),
    Planted("announces after sending", Parts(journal=AnnouncesAfterSending)),
    Planted("deletes before the journal is on disk", Parts(journal=ForgetsToSync), loses_power=True),
    Planted("forgets what was sent", Parts(journal=ForgetsWhatWasSent)),
    Planted("resends doubtful letters silently", Parts(run=RunThatResendsSilently)),
    Planted("opens gates silently", Parts(run=RunThatOpensGates)),
    Planted("tells only what it has sent itself", Parts(run=TellsOnlyItsOwn)),
    Planted("gives a batch twice whose answer was lost", Parts(run=RunThatResendsSilently), batch_stage),
    Planted("deletes a batch before its function has answered", Parts(run=DeletesBeforeSending), batch_stage),
    Planted("sends a message group at once", Parts(run=SendsGroupsAtOnce), fifo_stage, fifo_faults),
    Planted("passes a letter that stays", Parts(run=PassesLettersThatStay), fifo_stage, fifo_faults),
)

PLANTED_IN_STAGES = {
    "sends again what came back in its own stage": Parts(journal=ResendsInItsStage),
    "does not send again what came back": Parts(journal=ForgetsStages),
}
"""Defects of a recovery in stages."""
