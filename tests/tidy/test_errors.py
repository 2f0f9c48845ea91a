"""Who swallows errors, and which ones pass by whoever does: few places, each with its reason."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from tests.tidy.source import PACKAGE, Source, findings, sources

BROAD = re.compile(r"# noqa:.*\bBLE001\b")
REASONED = re.compile(r"# noqa: [A-Z0-9, ]+ - .{10,}")

# Modules with an `except Exception` that does not raise again: how many, and why there.
BROAD_EXCEPTS: dict[str, tuple[int, str]] = {
    "deadletters/preflight.py": (1, "it runs the user's parser on a letter"),
    "delivery/deliver.py": (3, "a defect in one delivery is put off, and the others go on"),
    "engine/driver.py": (3, "the supervisor of the loop in real time"),
    "engine/engine.py": (2, "the supervisor of a round: which worker failed, and whether the others can go on"),
    "engine/provisioning.py": (1, "the supervisor of the thread that keeps environments ready"),
    "engine/virtual.py": (1, "instants that share a transaction are done again one by one"),
    "gateway/app.py": (6, "every request is answered, and the log knows of the defect"),
    "gateway/chain.py": (1, "a result that cannot be written is answered as a defect"),
    "gateway/downloads.py": (1, "a client gets an answer, or sees that it is cut off, and the log knows why"),
    "gateway/streaming.py": (3, "every stream ends with an answer or an event, and the log knows of the defect"),
    "gateway/http/connection.py": (1, "a connection gets an answer, whatever its handler raised"),
    "handler/batch.py": (3, "a record that fails does not fail the batch"),
    "handler/events.py": (1, "an entry that fails does not hide how the others ended"),
    "handler/idempotency.py": (2, "an error of the ledger does not hide the function's own"),
    "invoke/runtime/client.py": (2, "it runs the user's module"),
    "invoke/runtime/python_runtime.py": (2, "it runs the user's module and function"),
    "invoke/runtime/handlers.py": (1, "it runs the user's function"),
    "invoke/inline.py": (1, "it runs the user's module"),
    "languages/states/jsonata/evaluation.py": (2, "a value that the library does not expect fails its expression only"),
    "prove/play/runs.py": (1, "it runs the user's module"),
    "prove/whole.py": (1, "one function's defect must not stop the proofs of the others"),
    "prove/process/threads.py": (3, "it runs the user's threads, and raises their errors where they belong"),
    "services/lambda_/workers/mappings.py": (1, "a defect in settling one batch is told, and the others go on"),
    "services/lambda_/workers/streams.py": (1, "as above"),
    "services/stepfunctions/workers/executions.py": (1, "a defect in one execution is told, and the others go on"),
    "services/stepfunctions/workers/map_runs.py": (1, "as above"),
    "store/sqlite.py": (3, "what a step raises is the step's answer, and the batch goes on"),
    "store/postgres/database.py": (1, "the branches of a step end before the first exception is raised in the step"),
    "store/postgres/lane.py": (1, "a step's exception is its answer; the batch goes on"),
    "testing/endpoint.py": (1, "every request of another process is answered"),
}

# Errors that are no Exception, as `path:class`: control flow that passes by whoever catches Exception.
FLOW: dict[str, str] = {
    "prove/play/state.py:Endless": "the user's handler must not go on",
    "prove/play/running.py:Died": "the process of the user's handler ends",
    "prove/process/threads.py:Unordered": "the user's handler must not go on",
    "prove/stage/tape.py:Known": "the user's handler need not go on",
    "prove/stage/tape.py:Strayed": "the user's handler must not go on",
    "sim/checkers/failures.py:RuleBroken": "the engine under test survives every Exception",
    "sim/weather.py:AnswerLost": "the engine under test survives every Exception",
    "store/contents.py:StaleRead": "a step runs again, whatever it catches",
    "store/api.py:StartAnew": "a step that catches Exception must not keep what has to be undone",
}


def broad_excepts(source: Source) -> list[tuple[int, str]]:
    """Line and text of the places that swallow whatever is raised, as the linter was told to let them."""
    return [(line, text) for line, text in enumerate(source.text.splitlines(), 1) if BROAD.search(text)]


def unreasoned_excepts(source: Source) -> Iterator[str]:
    """Each of them says why it is right."""
    for line, text in broad_excepts(source):
        if not REASONED.search(text):
            yield f"{source.path} line {line} swallows every error and gives no reason: # noqa: BLE001 - why"


def miscounted(counts: Mapping[str, int], allowed: Mapping[str, tuple[int, str]]) -> Iterator[str]:
    """Modules with other numbers of such places than the table has."""
    for path in sorted(counts.keys() | allowed.keys()):
        known, _ = allowed.get(path, (0, ""))
        if counts.get(path, 0) != known:
            yield f"{path} swallows every error in {counts.get(path, 0)} places; BROAD_EXCEPTS has {known}"


def flow_errors(source: Source) -> Iterator[str]:
    """Classes that derive from BaseException itself."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if isinstance(base, ast.Name) and base.id in {"BaseException", "KeyboardInterrupt", "SystemExit"}:
                    yield f"{source.path}:{node.name} is no Exception: who may not catch it, and why?"


def test_every_error_is_swallowed_only_where_the_table_says_why() -> None:
    counts = Counter({source.path: len(broad_excepts(source)) for source in sources(PACKAGE)})

    assert list(miscounted(+counts, BROAD_EXCEPTS)) == []


def test_every_place_that_swallows_errors_gives_its_reason() -> None:
    assert findings(unreasoned_excepts, PACKAGE) == []


def test_errors_that_are_no_exception_are_control_flow_and_known() -> None:
    assert findings(flow_errors, PACKAGE, FLOW) == []


@pytest.mark.parametrize("reason", ["", " - x", " because of it all"])
def test_place_without_a_reason_is_seen(reason: str) -> None:
    text = f"try: f()\nexcept Exception:  # noqa: BLE001{reason}\n    pass\n"

    assert len(list(unreasoned_excepts(Source("a.py", text)))) == 1


def test_place_with_a_reason_passes_beside_another_code() -> None:
    text = "try: f()\nexcept BaseException:  # noqa: BLE001, S110 - It is raised again.\n    pass\n"

    assert len(broad_excepts(Source("a.py", text))) == 1
    assert list(unreasoned_excepts(Source("a.py", text))) == []


def test_one_place_more_or_less_than_the_table_is_seen() -> None:
    allowed = {"a.py": (2, "why"), "b.py": (1, "why")}

    assert list(miscounted({"a.py": 2, "b.py": 1}, allowed)) == []
    assert [found.split()[0] for found in miscounted({"a.py": 3, "c.py": 1}, allowed)] == ["a.py", "b.py", "c.py"]


def test_error_that_passes_by_whoever_catches_exception_is_seen() -> None:
    text = "class A(BaseException): ...\nclass B(Exception): ...\n"

    assert [found.split()[0] for found in flow_errors(Source("a.py", text))] == ["a.py:A"]
