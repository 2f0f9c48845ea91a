"""Sequence numbers: a record's number in its shard, as decimal digits in AWS's layout.

47 hexadecimal digits, printed in decimal (56 digits):

    2 · second of the shard's creation (9) · last digit of the shard's index (1) · number in the shard (16) · 00
      · second of the record (9) · index of the shard (8) · 2

Numbers of a shard increase with the number of the record, and a child's numbers are larger than its parents'.
"""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.clock import SECOND_MS, Instant

_VERSION = 2
_INDEX_BIT, _SECOND_BIT, _ZERO_BIT, _SEQ_BIT, _LOW_BIT, _CREATED_BIT, _TOP_BIT = 4, 36, 72, 80, 144, 148, 184
SEQ_STEP = 1 << _SEQ_BIT
"""The difference between the numbers of two records that follow each other within a second."""


class Decoded(NamedTuple):
    """The parts of a sequence number."""

    created_s: int
    shard: int
    seq: int


def sequence_base(created_s: int, index: int, at: Instant) -> int:
    """The sequence number of a shard's record 0 at this instant; each further record adds `SEQ_STEP`."""
    return (
        _VERSION << _TOP_BIT
        | created_s << _CREATED_BIT
        | (index & 0xF) << _LOW_BIT
        | (at // SECOND_MS) << _SECOND_BIT
        | index << _INDEX_BIT
        | _VERSION
    )


def sequence_number(created_s: int, index: int, seq: int, at: Instant) -> str:
    """The sequence number of the record `seq` of a shard."""
    return str(sequence_base(created_s, index, at) + seq * SEQ_STEP)


def decode_sequence(text: str) -> Decoded | None:
    """The parts of a sequence number; None if the digits have another layout."""
    number = int(text)
    index = number >> _INDEX_BIT & 0xFFFF_FFFF
    is_laid_out = (
        number >> _TOP_BIT == _VERSION
        and number & 0xF == _VERSION
        and number >> _ZERO_BIT & 0xFF == 0
        and number >> _LOW_BIT & 0xF == index & 0xF
    )
    if not is_laid_out:
        return None
    seq = number >> _SEQ_BIT & 0xFFFF_FFFF_FFFF_FFFF
    return Decoded(number >> _CREATED_BIT & 0xF_FFFF_FFFF, index, seq) if seq < 1 << 63 else None
