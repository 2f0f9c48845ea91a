"""A leg that begins like one that was played is the same with what is known of it as without."""

from __future__ import annotations

import traceback

import pytest

from redrive.core.errors import ServiceError
from redrive.prove.play.faults import Fault, Leg, Strike
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.process.clients import remembered_clients
from redrive.prove.stage.question import Question
from redrive.prove.stage.tables import Improvised
from redrive.prove.stage.tape import Answered, Beginning, Strayed
from redrive.prove.stage.trigger import SAMPLE_EVENT, bodies_of, usual_trigger
from tests.unit.prove.conftest import example

AFTER = (Fault.CRASH_AFTER, Fault.LOST)
BEFORE = (Fault.THROTTLED, Fault.LOST_AND_RETRIED, Fault.OVERLAP, Fault.OVERLAP_LATE, Fault.OUTAGE, Fault.AGAIN)


@pytest.fixture
def performance() -> Performance:
    """The safe example with its message sent. Its tables are there, as they are in a search."""
    bodies = bodies_of(SAMPLE_EVENT)
    improvised = Improvised(bodies)
    performance = Performance(example("safe"), seed=1, improvised=improvised)
    trigger = usual_trigger(performance.stage, bodies)
    saved = performance.stage.save()
    performance.begin(trigger)
    with remembered_clients(), performance.entered(Short(performance.stage)):
        performance.play(Leg())
    performance.stage.load(saved)
    improvised.repeat(performance.stage)
    performance.begin(trigger)
    return performance


@pytest.mark.parametrize("fault", [*BEFORE, *AFTER])
@pytest.mark.parametrize("at", [1, 2])
def test_leg_played_from_a_mark_is_the_leg_played_from_its_beginning(
    performance: Performance, fault: Fault, at: int
) -> None:
    leg = Leg(strikes=(Strike(at, fault),))
    moment = performance.save()
    with remembered_clients(), performance.entered(Short(performance.stage)):
        performance.play(Leg(), is_marked=True)
        tape = performance.stage.tape
        performance.load(moment)
        anew = performance.play(leg), performance.stage.digest(), performance.journal.traces
        performance.load(moment)

        beginning = Beginning(tape.answers, tape.marks[at, fault in AFTER])
        known = performance.play(leg, beginning), performance.stage.digest(), performance.journal.traces

    assert known == anew


def test_tape_of_another_leg_is_no_help(performance: Performance) -> None:
    """What was answered to a run that was throttled at its first call is not what one is told that was not."""
    moment = performance.save()
    with remembered_clients(), performance.entered(Short(performance.stage)):
        performance.play(Leg(strikes=(Strike(0, Fault.THROTTLED),)), is_marked=True)
        tape = performance.stage.tape
        performance.load(moment)

        with pytest.raises(Strayed):
            performance.play(Leg(), Beginning(tape.answers, tape.marks[0, True]))


def test_refusal_that_is_given_again_keeps_no_frames_of_earlier_times() -> None:
    def refuse() -> None:
        raise ServiceError("ReceiptHandleIsInvalid", "no such receipt", http_status=400)

    answered = Answered.of(Question(("hold again",)), refuse)
    depths = []
    for _ in range(3):
        with pytest.raises(ServiceError) as raised:
            answered.given()
        depths.append(len(list(traceback.walk_tb(raised.value.__traceback__))))

    assert depths == [2, 2, 2]
