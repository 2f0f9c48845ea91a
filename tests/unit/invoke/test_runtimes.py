"""Functions of other runtimes: another Python, Node.js, programs of their own; and the layers of all of them.

A test is skipped where the machine has no such interpreter.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redrive.core.clock import Clock, SystemClock, VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.sessions import Issuer
from redrive.delivery.outside.invocation import FunctionCode, InvocationResult, InvocationStatus
from redrive.invoke.process import ProcessInvoker
from redrive.invoke.runtime.runtimes import OWN_PYTHON, Runtimes
from redrive.invoke.sandbox.unpack import UnusableCode
from tests.unit.invoke.functions import ENDPOINT_URL, REQUEST_ID, archive, invocation

OWN = f"python{sys.version_info.major}.{sys.version_info.minor}"
RUNTIMES = Runtimes(os.environ, Path.home())
NODE = "nodejs22.x"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on PATH")


def others() -> list[str]:
    """The runtimes of Python that this machine has beside the engine's own."""
    return [f"python3.{minor}" for minor in range(8, 16) if RUNTIMES.of(f"python3.{minor}").path]


PYTHON = """
import json, logging, os, sys
import shared
def handler(event, context):
    if event == "raise":
        raise ValueError("no")
    print(json.dumps({"printed": True}))
    logging.getLogger().warning("logged\\ntwice")
    return {
        "version": "%d.%d" % sys.version_info[:2], "cwd": os.getcwd(), "file": __file__, "shared": shared.PLACE,
        "id": context.aws_request_id, "left": 0 < context.get_remaining_time_in_millis() <= 10000, "event": event,
    }
"""
COMMON_JS = """
const shared = require("shared");
exports.handler = async (event, context) => {
  if (event === "raise") throw new TypeError("no");
  if (event === "reject") { Promise.reject(new Error("forgotten")); return new Promise(() => {}); }
  if (event === "exit") process.exit(3);
  console.log("logged", { a: 1 });
  return {
    cwd: process.cwd(), file: __filename, shared, id: context.awsRequestId, now: Date.now(),
    year: new Date().getUTCFullYear(), left: context.getRemainingTimeInMillis() > 0, event,
  };
};
exports.callback = (event, context, callback) => {
  setTimeout(() => (event ? callback(new Error(event)) : callback(null, { called: true })), 1);
};
exports.nothing = () => {};
exports.nested = { deep: async () => "found" };
"""
BOOTSTRAP = """#!/bin/sh
API=http://$AWS_LAMBDA_RUNTIME_API/2018-06-01/runtime
echo "handler $_HANDLER"
PYTHON={python}
exec $PYTHON - <<'END'
import os, urllib.request
api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"
while True:
    event = urllib.request.urlopen(api + "next")
    answer = b'{"got": %s}' % event.read()
    where = api + event.headers["Lambda-Runtime-Aws-Request-Id"] + "/response"
    urllib.request.urlopen(urllib.request.Request(where, answer, method="POST")).read()
END
""".replace("{python}", sys.executable)


def executable(name: str, text: str) -> bytes:
    """An archive with one file that may be run."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        entry = zipfile.ZipInfo(name)
        entry.create_system = 3
        entry.external_attr = (stat.S_IFREG | 0o755) << 16
        target.writestr(entry, text)
    return content.getvalue()


CODE = {
    "python": archive({"app.py": PYTHON}),
    "lower": archive(
        {"python/shared.py": "PLACE = 'lower'", "nodejs/node_modules/shared/index.js": "module.exports = 1"}
    ),
    "upper": archive(
        {"python/shared.py": "PLACE = __file__", "nodejs/node_modules/shared/index.js": "module.exports = 2"}
    ),
    "commonjs": archive({"app.js": COMMON_JS}),
    "module": archive({"app.mjs": "export const handler = async (event) => ({ module: event });"}),
    "package": archive(
        {"package.json": '{"type": "module"}', "src/app.js": "export const handler = async () => 'esm';"}
    ),
    "syntax": archive({"app.js": "exports.handler = ("}),
    "absent": archive({"app.js": "require('no-such-module')"}),
    "bootstrap": executable("bootstrap", BOOTSTRAP),
    "empty": archive({"readme": "nothing to run"}),
}
BOTH = ("lower", "upper")


def make(tmp_path: Path, clock: Clock, runtimes: Runtimes | None = RUNTIMES) -> ProcessInvoker:
    return ProcessInvoker(
        CODE.__getitem__, tmp_path, endpoint_url=ENDPOINT_URL, clock=clock, entropy=SeededEntropy(1),
        issuer=Issuer(b"a secret"), runtimes=runtimes,
    )  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessInvoker]:
    invoker = make(tmp_path_factory.mktemp("code"), SystemClock())
    yield invoker
    invoker.close()


def run(
    invoker: ProcessInvoker, code: str, runtime: str, event: object = None, *,
    handler: str = "app.handler", layers: tuple[str, ...] = BOTH, **changes: Any,
) -> InvocationResult:  # fmt: skip
    what = FunctionCode(code, handler, runtime, layers=layers)
    return invoker.invoke(replace(invocation(f"{code}-{handler}", event), code=what, **changes))


def texts(result: InvocationResult) -> list[str]:
    return [line.text for line in result.lines]


@pytest.mark.parametrize("runtime", [OWN, *others()])
def test_function_runs_on_the_python_that_its_runtime_names(shared: ProcessInvoker, runtime: str) -> None:
    result = run(shared, "python", runtime, {"a": 1}, revision=runtime)

    answer = json.loads(result.payload)
    assert result.status is InvocationStatus.OK
    assert answer == {
        "version": runtime.removeprefix("python"), "cwd": "/var/task", "file": "/var/task/app.py",
        "shared": "/opt/python/shared.py", "id": REQUEST_ID, "left": True, "event": {"a": 1},
    }  # fmt: skip
    assert texts(result)[0] == '{"printed": true}'
    level, _, request_id, message = texts(result)[1].split("\t")
    assert (level, request_id, message.splitlines()[0]) == ("[WARNING]", REQUEST_ID, "logged")


@pytest.mark.parametrize("runtime", [OWN, *others()])
def test_trace_of_an_error_names_the_function_as_aws_does(shared: ProcessInvoker, runtime: str) -> None:
    result = run(shared, "python", runtime, "raise", revision=runtime)

    document = json.loads(result.payload)
    assert (document["errorType"], document["errorMessage"], document["requestId"]) == ("ValueError", "no", REQUEST_ID)
    assert document["stackTrace"][0].startswith('  File "/var/task/app.py", line 6, in handler')
    assert texts(result)[-1].startswith("[ERROR] ValueError: no\nTraceback (most recent call last):\n")


@pytest.mark.parametrize("runtime", [OWN, *others()])
def test_log_may_be_json_from_a_level_on(shared: ProcessInvoker, runtime: str) -> None:
    settings: dict[str, Any] = {"log_format": "JSON", "log_level": "WARN", "revision": f"{runtime} json"}

    told = [json.loads(text) for text in texts(run(shared, "python", runtime, **settings))]
    failed = json.loads(texts(run(shared, "python", runtime, "raise", **settings))[-1])
    quiet = run(shared, "python", runtime, **{**settings, "log_level": "ERROR", "revision": f"{runtime} quiet"})

    assert (told[1]["level"], told[1]["message"], told[1]["requestId"]) == ("WARNING", "logged\ntwice", REQUEST_ID)
    assert (failed["errorType"], failed["errorMessage"]) == ("ValueError", "no")
    assert failed["stackTrace"][0].startswith('  File "/var/task/app.py"')
    assert texts(quiet) == ['{"printed": true}']


def test_python_that_is_not_here_is_warned_of_and_replaced_by_the_engines_own(tmp_path: Path) -> None:
    invoker = make(tmp_path, SystemClock(), Runtimes({"PATH": "/nowhere"}, tmp_path))
    missing = "python3.8" if OWN != "python3.8" else "python3.9"

    result = run(invoker, "python", missing)
    invoker.close()

    assert json.loads(result.payload)["version"] == OWN.removeprefix("python")
    assert texts(result)[0].startswith(f"[WARNING] redrive found no Python {missing.removeprefix('python')} on this")


def test_layer_without_content_is_warned_of(tmp_path: Path) -> None:
    invoker = make(tmp_path, SystemClock(), Runtimes({}, tmp_path))
    arn = "arn:aws:lambda:us-east-1:017000801446:layer:AWSLambdaPowertoolsPythonV3:7"
    code = FunctionCode("python", "app.handler", OWN, layers=BOTH, missing_layers=(arn,))

    result = invoker.invoke(replace(invocation("python"), code=code))
    invoker.close()

    assert texts(result)[0].startswith(
        f"[WARNING] redrive has no content of the layers {arn}: the function runs without"
    )


def test_layers_reach_the_search_paths_of_programs_and_libraries(tmp_path: Path) -> None:
    code = "import os\ndef handler(event, context):\n    return dict(os.environ)"
    CODE["environ"] = archive({"app.py": code})
    invoker = make(tmp_path, SystemClock())

    result = run(invoker, "environ", OWN)
    invoker.close()

    variables = json.loads(result.payload)
    assert variables["PATH"].endswith(":/opt/bin")
    assert variables["LD_LIBRARY_PATH"] == "/var/task:/var/task/lib:/opt/lib"
    assert variables["LAMBDA_TASK_ROOT"] == "/var/task"


def can_mount() -> bool:
    """Whether a process may mount directories that no other process sees."""
    mine = ["--mount"] if os.getuid() == 0 else ["--user", "--map-root-user", "--mount"]
    program = shutil.which("unshare")
    if program is None or not Path("/opt").is_dir() or sys.base_prefix.startswith("/opt/"):
        return False
    return subprocess.run([program, *mine, "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="this machine lets nobody mount, or has no /opt")
def test_program_of_a_layer_runs_by_its_full_name(tmp_path: Path) -> None:
    """As the CDK's BucketDeployment runs /opt/awscli/aws."""
    CODE["tool"] = executable("tools/greet", "#!/bin/sh\necho hello $(id -u)\n")
    code = "import subprocess\ndef handler(event, context):\n    return subprocess.getoutput('/opt/tools/greet')"
    CODE["full name"] = archive({"app.py": code})
    before = sorted(Path("/opt").iterdir())
    invoker = make(tmp_path, SystemClock())

    result = run(invoker, "full name", OWN, layers=("tool",))
    invoker.close()

    assert json.loads(result.payload) == f"hello {os.getuid()}"
    assert sorted(Path("/opt").iterdir()) == before


@needs_node
def test_node_function_answers_what_its_promise_gives(shared: ProcessInvoker) -> None:
    result = run(shared, "commonjs", NODE, {"a": 1})

    answer = json.loads(result.payload)
    assert result.status is InvocationStatus.OK
    assert answer["cwd"] == "/var/task"
    assert answer["file"] == "/var/task/app.js"
    assert (answer["shared"], answer["id"], answer["left"], answer["event"]) == (2, REQUEST_ID, True, {"a": 1})
    at, request_id, level, message = next(text for text in texts(result) if "logged" in text).split("\t")
    assert at.endswith("Z")
    assert (request_id, level, message) == (REQUEST_ID, "INFO", "logged { a: 1 }")


@needs_node
@pytest.mark.parametrize(
    ("code", "handler", "event", "answer"),
    [
        ("commonjs", "app.callback", None, {"called": True}),
        ("commonjs", "app.nothing", None, None),
        ("commonjs", "app.nested.deep", None, "found"),
        ("module", "app.handler", [1], {"module": [1]}),
        ("package", "src/app.handler", None, "esm"),
    ],
)
def test_node_handler_may_be_of_each_kind(
    shared: ProcessInvoker, code: str, handler: str, event: object, answer: object
) -> None:
    first = run(shared, code, NODE, event, handler=handler)
    second = run(shared, code, NODE, event, handler=handler)

    assert (json.loads(first.payload), json.loads(second.payload)) == (answer, answer)
    assert second.init_ms is None


@needs_node
@pytest.mark.parametrize(
    ("code", "handler", "event", "error_type", "message"),
    [
        ("commonjs", "app.handler", "raise", "TypeError", "no"),
        ("commonjs", "app.callback", "failed", "Error", "failed"),
        ("commonjs", "app.handler", "reject", "Runtime.UnhandledPromiseRejection", "forgotten"),
        ("commonjs", "app.ghost", None, "Runtime.HandlerNotFound", "app.ghost is undefined or not exported"),
        ("commonjs", "app", None, "Runtime.MalformedHandlerName", "Bad handler"),
        ("syntax", "app.handler", None, "Runtime.UserCodeSyntaxError", "SyntaxError: Unexpected end of input"),
        ("absent", "app.handler", None, "Runtime.ImportModuleError", "Error: Cannot find module 'no-such-module'"),
    ],
)  # fmt: skip
def test_error_of_a_node_function_is_told_as_lambda_tells_it(
    shared: ProcessInvoker, code: str, handler: str, event: object, error_type: str, message: str
) -> None:
    result = run(shared, code, NODE, event, handler=handler, revision=str(event))

    document = json.loads(result.payload)
    assert result.status is InvocationStatus.FUNCTION_ERROR
    assert document["errorType"] == error_type
    assert document["errorMessage"].startswith(message)
    assert isinstance(document["trace"], list)
    assert any(error_type in text for text in texts(result))


@needs_node
def test_node_process_that_ends_is_an_error_of_its_runtime(shared: ProcessInvoker) -> None:
    result = run(shared, "commonjs", NODE, "exit", revision="exit")

    document = json.loads(result.payload)
    assert document["errorType"] == "Runtime.ExitError"
    assert document["errorMessage"].endswith("Error: Runtime exited with error: exit status 3")


@needs_node
def test_log_of_a_node_function_may_be_json(shared: ProcessInvoker) -> None:
    result = run(shared, "commonjs", NODE, log_format="JSON", log_level="INFO", revision="json")
    quiet = run(shared, "commonjs", NODE, log_format="JSON", log_level="WARN", revision="quiet")

    line = json.loads(next(text for text in texts(result) if "logged" in text))
    assert (line["level"], line["requestId"], line["message"]) == ("INFO", REQUEST_ID, "logged { a: 1 }")
    assert not any("logged" in text for text in texts(quiet))


@needs_node
def test_node_function_reads_virtual_time(tmp_path: Path) -> None:
    clock = VirtualClock(2_000_000_000_000)
    invoker = make(tmp_path, clock)

    first = json.loads(run(invoker, "commonjs", NODE).payload)
    clock.move_to(3_000_000_000_000)
    second = json.loads(run(invoker, "commonjs", NODE).payload)
    invoker.close()

    assert 0 <= first["now"] - 2_000_000_000_000 < 60_000
    assert 0 <= second["now"] - 3_000_000_000_000 < 60_000
    assert (first["year"], second["year"]) == (2033, 2065)


def test_runtime_without_its_interpreter_is_refused_by_name(tmp_path: Path) -> None:
    invoker = make(tmp_path, SystemClock(), Runtimes({"PATH": "/nowhere"}, tmp_path))

    result = run(invoker, "commonjs", NODE)
    invoker.close()

    assert result.status is InvocationStatus.SERVICE_ERROR
    assert result.error.startswith("The runtime nodejs22.x cannot be run here: no `node` was found on PATH")


def test_provided_runtime_is_the_program_in_the_archive(shared: ProcessInvoker) -> None:
    first = run(shared, "bootstrap", "provided.al2023", [1], handler="some.thing", layers=())
    second = run(shared, "bootstrap", "provided.al2023", [2], handler="some.thing", layers=())

    assert (first.payload, second.payload) == (b'{"got": [1]}', b'{"got": [2]}')
    assert texts(first) == ["handler some.thing"]


def test_provided_runtime_may_come_in_a_layer(shared: ProcessInvoker) -> None:
    result = run(shared, "empty", "provided.al2", [1], layers=("bootstrap",))

    assert result.payload == b'{"got": [1]}'


def test_provided_runtime_without_a_program_is_an_error_of_the_function(shared: ProcessInvoker) -> None:
    result = run(shared, "empty", "provided.al2", layers=(), revision="bare")

    assert result.status is InvocationStatus.FUNCTION_ERROR
    assert json.loads(result.payload) == {
        "errorType": "Runtime.InvalidEntrypoint",
        "errorMessage": f"RequestId: {REQUEST_ID} Error: Couldn't find valid bootstrap(s): "
        "[/var/task/bootstrap /opt/bootstrap]",
    }


def test_interpreters_are_found_where_pyenv_and_uv_and_nvm_put_them(tmp_path: Path) -> None:
    """Programs that only tell their version."""
    places = {
        ".pyenv/versions/3.9.4/bin/python3.9": "3.9.4",
        ".local/share/uv/python/cpython-3.10.2-linux/bin/python3.10": "3.10.2",
        ".nvm/versions/node/v18.1.0/bin/node": "v18.1.0",
        "path/python3.8": "nothing that is a version",
    }
    for place, told in places.items():
        program = tmp_path / place
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {told}\n")
        program.chmod(0o755)

    runtimes = Runtimes({"PATH": str(tmp_path / "path")}, tmp_path)

    assert runtimes.of(OWN) == OWN_PYTHON
    assert runtimes.of("python3.9").path.endswith("3.9.4/bin/python3.9")
    assert runtimes.of("python3.10").path.endswith("bin/python3.10")
    assert runtimes.of("nodejs18.x") == replace(runtimes.of("nodejs18.x"), warning="")
    assert runtimes.of("nodejs22.x").warning.startswith("redrive found no Node.js 22 on this machine")
    assert "no Python 3.8" in runtimes.of("python3.8").warning
    with pytest.raises(UnusableCode, match=r"ruby3\.4 cannot be run here"):
        runtimes.of("ruby3.4")
