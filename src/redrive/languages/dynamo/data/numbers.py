"""DynamoDB's numbers: 38 significant decimal digits, magnitudes from 1E-130 to 9.9…E+125.

A number is text on the wire. This module parses the text once, refuses what AWS refuses, and writes the canonical form
that AWS returns: plain decimal digits without an exponent and without insignificant zeros. It knows nothing of items.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal

from redrive.languages.dynamo.refusals import invalid

SIGNIFICANT_DIGITS_MAX = 38
EXPONENT_MAX = 125
EXPONENT_MIN = -130

# A larger exponent is out of range however many zeros the digits have: checking it first makes absurd ones cheap.
_EXPONENT_CLAMP = 10**9
# Wide enough for the exact sum of the largest and the smallest number.
_EXACT_DIGITS = 300

_OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
_UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
_IMPRECISE = f"Attempting to store more than {SIGNIFICANT_DIGITS_MAX} significant digits in a Number"

_CANONICAL_INTEGER = re.compile(rf"0|-?[1-9][0-9]{{0,{SIGNIFICANT_DIGITS_MAX - 1}}}")
# At most 19 digits on either side of the point: never more than 38, and never out of range.
CANONICAL = re.compile(rf"{_CANONICAL_INTEGER.pattern}|-?(?:0|[1-9][0-9]{{0,18}})\.[0-9]{{0,18}}[1-9]")
"""Numbers whose text is their canonical form, all but the longest of them."""
_NUMERAL = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]*))?|\.(?P<bare>[0-9]+))(?:[eE](?P<exponent>[+-]?[0-9]+))?"
)


@dataclass(frozen=True, slots=True)
class Significand:
    """The parts of a number: `0.5` is digits "5", exponent -1. Zero has no digits.

    `digits` has no zero at either end; `exponent` is the power of ten of the first digit.
    """

    negative: bool
    digits: str
    exponent: int


def significand(text: str) -> Significand:
    """Parse a number's text.

    Errors: ValidationException if the text is not a number, has more than 38 significant digits, or is out of range.
    """
    found = _NUMERAL.fullmatch(text)
    if found is None:
        suffix = f": {text}" if text else ""
        raise invalid(f"The parameter cannot be converted to a numeric value{suffix}")
    parts = _taken_apart(found)
    if len(parts.digits) > SIGNIFICANT_DIGITS_MAX:
        raise invalid(_IMPRECISE)
    return _within_range(parts)


def canonical(text: str) -> str:
    """The canonical form of this number, as AWS returns it: `1.50` is `1.5`, `1E2` is `100`, `-0` is `0`.

    Errors: as `significand`.
    """
    return text if CANONICAL.fullmatch(text) else _spelled(significand(text))


def digit_count(number: str) -> int:
    """The number of significant digits of a canonical number: `0` has none, `1200` two, `0.5` one."""
    if number.isdigit():
        return len(number.rstrip("0"))
    return len(number.lstrip("-").replace(".", "").strip("0"))


def add(left: str, right: str) -> str:
    """The exact sum, canonical. Errors: ValidationException if it needs over 38 digits or is out of range."""
    return _result(Context(prec=_EXACT_DIGITS).add(Decimal(left), Decimal(right)))


def subtract(left: str, right: str) -> str:
    """The exact difference, canonical. Errors: as `add`."""
    return _result(Context(prec=_EXACT_DIGITS).subtract(Decimal(left), Decimal(right)))


def _result(exact: Decimal) -> str:
    """AWS calls a result with more than 38 digits an overflow, unlike such a number in a request."""
    text = format(exact, "f")
    if _CANONICAL_INTEGER.fullmatch(text):
        return text
    found = _NUMERAL.fullmatch(text)
    assert found is not None, exact
    parts = _taken_apart(found)
    if len(parts.digits) > SIGNIFICANT_DIGITS_MAX:
        raise invalid(_OVERFLOW)
    return _spelled(_within_range(parts))


def _taken_apart(found: re.Match[str]) -> Significand:
    fraction = found["fraction"] or found["bare"] or ""
    digits = ((found["whole"] or "") + fraction).lstrip("0")
    exponent = _exponent(found["exponent"]) + len(digits) - len(fraction) - 1
    digits = digits.rstrip("0")
    if not digits:
        return Significand(negative=False, digits="", exponent=0)
    return Significand(negative=found["sign"] == "-", digits=digits, exponent=exponent)


def _exponent(text: str | None) -> int:
    if text is None:
        return 0
    magnitude = text.lstrip("+-").lstrip("0") or "0"
    size = _EXPONENT_CLAMP if len(magnitude) > 9 else int(magnitude)
    return -size if text.startswith("-") else size


def _within_range(parts: Significand) -> Significand:
    if parts.exponent > EXPONENT_MAX:
        raise invalid(_OVERFLOW)
    if parts.exponent < EXPONENT_MIN:
        raise invalid(_UNDERFLOW)
    return parts


def _spelled(parts: Significand) -> str:
    if not parts.digits:
        return "0"
    sign = "-" if parts.negative else ""
    whole_digits = parts.exponent + 1
    if whole_digits <= 0:
        return f"{sign}0.{'0' * -whole_digits}{parts.digits}"
    if whole_digits >= len(parts.digits):
        return f"{sign}{parts.digits.ljust(whole_digits, '0')}"
    return f"{sign}{parts.digits[:whole_digits]}.{parts.digits[whole_digits:]}"
