"""Functions inside this process: the same answers, no time, and nothing left behind."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

import boto3
import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.sessions import Issuer
from redrive.delivery.outside.invocation import FunctionCode, InvocationStatus
from redrive.invoke.inline import InlineInvoker
from tests.unit.invoke.functions import ENDPOINT_URL, REQUEST_ID, archive, invocation

CODE = {
    "plain": archive(
        {
            "app.py": """
import logging, os, sys
from lib.words import greet
count = 0
def handler(event, context):
    global count
    count += 1
    if event == "raise":
        raise ValueError("no")
    if event == "exit":
        sys.exit(3)
    if event == "big":
        return "x" * 7_000_000
    print(greet(), context.get_remaining_time_in_millis())
    sys.stderr.write("unfinished")
    logging.getLogger().warning("warned")
    return [count, os.environ["AWS_LAMBDA_FUNCTION_NAME"], os.environ["COLOUR"], os.environ["AWS_ENDPOINT_URL"]]
""",
            "lib/words.py": "def greet(): return 'hello'",
        }
    ),
    "other": archive(
        {"app.py": "from lib.words import x\ndef handler(event, context): return x", "lib/words.py": "x = 2"}
    ),
    "session": archive({"app.py": "import boto3\ndef handler(event, context): return boto3.client('sqs') and None"}),
    "traced": archive({"app.py": "import os\ndef handler(event, context): return os.environ['_X_AMZN_TRACE_ID']"}),
    "broken": archive({"app.py": "import no_such_module_here"}),
    "damaged": b"no archive",
}


@pytest.fixture
def invoker() -> InlineInvoker:
    return InlineInvoker(
        CODE.__getitem__,
        endpoint_url=ENDPOINT_URL,
        clock=VirtualClock(1_760_000_000_123),
        entropy=SeededEntropy(1),
        issuer=Issuer(b"secret"),
    )


def test_function_runs_from_its_archive_with_its_variables(invoker: InlineInvoker) -> None:
    result = invoker.invoke(invocation())

    assert result.status is InvocationStatus.OK
    assert json.loads(result.payload) == [1, "plain", "green", ENDPOINT_URL]
    assert (result.duration_ms, result.init_ms) == (0.0, 0.0)


def test_function_reads_the_trace_of_its_run(invoker: InlineInvoker) -> None:
    traced = replace(invocation("traced"), trace_header="Root=1-5759e988")
    results = [invoker.invoke(invocation("traced")), invoker.invoke(traced)]

    assert [json.loads(result.payload)[:7] for result in results] == ["Root=1-", "Root=1-"]
    assert json.loads(results[1].payload) == "Root=1-5759e988"


def test_output_and_log_records_become_lines_in_virtual_time(invoker: InlineInvoker) -> None:
    result = invoker.invoke(invocation())

    logged = f"[WARNING]\t2025-10-09T08:53:20.123Z\t{REQUEST_ID}\twarned"
    assert [line.text for line in result.lines] == ["hello 10000", f"unfinished{logged}"]
    assert {line.at for line in result.lines} == {1_760_000_000_123}


def test_process_is_as_it_was_after_a_run(invoker: InlineInvoker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "mine")
    before = dict(os.environ), sys.stdout, list(sys.meta_path)

    invoker.invoke(invocation())

    assert (dict(os.environ), sys.stdout, list(sys.meta_path)) == before
    assert not {"app", "lib", "lib.words"} & set(sys.modules)


def test_environment_is_warm_until_the_revision_changes(invoker: InlineInvoker) -> None:
    results = [invoker.invoke(invocation(revision=revision)) for revision in ("1", "1", "2")]

    assert [json.loads(result.payload)[0] for result in results] == [1, 2, 1]
    assert [result.init_ms for result in results] == [0.0, None, 0.0]
    assert results[0].log_stream == results[1].log_stream != results[2].log_stream


def test_modules_of_the_same_name_do_not_mix_between_functions(invoker: InlineInvoker) -> None:
    answers = [json.loads(invoker.invoke(invocation(code)).payload) for code in ("plain", "other", "plain")]

    assert (answers[1], answers[2][0]) == (2, 2)


def test_exception_is_a_function_error_with_a_trace_into_the_archive(invoker: InlineInvoker) -> None:
    result = invoker.invoke(invocation(event="raise"))

    document = json.loads(result.payload)
    assert result.status is InvocationStatus.FUNCTION_ERROR
    assert (document["errorType"], document["requestId"]) == ("ValueError", REQUEST_ID)
    assert '  File "/var/task/app.py", line 9, in handler\n    raise ValueError("no")\n' in document["stackTrace"]


def test_exit_is_a_runtime_error_and_the_next_run_starts_cold(invoker: InlineInvoker) -> None:
    result, after = invoker.invoke(invocation(event="exit")), invoker.invoke(invocation())

    message = f"RequestId: {REQUEST_ID} Error: Runtime exited with error: exit status 3"
    assert json.loads(result.payload) == {"errorType": "Runtime.ExitError", "errorMessage": message}
    assert json.loads(after.payload)[0] == 1


def test_function_that_cannot_be_imported_is_a_function_error(invoker: InlineInvoker) -> None:
    result = invoker.invoke(invocation("broken"))

    assert json.loads(result.payload)["errorType"] == "Runtime.ImportModuleError"


def test_answer_that_is_too_large_is_a_function_error(invoker: InlineInvoker) -> None:
    assert json.loads(invoker.invoke(invocation(event="big")).payload)["errorType"] == "Function.ResponseSizeTooLarge"


def test_archive_that_cannot_be_read_is_a_service_error(invoker: InlineInvoker) -> None:
    assert invoker.invoke(invocation("damaged")).status is InvocationStatus.SERVICE_ERROR


def test_registered_handler_stands_for_the_code_of_a_function(invoker: InlineInvoker) -> None:
    invoker.register("named", lambda event, context: {"event": event, "id": getattr(context, "aws_request_id", "")})

    result = invoker.invoke(invocation("named", 5))

    assert json.loads(result.payload) == {"event": 5, "id": REQUEST_ID}


def test_run_inside_a_run_counts_against_reserved_concurrency(invoker: InlineInvoker) -> None:
    inner = []

    def handler(event: object, context: object) -> None:
        inner.append(invoker.invoke(invocation("named", reserved=1)))

    invoker.register("named", handler)

    outer = invoker.invoke(invocation("named", reserved=1))

    assert outer.status is InvocationStatus.OK
    assert inner[0].status is InvocationStatus.THROTTLED
    assert inner[0].error == "ReservedFunctionConcurrentInvocationLimitExceeded"


def test_layers_are_imported_after_the_functions_own_modules_and_the_later_goes_over_the_earlier() -> None:
    files = {
        "main": archive(
            {"app.py": "import own, shared\ndef handler(e, c):\n    return [own.A, shared.A]", "own.py": "A = 1"}
        ),
        "lower": archive({"python/shared.py": "A = 2", "python/own.py": "A = 3"}),
        "upper": archive({"python/shared.py": "A = 4"}),
    }
    invoker = InlineInvoker(files.__getitem__, endpoint_url=ENDPOINT_URL, issuer=Issuer(b"a secret"))
    code = FunctionCode("main", "app.handler", "python3.12", layers=("lower", "upper"))

    result = invoker.invoke(replace(invocation("main"), code=code))

    assert json.loads(result.payload) == [1, 4]
    assert "shared" not in sys.modules


def test_boto3s_default_session_of_a_function_is_the_functions_alone(
    invoker: InlineInvoker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the credentials of the function, which whoever runs it must not get."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    result = invoker.invoke(invocation("session"))

    assert result.status is InvocationStatus.OK
    assert boto3.DEFAULT_SESSION is None
