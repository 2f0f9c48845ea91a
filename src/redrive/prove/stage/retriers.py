"""Who awaits the answer of a function, and asks again if there is none: a task of Step Functions, a client of an API.

Everything here is pure. Waits and attempts of a task are those of its state's Retry:
https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from redrive.core.clock import DAY_MS, HOUR_MS, SECOND_MS
from redrive.core.documents import Document
from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus

ALL = "States.ALL"
TIMEOUT = "States.Timeout"
LOST = frozenset({"Lambda.SdkClientException", "Lambda.Unknown"})
"""How a task names an answer of Lambda that did not arrive."""
DEATHS = frozenset({"Runtime.ExitError", "Sandbox.Timedout", "Lambda.Unknown"})
"""How a task names a run that died: by its exit, by its timeout, and as older runtimes are named."""
_EXIT = "Runtime.ExitError"
SERVER_ERROR = frozenset({"5xx"})
CLIENT_ERROR = frozenset({"4xx"})
REDRIVABLE_MS = 14 * DAY_MS
"""https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html"""
SENT_AGAIN_WITHIN_MS = 1 * HOUR_MS
"""How long after it was told of a failure a person sends a request again. Judgement."""

_WAITS_TOLD_MAX = 3

Used = tuple[int, ...]
"""How many retries of each retrier are used up."""


@dataclass(frozen=True, slots=True)
class Retrier:
    """One entry of a state's Retry: interval 1 s, rate 2, three attempts unless it says otherwise: 1 s, 2 s, 4 s.

    With JitterStrategy FULL the longest wait is taken.
    """

    errors: tuple[str, ...]
    interval_ms: int = SECOND_MS
    attempts_max: int = 3
    rate: float = 2.0
    wait_ms_max: int | None = None

    def wait_ms(self, used: int) -> int:
        """How long to wait before the next retry, when `used` were made."""
        from redrive.languages.states import definition as language  # noqa: PLC0415 - 30 ms, and few functions are tasks.
        from redrive.languages.states.retries import delay_s  # noqa: PLC0415 - as above.

        longest_s = None if self.wait_ms_max is None else self.wait_ms_max // SECOND_MS
        rule = language.Retrier(self.errors, self.interval_ms // SECOND_MS, self.attempts_max, self.rate, longest_s)
        return round(delay_s(rule, used + 1) * SECOND_MS)

    @property
    def told(self) -> str:
        """The retrier in words: `States.ALL: 2 retries, after 2 and 5 s`."""
        waits = [f"{self.wait_ms(used) / SECOND_MS:g}" for used in range(min(self.attempts_max, _WAITS_TOLD_MAX))]
        count = "1 retry" if self.attempts_max == 1 else f"{self.attempts_max} retries"
        told = f"{', '.join(self.errors)}: {count}"
        if not waits:
            return told
        if self.attempts_max > _WAITS_TOLD_MAX:
            return f"{told}, after {', '.join(waits)} … s"
        return f"{told}, after {' and '.join(filter(None, (', '.join(waits[:-1]), waits[-1])))} s"

    @classmethod
    def of(cls, entry: Mapping[str, object]) -> Retrier:
        """A retrier of a state's definition. A number that the definition computes is taken for the default."""
        from redrive.languages.states.reading import retriers_of  # noqa: PLC0415 - as above.

        (read,) = retriers_of({"Retry": [entry]})
        longest = None if read.delay_s_max is None else read.delay_s_max * SECOND_MS
        return cls(read.errors, read.interval_s * SECOND_MS, read.attempts_max, read.backoff_rate, longest)


USUAL_RETRY = (
    Retrier(
        (
            "Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException",
            "Lambda.TooManyRequestsException",
        ), rate=2.0,
    ),
)  # fmt: skip
"""The Retry that the console of Step Functions gives a task that invokes a function: no error of the function's own."""


@dataclass(frozen=True, slots=True)
class Awaiting:
    """Who awaits the answers of a function.

    `is_web`: it is a client of an API, and an answer has a status; otherwise a task. `timeout_ms` is the task's own.
    `is_repeated`: a whole execution may run a second time (express workflows).
    """

    retriers: tuple[Retrier, ...] = USUAL_RETRY
    catches: tuple[tuple[str, ...], ...] = ()
    timeout_ms: int | None = None
    is_repeated: bool = False
    is_web: bool = False
    is_proxy: bool = False
    """Whether an answer without a statusCode is malformed: a REST API says so, HTTP APIs and URLs make a body of it."""

    def errors_of(self, result: InvocationResult) -> frozenset[str]:
        """The names of the error that an attempt has ended with; none if it has succeeded."""
        if self.is_web:
            return _errors_of_answer(result, is_proxy=self.is_proxy)
        return frozenset() if result.status is InvocationStatus.OK else _errors_of_function(result.payload)

    @property
    def lost(self) -> frozenset[str]:
        """The names of an answer that is lost while the run goes on."""
        return SERVER_ERROR if self.is_web else LOST

    def may_overlap(self, timeout_ms: int) -> bool:
        """Whether a retry may begin while a run with this timeout goes on.

        A task is retried when the connection to Lambda is lost, and when its own timeout is the shorter one.
        """
        errors = set(self.lost)
        if self.timeout_ms is not None and self.timeout_ms < timeout_ms:
            errors.add(TIMEOUT)
        return any(_takes(one.errors, frozenset({error})) for one in self.retriers for error in errors)

    def retry(self, errors: frozenset[str], used: Used) -> tuple[int, Used] | None:
        """The wait before the next attempt, and the retries used then; None if there is no further one.

        The first retrier that names the error decides; each counts its own retries.
        """
        for at, one in enumerate(self.retriers):
            if _takes(one.errors, errors):
                if used[at] >= one.attempts_max:
                    return None
                return one.wait_ms(used[at]), (*used[:at], used[at] + 1, *used[at + 1 :])
        return None

    @property
    def told(self) -> str:
        """The rules of a task in words."""
        retries = "; ".join(one.told for one in self.retriers)
        return f"{f'Retry of {retries}' if retries else 'no Retry'}, {'a' if self.catches else 'no'} Catch"

    @property
    def unused(self) -> Used:
        """No retry is used."""
        return (0,) * len(self.retriers)


WEB_CLIENT = Awaiting((Retrier(tuple(SERVER_ERROR), attempts_max=1),), is_web=True)
"""A client that sends a request once more, a second after the first was answered with a 5xx or not at all."""


def task(state: Mapping[str, object], *, is_express: bool) -> Awaiting:
    """The task of a state's definition."""
    from redrive.languages.states.reading import errors_caught_by  # noqa: PLC0415 - as above.

    timeout = state.get("TimeoutSeconds")
    return Awaiting(
        tuple(map(Retrier.of, _objects(state.get("Retry")))),
        errors_caught_by({"Catch": _objects(state.get("Catch"))}),
        round(float(timeout) * SECOND_MS) if isinstance(timeout, int | float) else None,
        is_repeated=is_express,
    )


def _takes(names: Iterable[str], errors: frozenset[str]) -> bool:
    """Whether a list of names takes an error that has any of these names."""
    from redrive.languages.states.retries import matches  # noqa: PLC0415 - as above.

    return any(matches(tuple(names), error) for error in errors)


def _errors_of_function(payload: bytes) -> frozenset[str]:
    try:
        kind = str(json.loads(payload).get("errorType", "Lambda.Unknown"))
    except (ValueError, AttributeError):
        kind = "Lambda.Unknown"
    return DEATHS if kind == _EXIT else frozenset({kind})


def _errors_of_answer(result: InvocationResult, *, is_proxy: bool) -> frozenset[str]:
    """What a client sees of an answer: a 5xx is worth another attempt, a 4xx is not."""
    if result.status is not InvocationStatus.OK:
        return SERVER_ERROR
    status = status_of(result.payload, is_proxy=is_proxy)
    if status is None or status >= 500:
        return SERVER_ERROR
    return CLIENT_ERROR if status >= 400 else frozenset()


def status_of(payload: bytes, *, is_proxy: bool) -> int | None:
    """The status of an answer; None if API Gateway takes the answer for malformed.

    Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
    """
    try:
        answer = json.loads(payload)
    except ValueError:
        return None
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return None if is_proxy else 200
    status = answer["statusCode"]
    return int(status) if isinstance(status, int | float) or str(status).isdecimal() else None


def _objects(entries: object) -> list[Document]:
    return [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
