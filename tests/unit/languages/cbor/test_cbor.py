"""CBOR, against the examples of its specification and against itself.

Source: https://www.rfc-editor.org/rfc/rfc8949
"""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.languages.cbor import NESTING_MAX, Malformed, Tagged, Value, decode, encode

# Appendix A: those that are in their preferred form, so that they hold both ways.
EXAMPLES: list[tuple[str, Value]] = [
    ("00", 0),
    ("17", 23),
    ("1818", 24),
    ("190100", 256),
    ("1903e8", 1000),
    ("1a000f4240", 1000000),
    ("1b000000e8d4a51000", 1000000000000),
    ("1bffffffffffffffff", 18446744073709551615),
    ("3bffffffffffffffff", -18446744073709551616),
    ("20", -1),
    ("3863", -100),
    ("f90000", 0.0),
    ("f98000", -0.0),
    ("f93c00", 1.0),
    ("fb3ff199999999999a", 1.1),
    ("f97bff", 65504.0),
    ("fa47c35000", 100000.0),
    ("fa7f7fffff", 3.4028234663852886e38),
    ("fb7e37e43c8800759c", 1.0e300),
    ("f90001", 5.960464477539063e-08),
    ("fbc010666666666666", -4.1),
    ("f97c00", math.inf),
    ("f9fc00", -math.inf),
    ("f4", False),
    ("f5", True),
    ("f6", None),
    ("c11a514b67b0", Tagged(1, 1363896240)),
    ("c1fb41d452d9ec200000", Tagged(1, 1363896240.5)),
    ("40", b""),
    ("4401020304", b"\x01\x02\x03\x04"),
    ("6449455446", "IETF"),
    ("62c3bc", "\u00fc"),
    ("80", []),
    ("8301820203820405", [1, [2, 3], [4, 5]]),
    ("a0", {}),
    ("a26161016162820203", {"a": 1, "b": [2, 3]}),
]
READ_ONLY: list[tuple[str, Value]] = [
    ("f7", None),
    ("fa7f800000", math.inf),
    ("fb7ff0000000000000", math.inf),
    ("1800", 0),
    ("5f42010243030405ff", b"\x01\x02\x03\x04\x05"),
    ("7f657374726561646d696e67ff", "streaming"),
    ("9fff", []),
    ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]),
    ("83018202039f0405ff", [1, [2, 3], [4, 5]]),
    ("bf61610161629f0203ffff", {"a": 1, "b": [2, 3]}),
    ("bf6346756ef563416d7421ff", {"Fun": True, "Amt": -2}),
]
MALFORMED = [
    "", "18", "1900", "1c", "1f", "61", "6161ff", "8201", "9f01", "a1", "a16161", "a10102", "a2616101616102",
    "5f6161ff", "7f4100ff", "5f5f4100ffff", "5f41", "ff", "f8ff", "fc", "fb00", "c1", "62c328", "9bffffffffffffffff",
    "bbffffffffffffffff", "5bffffffffffffffff", "0000", "81" * (NESTING_MAX + 1) + "00",
]  # fmt: skip

scalars = (
    st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
        | st.builds(Tagged, st.integers(0, 2**64 - 1), inner)
    ),
    max_leaves=12,
)
quickly = settings(max_examples=150, database=None, deadline=None, derandomize=True)


@pytest.mark.parametrize(("written", "value"), EXAMPLES)
def test_example_of_the_specification_holds_both_ways(written: str, value: Value) -> None:
    data = bytes.fromhex(written)

    assert encode(value) == data
    assert repr(decode(data)) == repr(value)


@pytest.mark.parametrize(("written", "value"), READ_ONLY)
def test_longer_and_indefinite_forms_are_read(written: str, value: Value) -> None:
    assert decode(bytes.fromhex(written)) == value


@pytest.mark.parametrize("written", MALFORMED)
def test_bytes_that_hold_no_value_are_refused(written: str) -> None:
    with pytest.raises(Malformed):
        decode(bytes.fromhex(written))


def test_nan_is_written_as_a_half() -> None:
    """Whatever its payload."""
    assert encode(math.nan) == bytes.fromhex("f97e00")
    assert math.isnan(struct.unpack(">d", struct.pack(">d", decode(bytes.fromhex("fb7ff8000000000001"))))[0])


def test_integer_beyond_64_bits_has_no_spelling() -> None:
    for number in (2**64, -(2**64) - 1):
        with pytest.raises(ValueError, match="64 bits"):
            encode(number)


@quickly
@given(value=values)
def test_reading_inverts_writing_for_every_value(value: Value) -> None:
    assert repr(decode(encode(value))) == repr(value)


@quickly
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """What was read can be written, and is then read as the same."""
    try:
        value = decode(data)
    except Malformed:
        return

    assert repr(decode(encode(value))) == repr(value)


@quickly
@given(value=values, cut=st.integers(1, 30))
def test_value_that_is_cut_off_is_refused(value: Value, cut: int) -> None:
    data = encode(value)

    with pytest.raises(Malformed):
        decode(data[: max(0, len(data) - cut)])
