"""What becomes of a handler's answer, or of its exception."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from redrive.core.clock import VirtualClock
from redrive.invoke.endings import Exited, OutOfMemory, TimedOut, log_text_of, payload_of
from redrive.invoke.runtime.context import LambdaContext
from redrive.invoke.runtime.handlers import HandlerFault, error_answer, error_line, load_handler, run_handler
from redrive.invoke.sandbox.output import LINE_BYTES_MAX, LINE_OVERHEAD_BYTES, OUTPUT_BYTES_MAX, TRUNCATED, Output
from tests.unit.invoke.functions import REQUEST_ID, invocation


def raising(event: object, context: object) -> object:
    raise KeyError(event)


def test_answer_of_a_handler_is_json() -> None:
    answer = run_handler(lambda event, _: {"got": event, "d": Decimal("1.50")}, b"[1]", None, "r")

    assert (json.loads(answer.payload), answer.error_type) == ({"got": [1], "d": 1.5}, None)


def test_exception_becomes_an_error_document_whose_trace_begins_in_the_function() -> None:
    answer = run_handler(raising, b'"x"', None, "r")

    document = json.loads(answer.payload)
    assert answer.error_type == document["errorType"] == "KeyError"
    assert (document["errorMessage"], document["requestId"]) == ("'x'", "r")
    assert [", in raising\n" in frame for frame in document["stackTrace"]] == [True]


@pytest.mark.parametrize(
    ("payload", "result", "error_type"),
    [(b"{", None, "Runtime.UnmarshalError"), (b"{}", object(), "Runtime.MarshalError")],
)
def test_what_is_not_json_is_the_runtimes_error(payload: bytes, result: object, error_type: str) -> None:
    assert run_handler(lambda *_: result, payload, None, "r").error_type == error_type


@pytest.mark.parametrize(
    ("handler", "error_type", "message"),
    [
        ("nodot", "Runtime.MalformedHandlerName", "Bad handler 'nodot'"),
        (
            "no_such_module_here.f",
            "Runtime.ImportModuleError",
            "Unable to import module 'no_such_module_here': No module",
        ),
        ("json.no_such_function", "Runtime.HandlerNotFound", "Handler 'no_such_function' missing on module 'json'"),
        ("sys.exit", "Runtime.BuiltInModuleConflict", "Cannot use built-in module sys as a handler module"),
    ],
)
def test_handler_that_cannot_be_loaded_is_reported_in_lambdas_words(
    handler: str, error_type: str, message: str
) -> None:
    with pytest.raises(HandlerFault) as caught:
        load_handler(handler)

    assert caught.value.error_type == error_type
    assert caught.value.message.startswith(message)


def test_error_is_logged_as_one_event_with_no_break_indents() -> None:
    answer = error_answer(
        HandlerFault("Runtime.UserCodeSyntaxError", "bad", ['  File "app.py" Line 1\n    def x(:']), ""
    )

    assert error_line(answer).split("\r") == [
        "[ERROR] Runtime.UserCodeSyntaxError: bad",
        "Traceback (most recent call last):",
        '\u00a0\u00a0File "app.py" Line 1',
        "\u00a0\u00a0\u00a0\u00a0def x(:",
    ]


@pytest.mark.parametrize(
    ("ended", "error_type", "text"),
    [
        (TimedOut(), "Sandbox.Timedout", "Task timed out after 10.00 seconds"),
        (
            Exited("Runtime exited without providing a reason"),
            "Runtime.ExitError",
            "Runtime exited without providing a reason",
        ),
        (OutOfMemory(), "Runtime.ExitError", "Runtime exited with error: signal: killed"),
    ],
)
def test_end_without_an_answer_has_lambdas_own_document(ended: TimedOut | Exited, error_type: str, text: str) -> None:
    document = json.loads(payload_of(ended, invocation()))

    assert document == {"errorType": error_type, "errorMessage": f"RequestId: {REQUEST_ID} Error: {text}"}
    assert text in (log_text_of(ended, invocation(), 0) or "")


def test_context_counts_down_to_the_deadline_and_no_further() -> None:
    clock = VirtualClock(1_000)
    context = LambdaContext(request_id="r", function_arn="a", deadline_at=4_000, clock=clock, environment={})

    before = context.get_remaining_time_in_millis()
    clock.move_to(5_000)

    assert (before, context.get_remaining_time_in_millis()) == (3_000, 0)


def test_client_context_is_read_from_json() -> None:
    text = '{"client":{"installation_id":"i"},"custom":{"k":"v"},"env":{}}'
    context = LambdaContext(
        request_id="r", function_arn="a", deadline_at=0, clock=VirtualClock(0), environment={}, client_context=text
    )

    assert context.client_context is not None
    assert (context.client_context.custom, context.client_context.client.installation_id) == ({"k": "v"}, "i")


def test_output_is_cut_into_lines_and_the_unfinished_one_comes_last() -> None:
    output = Output(VirtualClock(7))

    output.feed(b"one\ntw")
    output.feed(b"o\nErr\rtrace\nrest")

    assert [(line.at, line.text) for line in output.take()] == [(7, "one"), (7, "two"), (7, "Err\ntrace"), (7, "rest")]
    assert output.take() == ()


def test_output_beyond_one_megabyte_is_dropped_with_a_line_that_says_so() -> None:
    output = Output(VirtualClock(0))
    line = b"x" * (LINE_BYTES_MAX - LINE_OVERHEAD_BYTES) + b"\n"

    output.feed(line * (OUTPUT_BYTES_MAX // LINE_BYTES_MAX + 2))
    lines = output.take()
    output.feed(b"next run\n")

    assert [line.text for line in lines][-1] == TRUNCATED
    assert sum(len(line.text) + LINE_OVERHEAD_BYTES for line in lines[:-1]) == OUTPUT_BYTES_MAX
    assert [line.text for line in output.take()] == ["next run"]


def test_empty_lines_count_so_that_there_are_not_a_million_of_them() -> None:
    output = Output(VirtualClock(0))

    for _ in range(100):
        output.feed(b"\n" * 65_536)

    assert len(output.take()) == OUTPUT_BYTES_MAX // LINE_OVERHEAD_BYTES + 1


def test_line_of_the_environment_is_kept_after_output_that_was_truncated() -> None:
    output = Output(VirtualClock(0))
    output.feed(b"\n" * 100_000)

    output.note("Task timed out")

    assert [line.text for line in output.take()][-2:] == [TRUNCATED, "Task timed out"]


def test_bytes_of_a_long_line_are_looked_at_once() -> None:
    """A line that comes byte by byte is not searched for its end from its beginning each time."""
    output = Output(VirtualClock(0))
    searched: list[int] = []

    class Counted(bytes):
        def find(self, *arguments: object) -> int:
            searched.append(len(self))
            return super().find(*arguments)  # type: ignore[arg-type]

    for _ in range(1_000):
        output.feed(Counted(b"x"))

    assert sum(searched) == 1_000
    assert [line.text for line in output.take()] == ["x" * 1_000]
