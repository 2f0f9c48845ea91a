"""The documented tables of how alarms treat missing data, each row in virtual time.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.services.cloudwatch.model.alarm import StateValue
from redrive.services.cloudwatch.model.evaluated import Point, TreatMissing, evaluate
from tests.unit.services.cloudwatch.alarmed import Tower

KEEP = "keep"
TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")

THREE_OF_THREE = [
    ("0 - X - X", ("OK", "OK", "OK", "OK")),
    ("0 - - - -", ("OK", "OK", "OK", "OK")),
    ("- - - - -", ("INSUFFICIENT_DATA", KEEP, "ALARM", "OK")),
    ("0 X X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("- - X - -", ("ALARM", KEEP, "ALARM", "OK")),
    # Below the tables: an alarm does not go to ALARM too early.
    ("- - - - X", (KEEP, KEEP, "ALARM", "OK")),
    ("- - - X -", (KEEP, KEEP, "ALARM", "OK")),
    ("- - - X 0", ("OK", "OK", "OK", "OK")),
    ("- - X - 0", ("OK", "OK", "OK", "OK")),
]
TWO_OF_THREE = [
    ("0 - X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("0 0 X 0 X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("0 - X - -", ("OK", "OK", "ALARM", "OK")),
    ("- - - - 0", ("OK", "OK", "ALARM", "OK")),
    ("- - - X -", ("ALARM", KEEP, "ALARM", "OK")),
]
ROWS = [(3, *row) for row in THREE_OF_THREE] + [(2, *row) for row in TWO_OF_THREE]


@pytest.mark.parametrize(("to_alarm", "data", "states"), ROWS, ids=lambda value: str(value).replace(" ", ""))
def test_row_of_the_documented_tables(tower: Tower, to_alarm: int, data: str, states: Sequence[str]) -> None:
    """Five minutes of data, then the evaluation at the end of the fifth: each treatment, from OK and from ALARM."""
    values = {minute: 5.0 if sign == "X" else 0.0 for minute, sign in enumerate(data.split()) if sign != "-"}
    tower.publish(values)
    tower.advance_to(4.5)
    for treatment in TREATMENTS:
        for before in ("OK", "ALARM"):
            name = f"{treatment} {before}"
            tower.alarm(name, EvaluationPeriods=3, DatapointsToAlarm=to_alarm, TreatMissingData=treatment)
            tower.set_state(before, name)

    tower.advance_to(5)

    for treatment, wanted in zip(TREATMENTS, states, strict=True):
        for before in ("OK", "ALARM"):
            assert tower.state(f"{treatment} {before}") == (before if wanted == KEEP else wanted), (treatment, before)


def test_timeline_of_the_documented_figure(tower: Tower) -> None:
    """Threshold 3, three of three: ALARM after the fifth minute, OK after the sixth; one breach is not enough."""
    tower.alarm(EvaluationPeriods=3, Threshold=3)
    tower.publish(dict(enumerate([2, 2.5, 4, 5, 4.5, 2, 1, 2, 4, 2, 1.0])))

    tower.advance_to(11)

    assert tower.timeline() == [(1, "OK"), (5, "ALARM"), (6, "OK")]


def test_missing_data_after_the_last_point_are_waited_for(tower: Tower) -> None:
    """A breach, then nothing: the last real points are evaluated again until they leave the evaluation range."""
    for treatment in TREATMENTS:
        tower.alarm(treatment, TreatMissingData=treatment)
    tower.publish({0: 5.0})

    tower.advance_to(60)

    begin = {"missing": "INSUFFICIENT_DATA", "ignore": None, "breaching": "ALARM", "notBreaching": "OK"}
    assert tower.timeline("missing") == [(1, "ALARM"), (4, "INSUFFICIENT_DATA")]
    assert tower.timeline("ignore") == [(1, "ALARM")]
    assert tower.timeline("breaching") == [(0, "ALARM")]
    assert tower.timeline("notBreaching") == [(0, "OK"), (1, "ALARM"), (4, "OK")]
    assert [tower.state(name) for name in begin if begin[name]] == ["INSUFFICIENT_DATA", "ALARM", "OK"]


def test_alarms_on_metrics_of_dynamodb_always_ignore_missing_data(tower: Tower) -> None:
    tower.alarm(Namespace="AWS/DynamoDB", TreatMissingData="breaching")

    tower.advance_to(10)

    assert tower.state() == "INSUFFICIENT_DATA"


SIGNS = st.lists(st.sampled_from("0X-"), min_size=1, max_size=9)


@given(SIGNS, st.integers(1, 7), st.data(), st.sampled_from(TreatMissing))
def test_evaluation_is_what_the_page_says(
    signs: list[str], periods: int, data: st.DataObject, treat: TreatMissing
) -> None:
    """Held against the page's own words, counted here in another way: by the text of the data."""
    to_alarm = data.draw(st.integers(1, periods))
    signs = (["-"] * (periods + 2) + signs)[-(periods + 2) :]
    points = [None if sign == "-" else Point(at, 1.0, sign == "X") for at, sign in enumerate(signs)]

    found = evaluate(points, periods=periods, to_alarm=to_alarm, treat=treat)

    text = "".join(signs)
    real = text.replace("-", "")[-periods:]
    missing = periods - len(real)
    filled = {TreatMissing.BREACHING: "X", TreatMissing.NOT_BREACHING: "0"}.get(treat, "") * missing
    assert (found.filled, len(found.points)) == (missing, len(real))
    if (real + filled).count("X") >= to_alarm:
        assert found.value is StateValue.ALARM
    elif not missing or filled or "0" in real:
        assert found.value is StateValue.OK
    elif treat is TreatMissing.IGNORE:
        assert found.value is None
    elif not real:
        assert found.value is StateValue.INSUFFICIENT_DATA
    else:
        is_old = len(text) - text.index("X") >= to_alarm
        assert found.value is (StateValue.ALARM if is_old else None)
