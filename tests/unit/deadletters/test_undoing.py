"""What a run has done is told letter by letter, and what can be undone is undone: discards, and what still waits."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from redrive.core.documents import Document
from redrive.deadletters.destinations import read_destination
from redrive.deadletters.journal import Journal, open_journal
from redrive.deadletters.peek import looking
from redrive.deadletters.undoing import Undo, Undoing, delete, judged, move_back, restore
from tests.unit.deadletters.killing import ACCOUNT, Life, Parts, Stage, mixed_stage, name_in, received

pytestmark = pytest.mark.sqlite("the stage restores what a store in memory had")


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A run has come to its end; nobody has read the queue that letters went back to."""
    with mixed_stage() as stage:
        stage.run(Parts(), Life())
        yield stage


class Undone:
    """The journal of the stage, and looks that stay open while it is used."""

    def __init__(self, stage: Stage, looks: ExitStack) -> None:
        self._stage = stage
        self._looks = looks
        self.file = io.BytesIO(stage.disk)
        self.sqs: Any = stage.world.client("sqs")
        self.journal: Journal = open_journal(self.file, lambda: None, stage.queue)

    def judged(self) -> Undoing:
        return judged(self.journal, self._exported(), self._look)

    def _exported(self) -> Sequence[Document]:
        attributes = {"ERROR_CODE": {"DataType": "String", "StringValue": "INVALID_JSON"}}
        return [
            {"message_id": one, "body": f'{{"name": "{self._stage.letters[one]}"}}', "attributes": attributes}
            for one in self._stage.exported
        ]

    def _look(self, name: str) -> Iterator[Any]:
        url = self.sqs.get_queue_url(QueueName=name.rsplit(":", 1)[-1])["QueueUrl"]
        look = self._looks.enter_context(looking(self.sqs, url, hidden_s=60, now=self._stage.world.clock.now))
        return ((url, message) for message in look.letters())


@pytest.fixture
def undone(stage: Stage) -> Iterator[Undone]:
    with ExitStack() as looks:
        yield Undone(stage, looks)


def names(stage: Stage, queue: str) -> list[str]:
    url = stage.world.client("sqs").get_queue_url(QueueName=queue)["QueueUrl"]
    stage.world.advance(seconds=61)
    return sorted(name_in(one["Body"]) for one in received(stage.world, url))


def test_what_waits_can_be_moved_back_discards_restored_and_the_rest_is_told(stage: Stage, undone: Undone) -> None:
    found = undone.judged()

    counts = {(answer, read_destination(to).kind.value if to else ""): n for (answer, to), n in found.counts.items()}
    assert counts == {
        (Undo.MOVE_BACK, "queue"): 13, (Undo.RESTORE, ""): 2, (Undo.NEVER, "function"): 2, (Undo.NEVER, "bus"): 2,
        (Undo.NEVER, "topic"): 2, (Undo.NEVER, "api"): 2,
    }  # fmt: skip


def test_undo_brings_letters_back_once(stage: Stage, undone: Undone) -> None:
    found = undone.judged()
    now, sqs = stage.world.clock.now, undone.sqs

    restored = restore(found, sqs, stage.queue, undone.journal, now)
    moved = move_back(found, sqs, stage.queue, undone.journal, now)
    again = undone.judged()

    assert (restored, moved) == (2, 13)
    assert not [one for one, answer in again.answers.items() if answer.is_possible]
    assert names(stage, "orders") == []
    back = names(stage, "dead")
    assert [name for name in back if name.startswith("bad")] == ["bad-0", "bad-1"]
    assert sum(name.startswith("order") for name in back) == 14


def test_restored_letter_has_its_attributes_again(stage: Stage, undone: Undone) -> None:
    restore(undone.judged(), undone.sqs, stage.queue, undone.journal, stage.world.clock.now)

    stage.world.advance(seconds=61)
    shown = undone.sqs.receive_message(QueueUrl=stage.queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
    codes = {one["MessageAttributes"]["ERROR_CODE"]["StringValue"] for one in shown["Messages"] if "bad" in one["Body"]}
    assert codes == {"INVALID_JSON"}


def test_message_that_waits_can_be_deleted_instead(stage: Stage, undone: Undone) -> None:
    found = undone.judged()

    assert delete(found, undone.sqs, undone.journal, stage.world.clock.now) == 13
    assert names(stage, "orders") == []


def test_message_that_a_consumer_has_taken_is_gone(stage: Stage, undone: Undone) -> None:
    stage.delivered()

    found = undone.judged()

    assert len(found.of(Undo.GONE)) == 13
    assert found.of(Undo.MOVE_BACK) == []


def test_doubtful_letter_is_told_and_left(stage: Stage, undone: Undone) -> None:
    undone.journal.sending(["m-9"], "queue:orders", stage.world.now)

    assert undone.judged().of(Undo.DOUBTFUL) == ["m-9"]


def test_undo_that_was_killed_is_told_as_half_done_and_sends_nothing_twice(stage: Stage, undone: Undone) -> None:
    found = undone.judged()

    class Dies:
        """SQS whose answer is lost."""

        def send_message_batch(self, **params: Any) -> Any:
            undone.sqs.send_message_batch(**params)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move_back(found, Dies(), stage.queue, undone.journal, stage.world.clock.now)
    again = undone.judged()

    assert len(again.of(Undo.HALF)) == 10
    assert f"queue:arn:aws:sqs:{ACCOUNT}:orders" in again.targets.values()
