"""Retries wait longer each time, longer for throttles, and never past what time is left."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import socket
import urllib.error

import pytest
from botocore import exceptions
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.handler import (
    Classes,
    FunctionFailed,
    Kind,
    RetryPolicy,
    classify,
    invocation,
    invoke_lambda,
    invoke_lambda_async,
    retry,
)
from redrive.handler.retries import retry_call
from tests.unit.handler.conftest import START, FakeContext, HandClock


def client_error(code: str, status: int = 400) -> exceptions.ClientError:
    response = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return exceptions.ClientError(response, "Operation")


def cancelled(*codes: str) -> exceptions.ClientError:
    error = client_error("TransactionCanceledException")
    error.response["CancellationReasons"] = [{"Code": code} for code in codes]
    return error


class WebError(Exception):
    """As HTTP libraries have it: a response with a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.response = type("Response", (), {"status_code": status})()


class OrderClosed(Exception):
    """A user's own."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (client_error("ThrottlingException"), Kind.THROTTLED),
        (client_error("TooManyRequestsException", 429), Kind.THROTTLED),
        (client_error("ProvisionedThroughputExceededException"), Kind.THROTTLED),
        (client_error("SlowDown", 503), Kind.THROTTLED),
        (client_error("KMSThrottlingException", 502), Kind.THROTTLED),
        (client_error("OverLimit", 403), Kind.THROTTLED),
        (client_error("AWS.SimpleQueueService.KmsThrottled"), Kind.THROTTLED),
        (cancelled("None", "ThrottlingError"), Kind.THROTTLED),
        (cancelled("ProvisionedThroughputExceeded", "TransactionConflict"), Kind.THROTTLED),
        (cancelled("TransactionConflict", "None"), Kind.TRANSIENT),
        (cancelled("ConditionalCheckFailed", "ThrottlingError"), Kind.PERMANENT),
        (cancelled("ValidationError"), Kind.PERMANENT),
        (cancelled(), Kind.PERMANENT),
        (client_error("TransactionCanceledException"), Kind.PERMANENT),
        (client_error("ServiceException", 500), Kind.TRANSIENT),
        (client_error("SomethingNew", 503), Kind.TRANSIENT),
        (client_error("ResourceNotFoundException", 404), Kind.PERMANENT),
        (client_error("ValidationException"), Kind.PERMANENT),
        (client_error("AccessDeniedException", 403), Kind.PERMANENT),
        (exceptions.EndpointConnectionError(endpoint_url="u"), Kind.TRANSIENT),
        (exceptions.ReadTimeoutError(endpoint_url="u"), Kind.TRANSIENT),
        (exceptions.ConnectionClosedError(endpoint_url="u"), Kind.TRANSIENT),
        (exceptions.ParamValidationError(report="r"), Kind.PERMANENT),
        (ConnectionResetError(), Kind.TRANSIENT),
        (TimeoutError(), Kind.TRANSIENT),
        (FileNotFoundError(), Kind.PERMANENT),
        (OSError(errno.ENETUNREACH, "m"), Kind.TRANSIENT),
        (OSError(errno.EHOSTUNREACH, "m"), Kind.TRANSIENT),
        (OSError(errno.ECONNRESET, "m"), Kind.TRANSIENT),
        (urllib.error.URLError(OSError(errno.EHOSTDOWN, "m")), Kind.TRANSIENT),
        (OSError(errno.ENOSPC, "m"), Kind.PERMANENT),
        (urllib.error.HTTPError("u", 429, "m", {}, io.BytesIO()), Kind.THROTTLED),  # type: ignore[arg-type]
        (urllib.error.URLError(ConnectionRefusedError()), Kind.TRANSIENT),
        (urllib.error.URLError(socket.gaierror()), Kind.TRANSIENT),
        (urllib.error.URLError("unknown url type"), Kind.PERMANENT),
        (WebError(503), Kind.TRANSIENT),
        (WebError(404), Kind.PERMANENT),
        (ValueError(), Kind.PERMANENT),
    ],
)
def test_failures_count_as_their_code_status_or_name_says(error: Exception, kind: Kind) -> None:
    assert classify(error) is kind


def test_users_own_exceptions_count_as_the_user_says() -> None:
    classes = Classes(transient=(OrderClosed, LookupError), permanent=(ConnectionError,), throttled=(KeyError,))

    assert classify(OrderClosed(), classes) is Kind.TRANSIENT
    assert classify(KeyError(), classes) is Kind.THROTTLED
    assert classify(ConnectionResetError(), classes) is Kind.PERMANENT
    assert classify(TimeoutError(), classes) is Kind.TRANSIENT


class Flaky:
    """Raises these errors, one for each call, and then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def run(flaky: Flaky, clock: HandClock, policy: RetryPolicy, **options) -> str:
    return retry_call(flaky, policy=policy, clock=clock, sleep=clock.sleep, random=lambda: 0.5, **options)


def test_waits_double_and_throttles_wait_longer(clock: HandClock) -> None:
    flaky = Flaky(TimeoutError(), TimeoutError(), client_error("ThrottlingException"), TimeoutError())

    assert run(flaky, clock, RetryPolicy(attempts_max=5)) == "done"

    assert clock.slept == pytest.approx([0.05, 0.1, 2.0, 0.4])


def test_attempts_are_bounded_and_the_last_error_says_so(clock: HandClock) -> None:
    flaky = Flaky(*[TimeoutError(str(number)) for number in range(9)])

    with pytest.raises(TimeoutError, match="2") as raised:
        run(flaky, clock, RetryPolicy(attempts_max=3))

    assert flaky.calls == 3
    assert raised.value.__notes__ == ["not tried again after attempt 3: 3 attempts are all it may make"]


def test_permanent_failure_is_not_repeated(clock: HandClock) -> None:
    flaky = Flaky(ValueError("bug"))

    with pytest.raises(ValueError):
        run(flaky, clock, RetryPolicy())

    assert (flaky.calls, clock.slept) == (1, [])


def test_failure_that_is_not_repeated_shows_the_one_before_it(clock: HandClock) -> None:
    first = TimeoutError("the real trouble")

    with pytest.raises(ValueError) as raised:
        run(Flaky(first, ValueError("what came of it")), clock, RetryPolicy())

    assert raised.value.__context__ is first


@pytest.mark.parametrize("announced", [False, True])
def test_wait_that_would_outlast_the_invocation_is_not_waited(clock: HandClock, announced: bool) -> None:
    context = FakeContext(START + 1_400, clock)
    policy = RetryPolicy(throttle_first_s=2, reserve_s=0.5)
    flaky = Flaky(client_error("ThrottlingException"))

    with pytest.raises(exceptions.ClientError), invocation(context if announced else None):
        run(flaky, clock, policy, context=None if announced else context)

    assert (flaky.calls, clock.slept) == (1, [])


def test_total_time_is_bounded(clock: HandClock) -> None:
    flaky = Flaky(*[TimeoutError() for _ in range(9)])

    with pytest.raises(TimeoutError):
        run(flaky, clock, RetryPolicy(attempts_max=9, first_s=2, total_s_max=4))

    assert clock.slept == pytest.approx([1.0, 2.0])


@settings(max_examples=40)
@given(failures=st.integers(1, 200), draw=st.floats(0, 1, exclude_max=True), kind=st.sampled_from(list(Kind)))
def test_wait_is_within_its_doubling_bound_and_its_cap(failures: int, draw: float, kind: Kind) -> None:
    policy = RetryPolicy()
    first_s, cap_s = (1.0, 60.0) if kind is Kind.THROTTLED else (0.1, 20.0)

    wait_s = policy.wait_s(kind, failures, draw)

    assert 0 <= wait_s <= min(cap_s, first_s * 2.0 ** min(failures - 1, 100))


def test_decorated_function_is_retried_and_bounded_by_the_context_it_gets(clock: HandClock) -> None:
    flaky = Flaky(TimeoutError(), TimeoutError())

    @retry(RetryPolicy(first_s=2, reserve_s=0), clock=clock, sleep=clock.sleep, random=lambda: 0.5)
    def handler(event: object, context: object) -> str:
        return flaky()

    with pytest.raises(TimeoutError):
        handler({}, FakeContext(START + 2_500, clock))

    assert clock.slept == [1.0]


def test_async_function_is_retried_too(clock: HandClock) -> None:
    flaky = Flaky(TimeoutError())

    @retry(clock=clock, sleep_async=clock.sleep_async, random=lambda: 0.5)
    async def call(word: str) -> str:
        return word + flaky()

    assert asyncio.run(call("is ")) == "is done"
    assert clock.slept == [0.05]


class FakeLambda:
    """Answers of Lambda, as boto3 gives them, in order."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, object]] = []

    def invoke(self, **request: object) -> dict[str, object]:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, dict)
        return answer


def returned(value: object, **more: object) -> dict[str, object]:
    return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(value).encode()), **more}


RAISED = {"errorMessage": "no luck", "errorType": "Oops", "stackTrace": ["line 1"]}


def call(client: FakeLambda, clock: HandClock, **options) -> object:
    return invoke_lambda(client, "f", {"n": 1}, clock=clock, sleep=clock.sleep, random=lambda: 0.5, **options)


def test_invocation_answers_what_the_function_returned(clock: HandClock) -> None:
    client = FakeLambda(returned({"ok": [1]}))

    assert call(client, clock, qualifier="live") == {"ok": [1]}
    assert client.requests == [
        {"FunctionName": "f", "InvocationType": "RequestResponse", "Payload": b'{"n": 1}', "Qualifier": "live"}
    ]


@pytest.mark.parametrize("code", ["TooManyRequestsException", "ResourceNotReadyException"])
def test_refusal_before_the_function_ran_is_retried(clock: HandClock, code: str) -> None:
    assert call(FakeLambda(client_error(code, 502), returned(1)), clock) == 1


@pytest.mark.parametrize(
    "error", [exceptions.ReadTimeoutError(endpoint_url="u"), client_error("ServiceException", 500)]
)
def test_call_that_may_have_run_the_function_is_repeated_only_if_it_may_be(clock: HandClock, error: Exception) -> None:
    once = FakeLambda(error, returned(1))
    with pytest.raises(type(error)) as raised:
        call(once, clock)

    assert len(once.requests) == 1
    assert "may have run" in raised.value.__notes__[-1]
    assert call(FakeLambda(error, returned(1)), clock, repeatable=True) == 1


def test_async_twin_invokes_in_a_thread_and_answers_the_same(clock: HandClock) -> None:
    client = FakeLambda(client_error("TooManyRequestsException", 429), returned({"ok": 1}))

    answer = asyncio.run(invoke_lambda_async(client, "f", {"n": 1}, clock=clock, sleep=clock.sleep))

    assert (answer, len(client.requests)) == ({"ok": 1}, 2)


def test_connection_that_was_never_made_is_retried(clock: HandClock) -> None:
    error = exceptions.EndpointConnectionError(endpoint_url="u")

    assert call(FakeLambda(error, returned(1)), clock) == 1


def test_functions_own_error_is_raised_with_what_it_said(clock: HandClock) -> None:
    client = FakeLambda(returned(RAISED, FunctionError="Unhandled"), returned(1))

    with pytest.raises(FunctionFailed) as raised:
        call(client, clock)

    failed = raised.value
    assert (failed.kind, failed.error_type, failed.message, failed.trace) == (
        "Unhandled",
        "Oops",
        "no luck",
        ("line 1",),
    )
    assert len(client.requests) == 1
    assert call(FakeLambda(returned(RAISED, FunctionError="Unhandled"), returned(1)), clock, repeatable=True) == 1


def test_function_that_does_not_exist_is_not_retried(clock: HandClock) -> None:
    client = FakeLambda(client_error("ResourceNotFoundException", 404), returned(1))

    with pytest.raises(exceptions.ClientError):
        call(client, clock, repeatable=True)

    assert len(client.requests) == 1
