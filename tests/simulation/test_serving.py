"""The simulator reaches the store as a server does: batches, their reruns, and what strikes at all of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from redrive.core.clock import Instant
from redrive.core.errors import Conflict
from redrive.sim.checkers.executions import METRICS
from redrive.sim.checkers.happenings import Forgot, Happening, LeftMessage
from redrive.sim.fleet.nodes import Node
from redrive.sim.users.acts import event, receive
from redrive.sim.weather import AnswerLost, Hazard
from redrive.sim.world import Simulation
from redrive.wire.model.files import Models
from tests.simulation.stage import Stage


@pytest.fixture
def stage(models: Models) -> Iterator[Stage]:
    stage = Stage(models)
    yield stage
    stage.simulation.close()


@pytest.fixture
def url(stage: Stage) -> str:
    """A queue; one node serves all clients, the other is away."""
    stage.simulation.pause(stage.second, for_ms=1_000)
    return stage.workload.queue("mail")


class Sender:
    """A user who sends one message, and keeps what came of it."""

    def __init__(self, simulation: Simulation, url: str, key: str) -> None:
        self.name = key
        self.ended: list[str] = []
        self._client = simulation.client(key)
        self._url = url

    def act(self) -> Instant | None:
        try:
            self._client.call("sqs", "SendMessage", QueueUrl=self._url, MessageBody=event(self.name))
        except (Conflict, AnswerLost) as error:
            self.ended.append(type(error).__name__)
        else:
            self.ended.append("sent")
        return None


def send_together(stage: Stage, url: str, *keys: str) -> tuple[list[Sender], list[str]]:
    """Each user waits for an answer while the next one sends; and the statements of the node that serves them."""
    senders = [Sender(stage.simulation, url, key) for key in keys]
    for sender in senders:
        stage.simulation.add(sender, at=stage.simulation.now)
    statements: list[str] = []
    stage.first.process.store.connection.set_trace_callback(statements.append)
    stage.weather.crowd(len(keys) - 1)
    stage.passes(minutes=0.001)
    return senders, statements


def count(statements: list[str], word: str) -> int:
    return sum(statement.startswith(word) for statement in statements)


def test_steps_of_several_users_share_a_commit(stage: Stage, url: str) -> None:
    senders, statements = send_together(stage, url, "a", "b", "c")

    assert [sender.ended for sender in senders] == [["sent"]] * 3
    assert count(statements, "COMMIT") == 1
    assert sorted(stage.keys_in(url)) == ["a", "b", "c"]


def test_request_that_fails_after_it_has_written_has_all_of_its_batch_run_again(stage: Stage, url: str) -> None:
    """The batch is rolled back and runs again with savepoints: nothing of the failed request is there."""
    stage.weather.expect(Hazard.UNDONE, after=1)

    _, statements = send_together(stage, url, "a", "b", "c")

    assert (count(statements, "ROLLBACK TO"), count(statements, "SAVEPOINT step")) == (1, 4)
    assert sorted(stage.keys_in(url)) == ["a", "b", "c"]


def test_commit_that_conflicts_is_the_answer_of_all_its_steps(stage: Stage, url: str) -> None:
    stage.weather.expect(Hazard.CONFLICT)

    senders, _ = send_together(stage, url, "a", "b", "c")

    assert [sender.ended for sender in senders] == [["Conflict"]] * 3
    assert stage.keys_in(url) == []


def test_answers_of_a_commit_are_lost_together(stage: Stage, url: str) -> None:
    stage.weather.expect(Hazard.ANSWERS_LOST)

    senders, _ = send_together(stage, url, "a", "b", "c")

    assert [sender.ended for sender in senders] == [["AnswerLost"]] * 3
    assert sorted(stage.keys_in(url)) == ["a", "b", "c"]


@pytest.mark.parametrize(("after", "outcome", "left"), [(1, "Conflict", []), (2, "AnswerLost", ["a", "b"])])
def test_crash_before_the_commit_loses_a_batch_and_after_it_only_the_answers(
    stage: Stage, url: str, after: int, outcome: str, left: list[str]
) -> None:
    stage.weather.expect(Hazard.CRASH_IN_COMMIT, after=after)

    senders, _ = send_together(stage, url, "a", "b")

    assert [sender.ended for sender in senders] == [[outcome]] * 2
    assert sorted(stage.keys_in(url)) == left


def test_node_that_starts_again_has_empty_caches(stage: Stage, url: str) -> None:
    """A process reads anew what the one before it knew."""
    _send(stage, url)
    statements = _statements(stage.first)
    _send(stage, url)
    known = count(statements, "SELECT")

    stage.simulation.crash(stage.first, for_ms=0)
    statements = _statements(stage.first)
    _send(stage, url)

    assert count(statements, "SELECT") > known


def test_node_does_not_act_on_what_another_has_changed(stage: Stage) -> None:
    """Both have read the schedule; one changes it, and the other fires it no more."""
    url = stage.workload.queue("ticks")
    stage.workload.queue("ticks-dlq")
    stage.workload.schedule("hourly", "rate(1 hour)", "UTC", target="ticks")
    for node in (stage.first, stage.second):
        stage.simulation.beats.claim(node)
    params = {**stage.workload.schedules_made[0], "State": "DISABLED"}
    stage.simulation.pause(stage.second, for_ms=1)
    stage.simulation.client("editor").call("scheduler", "UpdateSchedule", **params)
    stage.passes(minutes=61)

    stage.simulation.beats.claim(stage.second)

    assert len(receive(stage.simulation, stage.simulation.reliable, url, visibility_s=0)) == 1  # That of the creation.


def test_crash_takes_what_a_node_has_counted_and_says_so(stage: Stage) -> None:
    """Metrics are counted in memory until their minute has ended; the checkers know how many were lost."""
    forgotten: list[float] = []

    class Watching:
        def observe(self, happening: Happening) -> None:
            if isinstance(happening, Forgot):
                forgotten.extend(total for series, total in happening.sums.items() if series.name == METRICS[0])

        def finish(self, left: Sequence[LeftMessage]) -> None:
            """Nothing is judged here."""

    stage.simulation.watch(Watching())
    stage.workload.queue("ticks")
    stage.workload.queue("ticks-dlq")
    stage.workload.schedule("hourly", "rate(1 hour)", "UTC", target="ticks")
    stage.simulation.beats.claim(stage.first)

    stage.simulation.crash(stage.first, for_ms=1)

    assert forgotten == [1.0, 1.0]


def _send(stage: Stage, url: str) -> None:
    stage.simulation.client("sender").call("sqs", "SendMessage", QueueUrl=url, MessageBody=event("a"))


def _statements(node: Node) -> list[str]:
    statements: list[str] = []
    node.process.store.connection.set_trace_callback(statements.append)
    return statements
