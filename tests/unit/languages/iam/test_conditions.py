"""Each condition operator: what it matches, what it does not, and what a missing key means."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.iam import AccessRequest, Allowed, PrincipalInfo, decide, parse_policy
from redrive.languages.iam.operators import OPERATORS

ROLE = PrincipalInfo.session("arn:aws:iam::123456789012:role/worker", "s1")
TOPIC = "arn:aws:sns:us-east-1:123456789012:orders"


def holds(operator: str, wanted: object, actual: tuple[str, ...], version: str = "2012-10-17") -> bool:
    """Does a policy with this one condition on `test:Key` allow a request in which the key has these values?"""
    context = {"Test:key": actual} if actual else {}
    statement = {
        "Effect": "Allow",
        "Action": "*",
        "Resource": "*",
        "Condition": {operator: {"test:Key": wanted}},
    }
    policy = parse_policy({"Version": version, "Statement": statement})
    return isinstance(decide(AccessRequest("sqs:SendMessage", "*", ROLE, context), [policy]), Allowed)


@pytest.mark.parametrize(
    ("operator", "wanted", "actual"),
    [
        ("StringEquals", "Blue", "Blue"),
        ("StringEquals", ["Red", "Blue"], "Blue"),
        ("StringEquals", 7, "7"),
        ("StringEquals", "${aws:PrincipalAccount}", "123456789012"),
        ("StringNotEquals", "Blue", "blue"),
        ("StringNotEquals", ["Red", "Green"], "Blue"),
        ("StringEqualsIgnoreCase", "Blue", "bLUE"),
        ("StringNotEqualsIgnoreCase", "Blue", "Red"),
        ("StringLike", "B*e", "Blue"),
        ("StringLike", "*-${aws:PrincipalAccount}", "x-123456789012"),
        ("StringNotLike", "B*e", "Red"),
        ("NumericEquals", "10.0", "10"),
        ("NumericNotEquals", 10, "11"),
        ("NumericLessThan", "10", "9"),
        ("NumericLessThanEquals", "10", "10"),
        ("NumericGreaterThan", "9", "10"),
        ("NumericGreaterThanEquals", "10", "1e1"),
        ("DateEquals", "2025-01-01T00:00:00Z", "2025-01-01T01:00:00+01:00"),
        ("DateNotEquals", "2025-01-01T00:00:00Z", "2025-01-01T00:00:01Z"),
        ("DateLessThan", "2025-01-01T00:00:00Z", "2024-12-31T23:59:59Z"),
        ("DateLessThanEquals", "1735689600", "2025-01-01T00:00:00Z"),
        ("DateGreaterThan", "2025-01-01", "1735689601"),
        ("DateGreaterThanEquals", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
        ("Bool", True, "true"),
        ("Bool", "FALSE", "false"),
        ("BinaryEquals", "aGk=", "aGk="),
        ("IpAddress", "10.0.0.0/8", "10.1.2.3"),
        ("IpAddress", "10.1.2.3", "10.1.2.3"),
        ("IpAddress", "10.1.2.3/8", "10.9.9.9"),
        ("IpAddress", "2001:db8::/32", "2001:db8::1"),
        ("NotIpAddress", "10.0.0.0/8", "11.0.0.1"),
        ("ArnEquals", "arn:aws:sns:*:123456789012:ord???", TOPIC),
        ("ArnLike", TOPIC, TOPIC),
        ("ArnNotEquals", "arn:aws:sns:*:123456789012:other", TOPIC),
        ("ArnNotLike", "arn:aws:sqs:*:*:*", TOPIC),
        ("Null", "false", "x"),
    ],
)
def test_condition_holds_for_a_value_that_satisfies_it(operator: str, wanted: object, actual: str) -> None:
    assert holds(operator, wanted, (actual,))


@pytest.mark.parametrize(
    ("operator", "wanted", "actual"),
    [
        ("StringEquals", "Blue", "blue"),
        ("StringEquals", "B*", "Blue"),
        ("StringEquals", "${aws:username}", ""),
        ("StringNotEquals", ["Red", "Blue"], "Blue"),
        ("StringEqualsIgnoreCase", "Blue", "Red"),
        ("StringNotEqualsIgnoreCase", "Blue", "BLUE"),
        ("StringLike", "b*", "Blue"),
        ("StringLike", "*${aws:username}", "Blue"),
        ("StringNotLike", ["R*", "B*"], "Blue"),
        ("NumericEquals", "10", "ten"),
        ("NumericNotEquals", "10", "10.00"),
        ("NumericLessThan", "10", "10"),
        ("NumericGreaterThan", "10", "10"),
        ("DateLessThan", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
        ("DateGreaterThan", "2025-01-01T00:00:00Z", "soon"),
        ("Bool", "true", "false"),
        ("BinaryEquals", "aGk=", "aGo="),
        ("BinaryEquals", "aGk=", "hi"),
        ("IpAddress", "10.0.0.0/8", "11.0.0.1"),
        ("IpAddress", "10.0.0.0/8", "elsewhere"),
        ("IpAddress", "10.0.0.0/8", "2001:db8::1"),
        ("NotIpAddress", "10.0.0.0/8", "10.0.0.1"),
        ("ArnEquals", "arn:aws:sns:*:orders", TOPIC),
        ("ArnLike", "arn:aws:sns:*:123456789012:other", TOPIC),
        ("ArnNotLike", "arn:aws:sns:*:*:*", TOPIC),
        ("Null", "true", "x"),
    ],
)
def test_condition_fails_for_a_value_that_does_not_satisfy_it(operator: str, wanted: object, actual: str) -> None:
    assert not holds(operator, wanted, (actual,))


NEGATED = sorted(name for name, operator in OPERATORS.items() if operator.negated)
POSITIVE = sorted(OPERATORS.keys() - set(NEGATED))
SAMPLES: Mapping[str, str] = {
    "Numeric": "1",
    "Date": "2025-01-01",
    "Bool": "true",
    "Ip": "10.0.0.1",
    "NotIp": "10.0.0.1",
}


def sample(operator: str) -> str:
    return next((value for prefix, value in SAMPLES.items() if operator.startswith(prefix)), "aGk=")


@pytest.mark.parametrize("operator", POSITIVE)
def test_missing_key_fails_a_positive_condition(operator: str) -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html"""
    assert not holds(operator, sample(operator), ())
    assert not holds(f"ForAnyValue:{operator}", sample(operator), ())


@pytest.mark.parametrize("operator", NEGATED)
def test_missing_key_satisfies_a_negated_condition(operator: str) -> None:
    assert holds(operator, sample(operator), ())
    assert not holds(f"ForAnyValue:{operator}", sample(operator), ())


@pytest.mark.parametrize("operator", POSITIVE + NEGATED)
def test_missing_key_satisfies_if_exists_and_for_all_values(operator: str) -> None:
    assert holds(f"{operator}IfExists", sample(operator), ())
    assert holds(f"ForAllValues:{operator}", sample(operator), ())


def test_if_exists_compares_a_key_that_is_there() -> None:
    assert holds("StringEqualsIfExists", "Blue", ("Blue",))
    assert not holds("StringEqualsIfExists", "Blue", ("Red",))


def test_null_asks_whether_the_key_is_there() -> None:
    assert holds("Null", "true", ())
    assert not holds("Null", "false", ())


@pytest.mark.parametrize(
    ("operator", "actual", "expected"),
    [
        ("ForAllValues:StringEquals", ("a", "b"), True),
        ("ForAllValues:StringEquals", ("a", "c"), False),
        ("ForAnyValue:StringEquals", ("c", "a"), True),
        ("ForAnyValue:StringEquals", ("c", "d"), False),
        ("ForAllValues:StringNotEquals", ("c", "d"), True),
        ("ForAllValues:StringNotEquals", ("a", "d"), False),
        ("ForAnyValue:StringNotEquals", ("a", "d"), True),
        ("ForAnyValue:StringNotEquals", ("a", "b"), False),
    ],
)
def test_quantifiers_say_how_many_values_must_match(operator: str, actual: tuple[str, ...], expected: bool) -> None:
    assert holds(operator, ["a", "b"], actual) is expected


@given(
    actual=st.lists(st.sampled_from("abc"), max_size=3),
    wanted=st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
)
def test_negated_operator_is_the_opposite_for_one_key(actual: list[str], wanted: list[str]) -> None:
    """Without a quantifier StringNotEquals holds exactly where StringEquals does not."""
    values = tuple(actual)

    assert holds("StringNotEquals", wanted, values) != holds("StringEquals", wanted, values)


def test_every_condition_of_a_statement_must_hold() -> None:
    statement = {
        "Effect": "Allow",
        "Action": "*",
        "Resource": "*",
        "Condition": {"StringEquals": {"a:A": "1", "a:B": "2"}, "Bool": {"a:C": "true"}},
    }
    policy = parse_policy({"Statement": statement})
    context = {"a:A": ("1",), "a:B": ("2",), "a:C": ("true",)}

    assert isinstance(decide(AccessRequest("x:Y", "*", ROLE, context), [policy]), Allowed)
    for key in context:
        broken = {**context, key: ("other",)}
        assert not isinstance(decide(AccessRequest("x:Y", "*", ROLE, broken), [policy]), Allowed)


def test_variables_are_plain_text_in_the_older_version() -> None:
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html"""
    assert holds("StringEquals", "${aws:PrincipalAccount}", ("${aws:PrincipalAccount}",), "2008-10-17")
    assert not holds("StringEquals", "${aws:PrincipalAccount}", ("123456789012",), "2008-10-17")


def test_variable_without_value_satisfies_a_negated_condition() -> None:
    assert holds("StringNotEquals", "${aws:username}", ("bob",))
