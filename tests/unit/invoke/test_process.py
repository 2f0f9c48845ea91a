"""Functions in processes of their own, under both runtimes: a handful of real processes, shared where they can be."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.sessions import Issuer
from redrive.delivery.outside.invocation import FunctionCode, InvocationResult, InvocationStatus, trace_id
from redrive.invoke.process import Limits, ProcessInvoker, default_runtime
from redrive.invoke.sandbox.pool import LIMIT_EXCEEDED, RESERVED_LIMIT_EXCEEDED
from redrive.invoke.sandbox.program import AWS_RUNTIME, OWN_RUNTIME, PACKAGE_ROOT
from tests.unit.invoke.functions import ENDPOINT_URL, REQUEST_ID, archive, invocation

NOW = 1_760_000_000_000

CODE = {
    "plain": archive(
        {
            "app.py": """
import logging, os, signal, sys, threading, time
print("loading")
runs = 0
def handler(event, context):
    global runs
    runs += 1
    match event:
        case "raise":
            raise ValueError("no")
        case "hang":
            threading.Event().wait()
        case "exit":
            os._exit(3)
        case "leave":
            sys.exit()
        case "abort":
            os.kill(os.getpid(), signal.SIGABRT)
        case "allocate":
            hoard = []
            while True:
                hoard.append(bytearray(4_000_000))
        case "big":
            return "x" * 7_000_000
        case "large":
            return len("é" * 1_000_000), "é" * 1_000_000
        case ["wait", opened, gate]:
            open(opened, "w").close()
            open(gate).close()
        case ["hold", gate]:
            reader = open(gate)
            threading.Event().wait()
        case "log":
            print("printed")
            logging.getLogger().error("logged")
            sys.stderr.write("unfinished")
        case "log errors":
            for name in ("first", "second"):
                try:
                    raise KeyError(name)
                except KeyError:
                    logging.getLogger().exception("of two\\nlines")
    return {
        "runs": runs, "pid": os.getpid(), "cwd": os.getcwd(), "path": sys.path, "environ": dict(os.environ),
        "time": time.time(),
        "remaining": context.get_remaining_time_in_millis(),
        "id": context.aws_request_id, "group": context.log_group_name,
    }
""",
            "json5.py": "mine = True",
        }
    ),
    "broken": archive({"app.py": "import no_such_module_here"}),
    "bare": archive({"app.py": "x = 1"}),
    "slow": archive({"app.py": "import threading\nthreading.Event().wait()"}),
    "damaged": b"no archive",
}


def invoker_in(workdir: Path, runtime: str, **limits: float) -> ProcessInvoker:
    return ProcessInvoker(
        CODE.__getitem__,
        workdir,
        endpoint_url=ENDPOINT_URL,
        clock=VirtualClock(NOW),
        entropy=SeededEntropy(1),
        issuer=Issuer(b"secret"),
        runtime=runtime,
        limits=Limits(**limits),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module", params=[AWS_RUNTIME, OWN_RUNTIME])
def runtime(request: pytest.FixtureRequest) -> str:
    runtime: str = request.param
    if runtime == AWS_RUNTIME and default_runtime() != AWS_RUNTIME:
        pytest.skip("AWS's runtime interface client is not installed")
    return runtime


@pytest.fixture(scope="module")
def invoker(runtime: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessInvoker]:
    invoker = invoker_in(tmp_path_factory.mktemp("work"), runtime)
    yield invoker
    invoker.close()


def body(result: InvocationResult) -> dict[str, object]:
    assert result.status is InvocationStatus.OK, result
    document = json.loads(result.payload)
    assert isinstance(document, dict)
    return document


def error(result: InvocationResult) -> tuple[str, str]:
    assert result.status is InvocationStatus.FUNCTION_ERROR, result
    document = json.loads(result.payload)
    return document["errorType"], document["errorMessage"]


def test_environment_is_reused_and_frozen_variables_are_lambdas(invoker: ProcessInvoker) -> None:
    first, second = invoker.invoke(invocation()), invoker.invoke(invocation())

    seen = body(first)
    environ = seen["environ"]
    assert isinstance(environ, dict)
    assert seen["pid"] == body(second)["pid"]
    assert first.init_ms is not None
    assert second.init_ms is None
    assert first.log_stream == second.log_stream == environ["AWS_LAMBDA_LOG_STREAM_NAME"]
    assert environ["COLOUR"] == "green"
    assert not set(environ) & {"USER", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST"}
    assert (seen["id"], seen["group"]) == (REQUEST_ID, "/aws/lambda/plain")
    assert first.memory_used_mb > 1


def test_function_reads_the_trace_of_its_run(invoker: ProcessInvoker) -> None:
    traced = replace(invocation(), trace_header="Root=1-5759e988")
    environ = body(invoker.invoke(traced))["environ"]
    assert isinstance(environ, dict)

    assert environ["_X_AMZN_TRACE_ID"] == "Root=1-5759e988"


def test_code_comes_first_on_the_search_path_and_is_the_working_directory(invoker: ProcessInvoker) -> None:
    seen = body(invoker.invoke(invocation()))

    path = seen["path"]
    assert isinstance(path, list)
    assert path[0] == seen["cwd"]
    assert str(PACKAGE_ROOT) in path


def test_function_counts_down_from_its_timeout_in_the_engines_virtual_time(invoker: ProcessInvoker) -> None:
    remaining = body(invoker.invoke(invocation(timeout_ms=60_000, revision="60 s")))["remaining"]

    assert isinstance(remaining, int)
    assert 50_000 < remaining <= 60_000


def test_run_takes_no_virtual_time_so_that_its_report_is_the_same_each_time(invoker: ProcessInvoker) -> None:
    first, second = (invoker.invoke(invocation(revision="timed")) for _ in range(2))

    assert (first.duration_ms, first.init_ms) == (0.0, 0.0)
    assert (second.duration_ms, second.init_ms) == (0.0, None)


def test_working_directory_may_be_given_relative_to_where_the_engine_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    invoker = invoker_in(Path("data"), default_runtime())

    result = invoker.invoke(invocation())
    invoker.close()

    assert body(result)["runs"] == 1


def test_function_code_reads_virtual_time_that_moves_between_its_runs(runtime: str, tmp_path: Path) -> None:
    clock = VirtualClock(NOW)
    invoker = ProcessInvoker(
        CODE.__getitem__,
        tmp_path,
        endpoint_url=ENDPOINT_URL,
        clock=clock,
        entropy=SeededEntropy(1),
        issuer=Issuer(b"secret"),
        runtime=runtime,
    )
    first = body(invoker.invoke(invocation()))["time"]
    clock.move_to(NOW + 86_400_000)

    second = body(invoker.invoke(invocation()))["time"]
    invoker.close()

    assert isinstance(first, float)
    assert isinstance(second, float)
    assert 0 <= first - NOW / 1000 < 5
    assert 86_395 < second - first < 86_405


def test_output_comes_in_lines_and_what_loading_wrote_belongs_to_the_first_run(runtime: str, tmp_path: Path) -> None:
    invoker = invoker_in(tmp_path, runtime)

    texts = [[line.text for line in invoker.invoke(invocation(event="log")).lines] for _ in range(2)]
    invoker.close()

    assert texts[0][:2] == ["loading", "printed"]
    assert texts[1][0] == "printed"
    assert texts[1][1].startswith("[ERROR]\t")
    assert texts[1][1].endswith(f"Z\t{REQUEST_ID}\tlogged")
    assert texts[1][2] == "unfinished"


def test_record_of_several_lines_is_one_event(invoker: ProcessInvoker) -> None:
    *_, first, second = (line.text for line in invoker.invoke(invocation(event="log errors")).lines)

    assert "\tof two\nlines\nTraceback (most recent call last):\n" in first
    assert first.endswith("KeyError: 'first'")
    assert second.startswith("[ERROR]\t")
    assert second.endswith("KeyError: 'second'")


def test_exception_of_the_handler_leaves_the_environment_warm(invoker: ProcessInvoker) -> None:
    before, failed, after = (invoker.invoke(invocation(event=event)) for event in (None, "raise", None))

    assert error(failed) == ("ValueError", "no")
    assert json.loads(failed.payload)["stackTrace"][0].endswith('in handler\n    raise ValueError("no")\n')
    assert failed.lines[0].text.startswith("[ERROR] ValueError: no\nTraceback")
    assert body(before)["pid"] == body(after)["pid"]


def test_event_larger_than_the_sockets_buffers_arrives_whole(invoker: ProcessInvoker) -> None:
    """What the connection does not take at once is sent as the runtime reads it."""
    result = invoker.invoke(invocation(event="x" * 24_000_000, memory_mb=512, timeout_ms=3_000, revision="roomy"))

    assert result.status is InvocationStatus.OK, result


def test_large_answer_passes_whole(invoker: ProcessInvoker) -> None:
    length, text = json.loads(invoker.invoke(invocation(event="large")).payload)

    assert (length, len(text)) == (1_000_000, 1_000_000)


def test_answer_beyond_six_megabytes_is_refused(invoker: ProcessInvoker) -> None:
    assert error(invoker.invoke(invocation(event="big")))[0] == "Function.ResponseSizeTooLarge"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ("exit", "Runtime exited with error: exit status 3"),
        ("leave", "Runtime exited without providing a reason"),
        ("abort", "Runtime exited with error: signal: aborted"),
        ("allocate", "Runtime exited with error: signal: killed"),
    ],
)
def test_process_that_ends_without_an_answer_is_an_exit_error(invoker: ProcessInvoker, event: str, reason: str) -> None:
    result, after = invoker.invoke(invocation(event=event)), invoker.invoke(invocation())

    assert error(result) == ("Runtime.ExitError", f"RequestId: {REQUEST_ID} Error: {reason}")
    assert result.lines[-1].text == f"RequestId: {REQUEST_ID} Error: {reason}\nRuntime.ExitError"
    assert body(after)["runs"] == 1


def test_run_beyond_its_timeout_is_killed_and_says_so(invoker: ProcessInvoker) -> None:
    result = invoker.invoke(invocation(event="hang", timeout_ms=100))

    message = "Task timed out after 0.10 seconds"
    assert error(result) == ("Sandbox.Timedout", f"RequestId: {REQUEST_ID} Error: {message}")
    assert result.lines[-1].text == f"2025-10-09T08:53:20.000Z {REQUEST_ID} {message}"
    assert body(invoker.invoke(invocation()))["runs"] == 1


def test_function_that_cannot_be_loaded_is_a_function_error(invoker: ProcessInvoker) -> None:
    broken, bare = invoker.invoke(invocation("broken")), invoker.invoke(invocation("bare"))

    assert error(broken)[0] == "Runtime.ImportModuleError"
    assert error(broken)[1] == "Unable to import module 'app': No module named 'no_such_module_here'"
    assert error(bare) == ("Runtime.HandlerNotFound", "Handler 'handler' missing on module 'app'")


def test_loading_that_takes_too_long_is_tried_once_more_within_the_timeout(tmp_path: Path) -> None:
    invoker = invoker_in(tmp_path, OWN_RUNTIME, init_ms_max=60)

    result = invoker.invoke(invocation("slow", timeout_ms=90))
    invoker.close()

    assert error(result)[0] == "Sandbox.Timedout"
    assert result.duration_ms >= 90


def test_code_that_cannot_be_unpacked_is_a_service_error(invoker: ProcessInvoker) -> None:
    result = invoker.invoke(invocation("damaged"))

    assert result.status is InvocationStatus.SERVICE_ERROR
    assert "Could not unzip" in result.error


def test_runtime_that_is_not_python_is_a_service_error(invoker: ProcessInvoker) -> None:
    code = FunctionCode("plain", "app.handler", "nodejs22.x")

    result = invoker.invoke(replace(invocation(), code=code, revision="nodejs"))

    assert result.status is InvocationStatus.SERVICE_ERROR
    assert "nodejs22.x" in result.error


def test_several_environments_of_a_function_run_at_once_within_bounds(tmp_path: Path) -> None:
    invoker = invoker_in(tmp_path, OWN_RUNTIME, concurrency_max=4)
    opened, gates = [tmp_path / "opened1", tmp_path / "opened2"], [tmp_path / "gate1", tmp_path / "gate2"]
    for path in (*opened, *gates):
        os.mkfifo(path)

    with ThreadPoolExecutor(2) as threads:
        runs = [
            threads.submit(invoker.invoke, invocation(event=["wait", str(one), str(gate)]))
            for one, gate in zip(opened, gates, strict=True)
        ]
        for path in opened:
            path.open().close()  # Opens when the function has opened its end: both run now.
        throttled = invoker.invoke(invocation()), invoker.invoke(invocation(reserved=2))
        for gate in gates:
            gate.open("w").close()
        results = [run.result() for run in runs]
    invoker.close()

    assert [result.error for result in throttled] == [LIMIT_EXCEEDED, RESERVED_LIMIT_EXCEEDED]
    assert {result.status for result in throttled} == {InvocationStatus.THROTTLED}
    assert len({body(result)["pid"] for result in results}) == 2


def test_closing_ends_a_run_under_way_and_refuses_new_ones(tmp_path: Path) -> None:
    invoker = invoker_in(tmp_path, OWN_RUNTIME)
    opened = tmp_path / "opened"
    os.mkfifo(opened)

    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(invoker.invoke, invocation(event=["wait", str(opened), str(tmp_path / "opened")]))
        opened.open().close()
        invoker.close()
        result = run.result()

    assert result.status is InvocationStatus.SERVICE_ERROR
    assert invoker.invoke(invocation()).error == "The invoker is closed."


PARENT = """
import sys
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from redrive.invoke.sandbox.program import OWN_RUNTIME
from tests.unit.invoke.functions import invocation
from tests.unit.invoke.test_process import invoker_in
invoker_in(Path(sys.argv[3]), OWN_RUNTIME).invoke(invocation(event=["hold", sys.argv[4]]))
"""


def test_functions_do_not_outlive_an_engine_that_was_killed(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    root = str(Path(__file__).parents[3])
    engine = subprocess.Popen([sys.executable, "-c", PARENT, root, str(PACKAGE_ROOT), str(tmp_path), str(gate)])
    writer = os.open(gate, os.O_WRONLY)  # The function holds the other end for as long as it lives.

    engine.send_signal(signal.SIGKILL)
    engine.wait()
    poll = select.poll()
    poll.register(writer, select.POLLERR)
    events = poll.poll(5_000)
    os.close(writer)

    assert [event for _, event in events] == [select.POLLERR]


def test_trace_header_has_the_form_of_x_ray() -> None:
    assert trace_id(REQUEST_ID, NOW).startswith("Root=1-68e77800-")
