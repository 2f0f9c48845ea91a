"""A search in several processes finds the same, in the same histories, and counts the same as in one."""

from __future__ import annotations

import multiprocessing
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest

from redrive.core.errors import Bug
from redrive.prove.judge.judge import Judge
from redrive.prove.play.performance import Performance
from redrive.prove.process.subject import NamedSubject, subject_of
from redrive.prove.proving import prove
from redrive.prove.search import processes
from redrive.prove.search.options import Options
from redrive.prove.search.order import Played
from tests.unit.prove.conftest import example
from tests.unit.prove.test_differential import told

pytestmark = pytest.mark.skipif(not processes.may_fork(), reason="processes cannot be copied here")


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are children from the first history on."""
    monkeypatch.setattr(processes, "SHARED_MIN", 1)
    monkeypatch.setattr(processes, "ALONE_MS_MAX", -1)


def test_children_that_begin_with_the_last_histories_know_what_the_parent_knew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ALONE_MS_MAX", 1_000_000)
    options = Options(faults=2)

    assert told(prove(example("safe"), replace(options, jobs=3))) == told(prove(example("safe"), options))


@pytest.mark.parametrize(
    ("name", "faults"), [("safe", 1), ("message_id_as_key", 3), ("no_condition", 3), ("running_means_skip", 3)]
)
def test_what_is_found_and_counted_does_not_depend_on_the_number_of_processes(name: str, faults: int) -> None:
    alone = Options(faults=faults)
    progress: dict[int, list[tuple[int, int]]] = {1: [], 3: []}

    def prove_in(jobs: int) -> tuple[object, ...]:
        verdict = prove(
            example(name), replace(alone, jobs=jobs),
            progress=lambda faults, histories, *_: progress[jobs].append((faults, histories)),
        )  # fmt: skip
        return told(verdict)

    assert prove_in(3) == prove_in(1)
    assert progress[3] == progress[1]


def test_history_that_a_process_played_too_early_is_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far ahead of the parent, children know little of each other."""
    monkeypatch.setattr(processes, "AHEAD_MAX", 200)
    options = Options(faults=2)

    assert told(prove(example("safe"), replace(options, jobs=4))) == told(prove(example("safe"), options))


def test_search_that_is_stopped_has_what_it_has_come_to() -> None:
    left = iter(range(40))

    verdict = prove(example("safe"), Options(faults=2, jobs=2), may_go_on=lambda: next(left, None) is not None)

    assert (verdict.bounds.histories, verdict.bounds.complete_faults, verdict.bounds.is_finished) == (40, 1, False)


def test_process_that_has_ended_is_told_nothing_more() -> None:
    """Its last words wait to be read: they say why it has ended."""
    ours, theirs = multiprocessing.Pipe()
    done: SimpleQueue[processes._Done | None] = SimpleQueue()
    child = processes._Child(0, ours, threading.Thread(), done)  # noqa: SLF001
    done.put(processes._Done(0, 0, Played(), (), Bug("the judge is at a loss")))  # noqa: SLF001
    theirs.close()

    child.order(stands=True)

    with pytest.raises(Bug, match="at a loss"):
        child.next(0, 0)


def test_error_in_a_process_is_that_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    subject: NamedSubject = example("safe")
    original, calls = Judge.after_leg, iter(range(20))

    def fail(judge: Judge, performance: Performance, events: object) -> object:
        if next(calls, None) is None:
            raise Bug("the judge is at a loss")
        return original(judge, performance, events)  # type: ignore[arg-type]

    monkeypatch.setattr(Judge, "after_leg", fail)

    with pytest.raises(Bug, match="at a loss"):
        prove(subject, Options(faults=2, jobs=2))


def test_processes_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are killed in the middle of histories, while the handler has files under its /tmp."""
    (tmp_path / "code").mkdir()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "code" / "app_noting.py").write_text(
        "import boto3\nclient = boto3.client('dynamodb')\n"
        "def handler(event, context):\n"
        "    with open('/tmp/note', 'w') as file:\n"
        "        file.write('daily')\n"
        "    for number in range(4):\n"
        "        client.put_item(TableName='reports', Item={'id': {'S': str(number)}})\n"
    )
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    left = iter(range(60))

    prove(
        subject_of("app_noting:handler", tmp_path / "code"), Options(faults=3, jobs=3),
        may_go_on=lambda: next(left, None) is not None,
    )  # fmt: skip

    assert list((tmp_path / "temporary").iterdir()) == []
