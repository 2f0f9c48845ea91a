"""Causes of dead letters: which letters belong together, and what kind of cause it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.deadletters.causes import MESSAGE_CHARS_MAX, Class, Remedy, cause_of, judge, without_variables
from redrive.deadletters.letter import Failure, Form, Letter, Origin, Work

LETTER = Letter("m", Origin.FUNCTION, "arn:aws:lambda:us-east-1:1:function:f", Failure(), Work("", Form.TEXT))


def letter(message: str, *trace: str, code: str = "200") -> Letter:
    return replace(LETTER, failure=Failure(code, message, trace=trace))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order 17 not found", "order 40000 not found"),
        ("'order-1234'", "'order-1235'"),
        (
            "2026-11-23T01:02:03.123Z e4b46cbf-b738-4f00-8880-a18cdf61200e Task timed out after 30.03 seconds",
            "2026-11-24T09:00:00Z 00000000-b738-4f00-8880-a18cdf61200e Task timed out after 3.00 seconds",
        ),
        ("no mail to ann@example.com", "no mail to bob.b@example.org"),
        ("GET https://api.example.com/a?b=1 failed", "GET https://api.example.com/c failed"),
        ("cannot assume arn:aws:iam::1:role/a", "cannot assume arn:aws:iam::2:role/path/b"),
        ("bad token Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9v", "bad token QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"),
    ],
)
def test_messages_that_differ_in_their_values_alone_have_one_cause(one: str, other: str) -> None:
    assert cause_of(letter(one)) == cause_of(letter(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("'id'", "'price'"),
        ("GET https://api.example.com/a failed", "GET https://mail.example.com/a failed"),
        ("cannot assume arn:aws:iam::1:role/a", "cannot read arn:aws:s3:::bucket/key"),
        ("Task timed out after 3.00 seconds", "Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_messages_that_say_different_things_have_two_causes(one: str, other: str) -> None:
    assert cause_of(letter(one)) != cause_of(letter(other))


def test_same_error_at_two_places_of_the_code_has_two_causes() -> None:
    first = '  File "/var/task/app.py", line 4, in handler'
    library = '  File "/opt/python/lib/site-packages/x.py", line 9, in get'

    assert cause_of(letter("'id'", first, library)).place == "/var/task/app.py in handler"
    assert cause_of(letter("'id'", first)) == cause_of(letter("'id'", first.replace("4", "5"), library))
    assert cause_of(letter("'id'", first)) != cause_of(letter("'id'", first.replace("handler", "charge")))


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure("NO_PERMISSIONS"), Class.PERMISSION),
        (Failure("NO_RESOURCE"), Class.CONFIGURATION),
        (Failure("AWS.SimpleQueueService.NonExistentQueue", condition="MaximumEventAgeInSeconds"), Class.CONFIGURATION),
        (Failure("THROTTLING", condition="MaximumRetryAttempts"), Class.THROTTLED),
        (Failure("AWS.Scheduler.InternalServerError"), Class.TRANSIENT),
        (Failure("429", "Rate Exceeded."), Class.THROTTLED),
        (Failure("200", "2026 abc Task timed out after 3.00 seconds"), Class.TRANSIENT),
        (Failure("KeyError", "'order'"), Class.POISON),
        (Failure("json.decoder.JSONDecodeError", "Expecting value"), Class.POISON),
        (Failure("TypeError", "unsupported operand"), Class.CODE),
        (Failure("Runtime.ImportModuleError", "No module named 'x'"), Class.CONFIGURATION),
        (Failure("ClientError", "An error occurred (AccessDenied) when calling the Get operation"), Class.PERMISSION),
        (Failure("200", "An error occurred (Throttling) when calling the Put operation: x"), Class.THROTTLED),
        (Failure("ResourceNotFoundException", "Requested resource not found"), Class.CONFIGURATION),
        (Failure("", "", "ZeroReservedConcurrency"), Class.CONFIGURATION),
        (Failure("", "", "EventAgeExceeded"), Class.THROTTLED),
        (Failure("200", "'order'"), Class.UNKNOWN),
        (Failure("OrderRefused", "not today"), Class.UNKNOWN),
    ],
)  # fmt: skip
def test_class_follows_from_what_the_letter_says(failure: Failure, kind: Class) -> None:
    assert judge(failure, Origin.FUNCTION).kind is kind


def test_error_of_aws_inside_a_message_decides_before_the_exception_that_carries_it() -> None:
    failure = Failure("ValueError", "An error occurred (ServiceUnavailable) when calling the Publish operation: x")

    assert judge(failure, Origin.DESTINATION).kind is Class.TRANSIENT


def test_message_of_a_queue_holds_no_error_and_its_consumer_is_named() -> None:
    judged = judge(Failure(condition="maxReceiveCount", attempts=3), Origin.QUEUE)

    assert (judged.kind, judged.remedy) == (Class.UNKNOWN, Remedy.EXAMINE)
    assert "logs" in judged.advice


@given(st.text(), st.text(), st.text())
def test_every_failure_has_a_class_and_a_bounded_cause(code: str, message: str, condition: str) -> None:
    failure = Failure(code, message, condition)

    assert judge(failure, Origin.RULE).advice
    assert len(without_variables(message)) <= MESSAGE_CHARS_MAX
    assert without_variables(without_variables(message)) == without_variables(message)
