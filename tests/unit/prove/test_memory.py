"""What an execution environment remembers is told, kept and put back, whatever holds it."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.prove.judge.judge import Rule
from redrive.prove.play.faults import Leg
from redrive.prove.play.performance import Performance
from redrive.prove.play.transport import Short
from redrive.prove.process.memory import Memory, memory_of
from redrive.prove.process.subject import Modules, subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import usual_trigger

HOLDERS = """
    import collections, dataclasses, enum, functools

    class Colour(enum.Enum):
        RED = 1

    class Counter:
        total = 0
        def __init__(self):
            self.own = []

    class Slotted:
        __slots__ = ("count",)
        def __init__(self):
            self.count = 0

    listed, named, once, last = [], {}, set(), collections.deque()
    ordered, raw = collections.OrderedDict(), bytearray(b"-")
    counter, slotted, number, colour = Counter(), Slotted(), 0, Colour.RED

    @functools.lru_cache(maxsize=2)
    def squared(value):
        return value * value

    def defaulted(value, seen=[]):
        seen.append(value)
        return len(seen)

    def closed():
        kept = 0
        def add(value):
            nonlocal kept
            kept += value
            return kept
        return add

    added = closed()

    def handler(event, context):
        global number
        if event == "tell":
            return repr([
                listed, named, once, last, ordered, raw, counter.own, Counter.total, slotted.count, number,
                squared.cache_info().currsize, defaulted.__defaults__, added(0),
            ])
        listed.append(event)
        named.setdefault("deep", {}).setdefault("list", []).append(event)
        once.add(event)
        last.append(event)
        ordered[event] = event
        ordered.move_to_end(event, last=False)
        raw.append(event)
        counter.own.append(event)
        Counter.total += event
        slotted.count += event
        number += event
        squared(event)
        defaulted(event)
        added(event)
        named["late"] = handler
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[object, Modules]]:
    folder = tmp_path_factory.mktemp("holders")
    (folder / "holders.py").write_text(textwrap.dedent(HOLDERS))
    modules: Modules = {}
    with subject_of("holders:handler", folder).environment(modules) as handler:
        yield handler, modules


@settings(max_examples=25, deadline=None)
@given(first=st.lists(st.integers(0, 9), max_size=4), second=st.lists(st.integers(0, 9), max_size=4))
def test_whatever_a_module_holds_is_put_back(
    environment: tuple[object, Modules], first: list[int], second: list[int]
) -> None:  # fmt: skip
    handler, modules = environment
    new = memory_of(modules)

    play(handler, first)
    before, memory = handler("tell", None), memory_of(modules)  # type: ignore[operator]
    play(handler, second)
    memory.put_back()

    assert handler("tell", None) == before  # type: ignore[operator]
    assert memory_of(modules).told == memory.told
    assert (memory.told == new.told) == (not first)
    new.put_back()


def play(handler: object, events: list[int]) -> None:
    for event in events:
        handler(event, None)  # type: ignore[operator]


def test_names_that_hold_something_else_are_told(environment: tuple[object, Modules]) -> None:
    handler, modules = environment
    new = memory_of(modules)

    play(handler, [1])

    assert {"listed", "named", "squared", "defaulted", "added", "number"} <= set(memory_of(modules).names_changed(new))
    new.put_back()


def memory_in(folder: Path, text: str) -> Memory:
    (folder / "held.py").write_text(textwrap.dedent(text))
    modules: Modules = {}
    with subject_of("held:handler", folder).environment(modules):
        return memory_of(modules)


def test_what_cannot_be_set_back_is_told(tmp_path: Path) -> None:
    memory = memory_in(tmp_path, "import itertools\nnumbers = itertools.count()\ndef handler(event, context): ...\n")

    assert memory.unkept == "a count, whose position cannot be set back"


def test_client_that_is_made_late_is_no_memory(tmp_path: Path) -> None:
    late = "import boto3\nclient = {}\ndef handler(event, context): ...\n"
    early = late.replace("{}", "boto3.client('sqs', region_name='us-east-1')")

    assert memory_in(tmp_path, late.replace("{}", "None")).told == memory_in(tmp_path, early).told


GOES_BY = '''
    import json, boto3
    {0}
    def handler(event, context):
        for record in event["Records"]:
            order = json.loads(record["body"])
            {1}
            boto3.resource("dynamodb").Table("orders").put_item(Item=order)
'''  # fmt: skip


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("import os", "if os.path.exists('/tmp/seen'): continue\n            open('/tmp/seen', 'w').close()"),
        ("def seen(key, keys=set()): return key in keys or keys.add(key)", "if seen(order['id']): continue"),
    ],
    ids=["file", "default"],
)
def test_memory_of_any_kind_is_found_and_named_only_where_environments_are_used_again(
    tmp_path: Path, kept: str, asked: str
) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(GOES_BY.format(kept, asked)))
    subject = subject_of("app:handler", tmp_path)
    options = Options(faults=1, bodies=('{"id": "order-1"}',))

    found = prove(subject, options).counterexample
    cold = prove(subject, Options(faults=1, bodies=options.bodies, warm=False)).counterexample

    assert found is not None
    assert found.violation.rule is Rule.ALL
    assert found.cause == "memory of the environment"
    assert any(
        "in the same environment as run 1 before, which still has what it left in" in one.text for one in found.steps
    )
    assert cold is None


DIES = """
    import json, boto3
    begun = []
    def handler(event, context):
        for record in event["Records"]:
            order = json.loads(record["body"])
            boto3.resource("dynamodb").Table("orders").put_item(Item={"id": order["id"], "begun": len(begun)})
            begun.append(order["id"])
            %s
"""


@pytest.mark.parametrize("ends", ["import os; os._exit(1) if False else None", "raise SystemExit(1)"])
def test_run_that_dies_takes_its_environment_with_it(tmp_path: Path, ends: str) -> None:
    (tmp_path / "dies.py").write_text(textwrap.dedent(DIES % ends))
    subject = subject_of("dies:handler", tmp_path)
    with contextlib.closing(Performance(subject, seed=0, is_warm=True)) as performance:
        performance.begin(usual_trigger(performance.stage, ('{"id": "order-1"}',)))
        with performance.entered(Short(performance.stage)):
            performance.stage.call(
                "dynamodb", "CreateTable", TableName="orders", BillingMode="PAY_PER_REQUEST",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            )  # fmt: skip
            performance.play(Leg())

            assert len(performance.reusable) == (0 if "SystemExit" in ends else 1)


def everything(performance: Performance) -> object:
    """Takes no two moments for equal."""
    return object()


def test_pruned_search_in_used_environments_finds_what_a_thorough_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skips = "if order['id'] in seen: continue"
    texts = {"app": skips, "late": f"{skips}\n            seen.append(order['id'])"}
    for name, asked in texts.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(GOES_BY.format("seen = []", asked)))
    options = Options(faults=1, bodies=('{"id": "order-1"}',))
    pruned = [prove(subject_of(f"{name}:handler", tmp_path), options) for name in ("app", "late")]

    monkeypatch.setattr(Performance, "likeness", everything)
    thorough = [prove(subject_of(f"{name}:handler", tmp_path), options) for name in ("app", "late")]

    rules = [one.counterexample and one.counterexample.violation.rule for one in pruned]
    assert rules == [None, Rule.ALL]
    assert rules == [one.counterexample and one.counterexample.violation.rule for one in thorough]
