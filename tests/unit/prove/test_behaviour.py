"""A run whose observations are known is played without its code, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from redrive.delivery.outside.invocation import Invocation
from redrive.invoke.runtime import handlers
from redrive.invoke.runtime.handlers import Answer
from redrive.prove.play import runs
from redrive.prove.play.behaviour import Behaviour, End
from redrive.prove.play.running import Run
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict
from tests.unit.prove.conftest import example
from tests.unit.prove.test_differential import told, watched

HANDLERS = {
    "catches_and_sleeps": """
import time
import urllib.request
import boto3
from botocore.exceptions import ClientError
table = boto3.resource("dynamodb").Table("reports")
def handler(event, context):
    try:
        known = table.get_item(Key={"id": "daily"})
    except ClientError as error:
        print("no answer:", error)
        raise
    time.sleep(2)
    request = urllib.request.Request("https://api.example.com/reports/daily", data=b"{}", method="PUT")
    try:
        urllib.request.urlopen(request).read()
    finally:
        table.put_item(Item={"id": "daily", "known": "Item" in known})
""",
    "in_an_event_loop": """
import asyncio
import boto3
client = boto3.client("dynamodb")
def handler(event, context):
    async def write(number):
        await asyncio.sleep(number)
        client.put_item(TableName="reports", Item={"id": {"S": str(number)}})
    async def all_of_them():
        await asyncio.gather(write(1), write(2))
    asyncio.run(all_of_them())
""",
    "remembers_what_it_has_done": """
import boto3
client = boto3.client("dynamodb")
done = {}
def handler(event, context):
    for record in event["Records"]:
        if record["body"] in done and len(done) < 3:
            continue
        client.put_item(TableName="reports", Item={"id": {"S": "daily"}})
        done[record["body"]] = record["messageId"]
        done[context.aws_request_id] = record["attributes"]["ApproximateReceiveCount"]
        client.get_item(TableName="reports", Key={"id": {"S": str(len(done))}})
""",
    "with_a_thread_and_a_file": """
import threading
import boto3
client = boto3.client("dynamodb")
def handler(event, context):
    with open("/tmp/note", "w") as file:
        file.write("daily")
    def write():
        with open("/tmp/note") as file:
            client.put_item(TableName="reports", Item={"id": {"S": file.read()}})
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
""",
}


def with_its_code(patch: pytest.MonkeyPatch, proved: Callable[[], Verdict]) -> tuple[Verdict, set[bytes]]:
    """A verdict where each run has its code, and the ends of all histories."""
    with patch.context() as context, watched(patch) as ends:
        context.setattr(Behaviour, "is_the_same", property(lambda _: False, lambda *_: None), raising=False)
        return proved(), ends.seen


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("name", "faults"), [*((name, 2) for name in HANDLERS), ("safe", 2), ("powertools_replaced", 1)]
)
def test_histories_are_the_same_with_and_without_code(
    name: str, faults: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in HANDLERS:
        (tmp_path / f"app_{name}.py").write_text(HANDLERS[name])
    subject = subject_of(f"app_{name}:handler", tmp_path) if name in HANDLERS else example(name)
    options = Options(faults=faults)

    with watched(monkeypatch) as quick:
        verdict = prove(subject, options)
    plain, ends = with_its_code(monkeypatch, lambda: prove(subject, options))

    assert told(verdict) == told(plain)
    assert quick.seen == ends


def test_run_that_is_known_has_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    original, played = handlers.run_handler, []

    def run_handler(*arguments: object) -> Answer:
        played.append(arguments)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "run_handler", run_handler)

    verdict = prove(example("safe"), Options(faults=2))

    assert len(played) < verdict.bounds.runs / 2


def test_run_that_is_known_has_no_code_where_its_environment_remembers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app_remembering.py").write_text(HANDLERS["remembers_what_it_has_done"])
    played: list[str] = []
    original = runs.Runs._played  # noqa: SLF001

    def note(self: runs.Runs, invocation: Invocation, run: Run) -> End:
        played.append(invocation.request_id)
        return original(self, invocation, run)

    monkeypatch.setattr(runs.Runs, "_played", note)

    verdict = prove(subject_of("app_remembering:handler", tmp_path), Options(faults=2))

    assert len(played) < verdict.bounds.runs / 2


def test_handler_that_is_not_the_same_from_run_to_run_has_its_code_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts its runs where they cannot be seen: in a module that is not imported anew."""
    (tmp_path / "app_counting.py").write_text(
        "import sys\nimport boto3\nclient = boto3.client('dynamodb')\n"
        "def handler(event, context):\n"
        "    sys.runs = getattr(sys, 'runs', 0) + 1\n"
        "    if sys.runs > 60:\n"
        "        client.get_item(TableName='reports', Key={'id': {'S': 'daily'}})\n"
        "    client.put_item(TableName='reports', Item={'id': {'S': 'daily'}})\n"
    )
    made: list[Behaviour] = []
    original = Behaviour.__init__

    def note(behaviour: Behaviour) -> None:
        original(behaviour)
        made.append(behaviour)

    monkeypatch.setattr(Behaviour, "__init__", note)

    verdict = prove(subject_of("app_counting:handler", tmp_path), Options(faults=2))

    assert verdict.counterexample is None
    assert [one.is_the_same for one in made] == [False]
