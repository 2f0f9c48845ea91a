"""How much work a search is, in counts that do not depend on the machine.

A number may fall; one that rises has made every proof slower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import boto3
import pytest

from redrive.prove.process import subject as subjects
from redrive.prove.process.subject import GivenSubject, Subject
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.contents import Contents
from redrive.store.contents import ContentStore
from tests.unit.prove.conftest import example

Counted = Callable[[Subject, int], "Work"]


@dataclass(frozen=True)
class Work:
    """What a proof has done. `asked` and `known` are questions that the engine, or what is known, has answered."""

    histories: int
    runs: int
    asked: int
    known: int
    statements: int
    imports: int

    def is_within(self, budget: Work) -> bool:
        return all(
            getattr(self, name) <= getattr(budget, name) for name in Work.__dataclass_fields__ if name != "known"
        )


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    made: list[Contents] = []
    counts: Counter[str] = Counter()
    make_contents, loader_class = Contents.__init__, vars(subjects)["_Loader"]
    run_module = loader_class.exec_module

    def contents(one: Contents, store: ContentStore) -> None:
        make_contents(one, store)
        made.append(one)
        store.connection.set_trace_callback(lambda _: counts.update(["statements"]))

    def run(loader: Any, module: Any) -> None:
        counts["imports"] += 1
        run_module(loader, module)

    monkeypatch.setattr(Contents, "__init__", contents)
    monkeypatch.setattr(loader_class, "exec_module", run)

    def count(subject: Subject, faults: int) -> Work:
        bounds = prove(subject, Options(faults=faults)).bounds
        asked, known = (sum(getattr(one, name) for one in made) for name in ("asked", "known"))
        return Work(bounds.histories, bounds.runs, asked, known, counts["statements"], counts["imports"])

    return count


def writes_under_a_key(event: Any, context: Any) -> None:
    boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": "daily"}})


@pytest.mark.parametrize(
    ("subject", "faults", "budget"),
    [
        (GivenSubject(writes_under_a_key), 1, Work(11, 17, 95, 26, 2_500, 0)),
        (GivenSubject(writes_under_a_key), 2, Work(92, 153, 700, 329, 9_500, 0)),
        (GivenSubject(writes_under_a_key), 3, Work(639, 1_101, 4_450, 2_480, 54_000, 0)),
        (example("safe"), 1, Work(29, 59, 230, 192, 4_150, 75)),
        (example("safe"), 2, Work(434, 950, 2_100, 3_190, 26_500, 966)),
    ],
)
def test_search_is_no_more_work_than_it_was(subject: Subject, faults: int, budget: Work, counted: Counted) -> None:
    work = counted(subject, faults)

    assert work.is_within(budget), work
    assert work.known >= budget.known * 0.95, work
