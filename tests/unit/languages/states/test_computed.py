"""Fields that are computed from a state's data come to what AWS says, or fail with its sentences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.documents import dump_json
from redrive.languages.states import Fail, StatesError, Task, Wait
from redrive.languages.states.computed import failure_of, heartbeat_s_of, role_of, timeout_s_of, wait_ends_at
from redrive.languages.states.payloads import fits, payload_bytes, too_large
from redrive.languages.states.timestamps import read_timestamp
from tests.unit.languages.states.worlds import FUNCTION, NOW, bindings, state


def _wait(**members: Any) -> Wait:
    one = state({"Type": "Wait", "End": True, **members})
    assert isinstance(one, Wait)
    return one


def _ends(one: Wait, raw: object) -> int:
    return wait_ends_at(one, raw, bindings(), NOW) - NOW


def test_wait_lasts_as_long_as_it_says_and_never_ends_before_it_began() -> None:
    assert _ends(_wait(Seconds=90), {}) == 90_000
    assert _ends(_wait(SecondsPath="$.s"), {"s": 5}) == 5_000
    assert _ends(_wait(SecondsPath="$.s"), {"s": 0}) == 0
    assert _ends(_wait(Timestamp="2023-11-14T22:13:21.5Z"), {}) == 1_500
    assert _ends(_wait(Timestamp="2001-01-01T00:00:00Z"), {}) == 0
    assert _ends(_wait(TimestampPath="$.t"), {"t": "2023-11-14T23:13:21+01:00"}) == 1_000
    assert _ends(_wait(Seconds="{% $states.input.s * 2 %}", QueryLanguage="JSONata"), {"s": 4}) == 8_000


@pytest.mark.parametrize(
    ("members", "raw", "cause"),
    [
        ({"SecondsPath": "$.x"}, {}, "The SecondsPath parameter does not reference an input value: $.x"),
        (
            {"SecondsPath": "$.x"},
            {"x": "1.5"},
            "The SecondsPath parameter cannot be parsed as a long value: $.x == 1.5",
        ),
        ({"SecondsPath": "$.x"}, {"x": -1}, "The SecondsPath parameter references a negative value: $.x == -1"),
        ({"SecondsPath": "$.x"}, {"x": 100_000_000}, "Wait state delay is too long."),
        (
            {"TimestampPath": "$.x"},
            {"x": "2024-01-01"},
            (
                "The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time "
                "format string: $.x == 2024-01-01"
            ),
        ),
    ],
)
def test_wait_that_cannot_be_computed_is_a_runtime_error(members: dict[str, Any], raw: object, cause: str) -> None:
    with pytest.raises(StatesError) as raised:
        _ends(_wait(**members), raw)

    assert (raised.value.error, raised.value.cause) == ("States.Runtime", cause)


def test_wait_in_jsonata_fails_as_a_query() -> None:
    with pytest.raises(StatesError) as raised:
        _ends(_wait(Timestamp="{% 'soon' %}", QueryLanguage="JSONata"), {})

    assert raised.value.error == "States.QueryEvaluationError"
    assert raised.value.cause == (
        "The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format string: soon"
    )


def _task(**members: Any) -> Task:
    one = state({"Type": "Task", "Resource": FUNCTION, "End": True, **members})
    assert isinstance(one, Task)
    return one


def test_task_has_the_longest_timeout_unless_it_says_otherwise() -> None:
    surroundings = bindings()

    assert timeout_s_of(_task(), {}, surroundings) == 99_999_999
    assert heartbeat_s_of(_task(), {}, surroundings) is None
    assert timeout_s_of(_task(TimeoutSeconds=7), {}, surroundings) == 7
    assert timeout_s_of(_task(TimeoutSecondsPath="$.t"), {"t": 8}, surroundings) == 8
    assert heartbeat_s_of(_task(HeartbeatSecondsPath="$.t"), {"t": 9.0}, surroundings) == 9
    assert timeout_s_of(_task(TimeoutSeconds="{% 2 * 5 %}", QueryLanguage="JSONata"), {}, surroundings) == 10


def test_timeout_that_is_no_number_fails_the_task() -> None:
    with pytest.raises(StatesError, match=r'refers to value "abc" which is not a valid integer: \$\.t'):
        timeout_s_of(_task(TimeoutSecondsPath="$.t"), {"t": "abc"}, bindings())
    with pytest.raises(StatesError, match=r"Invalid path '\$.t' : No results for path: \$\['t'\]"):
        timeout_s_of(_task(TimeoutSecondsPath="$.t"), {}, bindings())


def test_credentials_name_the_role_of_a_task() -> None:
    assert role_of(_task(), {}, bindings()) is None
    assert role_of(_task(Credentials={"RoleArn": "arn:r"}), {}, bindings()) == "arn:r"
    assert role_of(_task(Credentials={"RoleArn.$": "$.r"}), {"r": "arn:s"}, bindings()) == "arn:s"


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({}, (None, None)),
        ({"Error": "E", "Cause": "c"}, ("E", "c")),
        ({"ErrorPath": "$.e", "CausePath": "States.Format('{}!', $.e)"}, ("Boom", "Boom!")),
        ({"QueryLanguage": "JSONata", "Error": "{% $states.input.e & 'Error' %}"}, ("BoomError", None)),
    ],
)
def test_fail_state_fails_as_it_says(members: dict[str, Any], told: tuple[str | None, str | None]) -> None:
    one = state({"Type": "Fail", **members})
    assert isinstance(one, Fail)

    assert failure_of(one, {"e": "Boom"}, bindings()) == told


@pytest.mark.parametrize(
    "text",
    ["2024-01-01", "2024-01-01 00:00:00Z", "2024-01-01t00:00:00Z", "2024-01-01T00:00:00", "2024-13-01T00:00:00Z",
     "2024-02-30T00:00:00Z", "2024-01-01T25:00:00Z", "2024-01-01T00:00:00+19:00", "0000-01-01T00:00:00Z", ""],
)  # fmt: skip
def test_text_that_is_no_timestamp_is_none(text: str) -> None:
    assert read_timestamp(text) is None


@given(st.datetimes(), st.integers(-840, 840))
def test_timestamp_is_the_same_instant_in_every_zone(moment: Any, minutes: int) -> None:
    sign = "-" if minutes < 0 else "+"
    zone = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    plain = read_timestamp(f"{moment.isoformat()}Z")
    assert plain is not None

    assert read_timestamp(f"{moment.isoformat()}{zone}") == plain - minutes * 60_000


@given(st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_size_of_a_payload_is_that_of_its_bytes(value: object) -> None:
    assert payload_bytes(value) == len(dump_json(value).encode("utf-8", "surrogatepass"))


def test_payload_of_exactly_the_limit_fits() -> None:
    assert fits('"' + "é" * 131_071 + '"')
    assert not fits('"' + "é" * 131_071 + 'x"')
    error = too_large("S")
    assert error.error == "States.DataLimitExceeded"
    assert error.cause_in("S", 1) == error.cause
