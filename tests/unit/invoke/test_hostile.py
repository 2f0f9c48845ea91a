"""Functions that do what they should not: each is ended or answered, and harms no other function.

Nothing here is timed: a short timeout of the function, or what the sandbox answers, bounds each test. While a function
misbehaves, another one is run, and is answered.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.portable import USES_LINUX
from redrive.core.sessions import Issuer
from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus
from redrive.invoke.process import ProcessInvoker
from redrive.invoke.sandbox.output import LINE_OVERHEAD_BYTES, OUTPUT_BYTES_MAX, TRUNCATED
from redrive.invoke.sandbox.program import OWN_RUNTIME, PACKAGE_ROOT
from tests.unit.invoke.functions import ENDPOINT_URL, REQUEST_ID, archive, invocation

linux = pytest.mark.skipif(not USES_LINUX, reason="only Linux has reapers of descendants")

HOSTILE = """
import atexit, http.client, os, signal, socket, sys, threading, time

API = os.environ["AWS_LAMBDA_RUNTIME_API"]
HOST, PORT = API.split(":")
PREFIX = "/2018-06-01/runtime/invocation/"

def hang():
    threading.Event().wait()

def orphan(work):
    "Start a process of another session, whose parent has ended; answers its id once it is there."
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, b"%d\\n" % os.getpid())
            work()
            os._exit(0)
        os._exit(0)
    os.wait()
    return int(os.read(reading, 20))

def post(request_id, body, headers={}):
    connection = http.client.HTTPConnection(API)
    connection.request("POST", PREFIX + request_id + "/response", body, headers)
    return connection.getresponse().status

def say(data):
    "Send bytes to the Runtime API; answers what comes back until it closes, or b'' if it resets."
    connection = socket.create_connection((HOST, int(PORT)))
    try:
        connection.sendall(data)
        return connection.recv(1000)
    except OSError:
        return b""

def hoard():
    kept = []
    while len(kept) < 100:
        kept.append(bytearray(4_000_000))
    hang()

def newlines(context):
    while True:
        os.write(1, b"\\n" * 65536)

def one_byte_at_a_time(context):
    while True:
        os.write(1, b"x")

def chunked_answer_of_gigabytes(context):
    connection = socket.create_connection((HOST, int(PORT)))
    connection.sendall(f"POST {PREFIX}{context.aws_request_id}/response HTTP/1.1\\r\\nHost: {API}\\r\\n"
        "Transfer-Encoding: chunked\\r\\n\\r\\n".encode())
    for _ in range(1500):
        connection.sendall(b"100000\\r\\n" + b"x" * 0x100000 + b"\\r\\n")
    hang()

def announced_answer_of_gigabytes(context):
    connection = socket.create_connection((HOST, int(PORT)))
    connection.sendall(f"POST {PREFIX}{context.aws_request_id}/response HTTP/1.1\\r\\nHost: {API}\\r\\n"
        "Content-Length: 1500000000\\r\\n\\r\\n".encode())
    hang()

def orphans(context):
    return [orphan(hang) for _ in range(30)]

def orphans_then_hang(context):
    print(*[orphan(hang) for _ in range(5)])
    hang()

def memory_of_an_orphan(context):
    orphan(hoard)
    hang()

def threads(count):
    threading.stack_size(65536)
    for _ in range(count):
        threading.Thread(target=hang, daemon=True).start()
    hang()

def many_processes(context):
    for _ in range(40):
        orphan(lambda: threads(30))
    hang()

def many_threads(context):
    threads(1100)

def ignores_signals(context):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    hang()

def closes_everything(context):
    os.closerange(0, 1024)

def closes_its_output(context):
    os.close(1)
    os.close(2)

def garbage(context):
    for _ in range(40):
        say(os.urandom(1000) + b"\\r\\n\\r\\n")
    return "said"

def keeps_connections(context):
    context.kept = globals()["kept"] = [socket.create_connection((HOST, int(PORT))) for _ in range(40)]
    return "kept"

def answers_twice(context):
    status = post(context.aws_request_id, b'"first"')
    return "second"

def answers_for_another(context):
    return [post("8f5e7c1a-0000-4000-8000-000000000002", b'"x"'), post("../../init/error", b'"x"')]

def answers_as_a_browser(context):
    return [post(context.aws_request_id, b'"x"', {"Origin": "http://example.com"}),
        post(context.aws_request_id, b'"x"', {"Sec-Fetch-Site": "cross-site"}),
        post(context.aws_request_id, b'"x"', {"Host": "example.com"})]

def asks_again_and_again(context):
    return say(f"GET {PREFIX}next HTTP/1.1\\r\\nHost: {API}\\r\\n\\r\\n".encode())[:12].decode()

def never_answers(context):
    hang()

def kills_its_group(context):
    os.killpg(0, signal.SIGKILL)

def kills_its_keeper(context):
    print(orphan(hang))
    os.kill(os.getppid(), signal.SIGKILL)
    hang()

def stops_its_keeper(context):
    os.kill(os.getppid(), signal.SIGSTOP)
    hang()

def terminates_its_keeper(context):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(os.getppid(), number)
    return "tried"

def huge_header(context):
    return say(b"GET / HTTP/1.1\\r\\nX: " + b"x" * 3_000_000).decode()

def negative_length(context):
    return say(b"POST / HTTP/1.1\\r\\nContent-Length: -5\\r\\n\\r\\n").decode()

def half_a_request(context):
    globals()["kept"] = socket.create_connection((HOST, int(PORT)))
    globals()["kept"].sendall(b"POST /2018-06-01/runtime/invocation/x/response HTTP/1.1\\r\\nContent-Le")
    return "half"

def waits_in_atexit(context):
    atexit.register(hang)
    sys.exit()

def fills_its_directory(context):
    with open("junk", "wb") as junk:
        for _ in range(20):
            junk.write(b"x" * 1_000_000)
    return os.path.getsize("junk")

def is_nice(context):
    os.nice(19)
    hang()

def not_utf8(context):
    os.write(1, b"caf\\xe9 \\xff\\xfe\\n")

def long_line(context):
    sys.stdout.write("x" * 10_000_000)

def both_outputs(context):
    for number in range(100):
        (sys.stdout if number % 2 else sys.stderr).write(f"{number}\\n")

def writes_on(context):
    "Answers, while a thread and a process of its own write for ever."
    orphan(lambda: newlines(context))
    threading.Thread(target=newlines, args=[context], daemon=True).start()
    return "answered"

def holds(context):
    "An orphan for each reading end of a pipe by name, which they hold as long as they live."
    for _ in range(30):
        orphan(lambda: (open(os.environ["GATE"]), hang()))
    hang()

def tells_its_address(context):
    with open(os.environ["GATE"], "w") as gate:
        gate.write(API)
    open(os.environ["GATE"]).close()
    return "mine"

def handler(event, context):
    return globals()[event](context)
"""

CODE = {
    "hostile": archive({"app.py": HOSTILE}),
    "polite": archive({"app.py": "def handler(event, context):\n    return 'well'\n"}),
    "exits": archive({"app.py": "import os\nos._exit(0)\n"}),
    "floods": archive({"app.py": 'import os\nwhile True:\n    os.write(1, b"\\n" * 65536)\n'}),
}


def invoker_in(workdir: Path) -> ProcessInvoker:
    return ProcessInvoker(
        CODE.__getitem__,
        workdir,
        endpoint_url=ENDPOINT_URL,
        clock=VirtualClock(1_760_000_000_000),
        entropy=SeededEntropy(1),
        runtime=OWN_RUNTIME,
        issuer=Issuer(b"secret"),
    )


@pytest.fixture(scope="module")
def invoker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessInvoker]:
    invoker = invoker_in(tmp_path_factory.mktemp("work"))
    invoker.invoke(invocation("polite"))
    yield invoker
    invoker.close()


def misbehave(invoker: ProcessInvoker, what: str, *, timeout_ms: int = 20_000, **changes: object) -> InvocationResult:
    """Run a hostile function, and a polite one at the same time, which must be answered."""
    with ThreadPoolExecutor(1) as thread:
        hostile = thread.submit(
            invoker.invoke, invocation("hostile", what, timeout_ms=timeout_ms, revision=what, **changes)
        )
        polite = invoker.invoke(invocation("polite"))
        assert (polite.status, polite.payload) == (InvocationStatus.OK, b'"well"')
        return hostile.result()


def answer(result: InvocationResult) -> object:
    assert result.status is InvocationStatus.OK, result
    return json.loads(result.payload)


def error_type(result: InvocationResult) -> str:
    assert result.status is InvocationStatus.FUNCTION_ERROR, result
    return str(json.loads(result.payload)["errorType"])


def exit_reason(result: InvocationResult) -> str:
    assert error_type(result) == "Runtime.ExitError"
    message: str = json.loads(result.payload)["errorMessage"]
    return message.removeprefix(f"RequestId: {REQUEST_ID} Error: ")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_stopped(pid: int) -> bool:
    """Whether a process that was told to stop does so: it is looked at until it does."""
    return any(Path(f"/proc/{pid}/stat").read_text().split()[2] == "T" for _ in range(1_000_000))


def ends(pid: int) -> bool:
    """Whether a process that was told to end does so. Nobody may have let go of it yet."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    readable, _, _ = select.select([handle], [], [], 20)
    os.close(handle)
    return bool(readable)


@pytest.mark.parametrize("what", ["newlines", "one_byte_at_a_time"])
def test_function_that_writes_for_ever_is_timed_out_and_its_output_is_bounded(
    invoker: ProcessInvoker, what: str
) -> None:
    result = misbehave(invoker, what, timeout_ms=300)

    assert error_type(result) == "Sandbox.Timedout"
    assert len(result.lines) <= OUTPUT_BYTES_MAX // LINE_OVERHEAD_BYTES + 2
    assert result.lines[-1].text.endswith("Task timed out after 0.30 seconds")


def test_output_beyond_the_bound_ends_with_a_line_that_says_so(invoker: ProcessInvoker) -> None:
    assert misbehave(invoker, "newlines", timeout_ms=600).lines[-2].text == TRUNCATED


def test_function_that_writes_for_ever_while_it_loads_is_timed_out(tmp_path: Path) -> None:
    invoker = invoker_in(tmp_path)
    with ThreadPoolExecutor(1) as thread:
        loading = thread.submit(invoker.invoke, invocation("floods", timeout_ms=300))
        polite = invoker.invoke(invocation("polite"))
        invoker.close()  # Loading may take ten seconds; closing does not wait for them.
        result = loading.result()

    assert polite.status is InvocationStatus.OK
    assert result.error == "The invoker was closed while the function ran."


def test_output_that_goes_on_after_the_answer_holds_nobody_up(invoker: ProcessInvoker) -> None:
    first, second = (misbehave(invoker, "writes_on") for _ in range(2))

    assert [answer(first), answer(second)] == ["answered", "answered"]
    assert len(second.lines) <= OUTPUT_BYTES_MAX // LINE_OVERHEAD_BYTES + 2


@pytest.mark.parametrize("what", ["chunked_answer_of_gigabytes", "announced_answer_of_gigabytes"])
def test_answer_beyond_the_limit_is_refused_before_it_is_there(invoker: ProcessInvoker, what: str) -> None:
    result = misbehave(invoker, what)

    assert json.loads(result.payload) == {
        "errorType": "Function.ResponseSizeTooLarge",
        "errorMessage": "Response payload size exceeded maximum allowed payload size (6291556 bytes).",
    }


@linux
def test_children_that_left_session_group_and_parent_end_with_their_sandbox(tmp_path: Path) -> None:
    invoker = invoker_in(tmp_path)
    pids = answer(misbehave(invoker, "orphans"))
    assert isinstance(pids, list)
    were_alive = [is_alive(pid) for pid in pids]

    invoker.close()

    assert were_alive == [True] * 30
    assert [pid for pid in pids if is_alive(pid)] == []


@linux
def test_children_of_a_run_that_is_timed_out_end_with_it(invoker: ProcessInvoker) -> None:
    result = misbehave(invoker, "orphans_then_hang", timeout_ms=500)

    pids = [int(pid) for pid in result.lines[0].text.split()]
    assert error_type(result) == "Sandbox.Timedout"
    assert len(pids) == 5
    assert [pid for pid in pids if is_alive(pid)] == []


@linux
def test_processes_are_stopped_between_two_runs(tmp_path: Path) -> None:
    """Lambda freezes an environment that is idle: what it has started does not go on computing."""
    invoker = invoker_in(tmp_path)
    pids = answer(misbehave(invoker, "orphans"))
    assert isinstance(pids, list)

    stopped = [is_stopped(pid) for pid in pids]
    invoker.close()

    assert stopped == [True] * 30


@linux
def test_memory_of_a_child_that_left_counts(invoker: ProcessInvoker) -> None:
    result = misbehave(invoker, "memory_of_an_orphan")

    assert exit_reason(result) == "Runtime exited with error: signal: killed"


@linux
@pytest.mark.parametrize("what", ["many_processes", "many_threads"])
def test_sandbox_with_more_processes_than_lambda_allows_is_ended(invoker: ProcessInvoker, what: str) -> None:
    result = misbehave(invoker, what, memory_mb=2_048)

    assert exit_reason(result) == "more than 1024 processes and threads"


@pytest.mark.parametrize("what", ["never_answers", "ignores_signals", "waits_in_atexit", "stops_its_keeper", "is_nice"])
def test_function_that_hangs_is_timed_out(invoker: ProcessInvoker, what: str) -> None:
    result = misbehave(invoker, what, timeout_ms=300)

    assert error_type(result) == "Sandbox.Timedout"


def test_function_that_exits_while_it_loads_is_an_exit_error(invoker: ProcessInvoker) -> None:
    assert exit_reason(invoker.invoke(invocation("exits"))) == "Runtime exited without providing a reason"


def test_function_that_kills_its_own_group_is_an_exit_error(invoker: ProcessInvoker) -> None:
    assert exit_reason(misbehave(invoker, "kills_its_group")) == "Runtime exited with error: signal: killed"


@linux
def test_children_end_even_if_the_function_kills_their_keeper(invoker: ProcessInvoker) -> None:
    result = misbehave(invoker, "kills_its_keeper")

    orphan = int(result.lines[0].text)
    assert exit_reason(result) == "Runtime exited with error: signal: killed"
    assert ends(orphan)


def test_keeper_does_not_end_by_signals_that_ask_for_it(invoker: ProcessInvoker) -> None:
    assert answer(misbehave(invoker, "terminates_its_keeper")) == "tried"


def test_function_that_closes_everything_is_answered_for(invoker: ProcessInvoker) -> None:
    assert error_type(misbehave(invoker, "closes_everything", timeout_ms=500)) in {
        "Runtime.ExitError",
        "Sandbox.Timedout",
    }


def test_function_may_close_its_output(invoker: ProcessInvoker) -> None:
    assert answer(misbehave(invoker, "closes_its_output")) is None


@pytest.mark.parametrize(
    ("what", "answered"),
    [
        ("garbage", "said"),
        ("half_a_request", "half"),
        ("huge_header", ""),
        ("negative_length", ""),
        ("answers_for_another", [400, 404]),
        ("answers_as_a_browser", [403, 403, 403]),
        ("asks_again_and_again", "HTTP/1.1 403"),
        ("answers_twice", "first"),
    ],
)
def test_misuse_of_the_runtime_api_changes_nothing(invoker: ProcessInvoker, what: str, answered: object) -> None:
    assert answer(misbehave(invoker, what)) == answered


def test_connections_to_the_runtime_api_are_bounded_and_the_runtimes_own_stays(invoker: ProcessInvoker) -> None:
    first, second = (misbehave(invoker, "keeps_connections") for _ in range(2))

    assert [answer(first), answer(second)] == ["kept", "kept"]


@pytest.mark.skipif(not USES_LINUX, reason="only Linux tells whose connection it is")
def test_process_outside_of_the_sandbox_is_not_heard_by_its_runtime_api(
    invoker: ProcessInvoker, tmp_path: Path
) -> None:
    """With the right address, the right host and the right request id: it is the wrong process."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(
            invoker.invoke, invocation("hostile", "tells_its_address", environment={"GATE": str(gate)}, revision="gate")
        )
        address = gate.read_text()
        host, port = address.split(":")
        body = f"POST /2018-06-01/runtime/invocation/{REQUEST_ID}/response HTTP/1.1\r\nHost: {address}\r\n"
        with socket.create_connection((host, int(port))) as connection:
            try:
                connection.sendall(f'{body}Content-Length: 7\r\n\r\n"yours"'.encode())
                heard = connection.recv(100)
            except ConnectionError:
                heard = b""
        gate.write_text("")
        result = run.result()

    assert heard == b""
    assert answer(result) == "mine"


def test_function_may_fill_its_directory_and_another_has_its_own(invoker: ProcessInvoker) -> None:
    assert answer(misbehave(invoker, "fills_its_directory")) == 20_000_000


def test_output_that_is_not_utf8_is_kept_with_marks(invoker: ProcessInvoker) -> None:
    assert misbehave(invoker, "not_utf8").lines[0].text == "caf\ufffd \ufffd\ufffd"


def test_line_of_ten_megabytes_is_cut_into_lines_up_to_the_bound(invoker: ProcessInvoker) -> None:
    result = misbehave(invoker, "long_line")

    assert answer(result) is None
    assert {len(line.text) for line in result.lines[:-1]} == {256 * 1024}
    assert result.lines[-1].text == TRUNCATED


def test_lines_of_both_outputs_keep_their_order(invoker: ProcessInvoker) -> None:
    result = misbehave(invoker, "both_outputs")

    assert [line.text for line in result.lines] == [str(number) for number in range(100)]


ENGINE = """
import sys
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from tests.unit.invoke.functions import invocation
from tests.unit.invoke.test_hostile import invoker_in
hold = invocation("hostile", "holds", environment={"GATE": sys.argv[4]}, timeout_ms=60_000)
invoker_in(Path(sys.argv[3])).invoke(hold)
"""


@linux
def test_children_that_left_do_not_outlive_an_engine_that_was_killed(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    root = str(Path(__file__).parents[3])
    engine = subprocess.Popen([sys.executable, "-c", ENGINE, root, str(PACKAGE_ROOT), str(tmp_path), str(gate)])
    writer = os.open(gate, os.O_WRONLY)  # The orphans hold the other end for as long as one of them lives.

    engine.send_signal(signal.SIGKILL)
    engine.wait()
    poll = select.poll()
    poll.register(writer, select.POLLERR)
    events = poll.poll(20_000)
    os.close(writer)

    assert [event for _, event in events] == [select.POLLERR]
