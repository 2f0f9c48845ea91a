"""Numbers: 38 significant digits, magnitudes from 1E-130 to 9.9…E+125, one spelling."""

from __future__ import annotations

from decimal import Context, Decimal
from functools import partial

import pytest
from hypothesis import given

from redrive.languages.dynamo.data.numbers import add, canonical, digit_count, significand, subtract
from tests.unit.languages.dynamo.refused import refusal
from tests.unit.languages.dynamo.strategies import DECIMALS, NUMBERS

OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
IMPRECISE = "Attempting to store more than 38 significant digits in a Number"


@pytest.mark.parametrize(
    ("written", "returned"),
    [
        ("1.50", "1.5"),
        ("007", "7"),
        ("+3", "3"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1E2", "100"),
        ("1e+5", "100000"),
        ("-0", "0"),
        ("-0.5", "-0.5"),
        ("0.50", "0.5"),
        ("00.5", "0.5"),
        ("-0.0", "0"),
        ("9999999999999999999.0000000000000000001", "9999999999999999999.0000000000000000001"),
        ("0e1000", "0"),
        ("-0015.789e6", "-15789000"),
        ("0001.000e-130", "0." + "0" * 129 + "1"),
        ("0009.99999999999999999999999999999999999990000e125", "9" * 38 + "0" * 88),
        ("-00001.23456789012345678901234567890123456780000", "-1.2345678901234567890123456789012345678"),
    ],
)
def test_number_is_returned_in_one_spelling(written: str, returned: str) -> None:
    """Leading and trailing zeroes are trimmed, and no exponent is written."""
    assert canonical(written) == returned


@pytest.mark.parametrize("text", ["b", "NaN", "Infinity", "-dog", " 1", "1 ", "1_0", "٣", "1e", ".", "--1", "1.5.2"])
def test_text_that_is_no_number_is_refused_by_its_text(text: str) -> None:
    """A text that is no number cannot be converted to a numeric value."""
    assert refusal(lambda: canonical(text)) == f"The parameter cannot be converted to a numeric value: {text}"


def test_empty_number_is_refused() -> None:
    """An empty number cannot be converted either, and AWS then shows no value."""
    assert refusal(lambda: canonical("")) == "The parameter cannot be converted to a numeric value"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("123456789012345678901234567890123456789", IMPRECISE),
        ("-1.23456789012345678901234567890123456789", IMPRECISE),
        ("1e126", OVERFLOW),
        ("-11e125", OVERFLOW),
        ("1e99999999999999999999", OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("-0.9e-130", UNDERFLOW),
        ("1e-99999999999999999999", UNDERFLOW),
    ],
)
def test_number_out_of_range_is_refused(text: str, message: str) -> None:
    """A number with more than 38 significant digits, or out of the range of magnitudes, is refused."""
    assert refusal(lambda: canonical(text)) == message


@given(DECIMALS)
def test_canonical_number_has_the_value_that_was_written(number: Decimal) -> None:
    """The one spelling of a number is its value, and it is its own spelling."""
    spelled = canonical(str(number))

    assert Decimal(spelled) == number
    assert canonical(spelled) == spelled
    assert "E" not in spelled.upper()


@given(NUMBERS)
def test_significant_digits_are_counted_without_the_zeros_around_them(number: str) -> None:
    """The size of a number counts its digits: `0` has none, `1200` two, `0.5` one."""
    assert digit_count(number) == len(significand(number).digits)


@given(NUMBERS, NUMBERS)
def test_sum_and_difference_are_exact_or_refused(left: str, right: str) -> None:
    """Arithmetic never loses a digit: what 38 digits cannot hold is an error."""
    exact = Context(prec=400)
    sums = [(add, exact.add(Decimal(left), Decimal(right))), (subtract, exact.subtract(Decimal(left), Decimal(right)))]
    for operate, wanted in sums:
        digits = len(f"{wanted:f}".strip("-").replace(".", "").strip("0"))
        if wanted == 0 or (digits <= 38 and -130 <= wanted.adjusted() <= 125):
            assert Decimal(operate(left, right)) == wanted
        else:
            assert refusal(partial(operate, left, right)) in {OVERFLOW, UNDERFLOW}


def test_sum_with_too_many_digits_is_an_overflow() -> None:
    """AWS calls a sum that needs more than 38 digits an overflow."""
    assert refusal(lambda: add("1" + "0" * 50, "1")) == OVERFLOW
