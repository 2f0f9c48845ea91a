"""The reader of forms: however a form is cut into pieces, the same fields and the same file come out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.wire.s3_form_reader import HEAD_BYTES_MAX, FormReader

BOUNDARY = b"b-1"
FIELDS = {"key": "a b", "x-amz-meta-\u00e4": "\r\n--b\r\n\r\n", "policy": ""}


def form(content: bytes) -> bytes:
    fields = "".join(
        f'--b-1\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in FIELDS.items()
    )
    head = '--b-1\r\nContent-Disposition: form-data; name="file"; filename="f"\r\nContent-Type: a/b\r\n\r\n'
    after = b'\r\n--b-1\r\nContent-Disposition: form-data; name="submit"\r\n\r\nx\r\n--b-1--\r\n'
    return (fields + head).encode() + content + after


def code_of(*pieces: bytes) -> str:
    """The code of the error that a form is refused with."""
    with pytest.raises(ServiceError) as caught:
        read(*pieces)
    return caught.value.code


def read(*pieces: bytes) -> None:
    reader = FormReader(BOUNDARY)
    for piece in pieces:
        reader.feed(piece)
    reader.finish()


@given(
    content=st.lists(st.sampled_from([b"\r\n--b-", b"\r", b"\n", b"--", b"b-1", b"\0x"])).map(b"".join),
    cuts=st.lists(st.integers(0, 600), max_size=8),
)
def test_form_may_come_in_any_pieces(content: bytes, cuts: list[int]) -> None:
    assume(b"--b-1" not in content)
    whole, reader = form(content), FormReader(BOUNDARY)
    ends = [0, *sorted(cuts), len(whole)]

    found = b"".join(reader.feed(whole[first:end]) for first, end in pairwise(ends))
    reader.finish()

    assert (found, reader.fields, reader.file_name) == (content, FIELDS, "f")
    assert whole.startswith(reader.head + content)


def test_form_must_end() -> None:
    whole = form(b"x" * 100)

    assert code_of(whole[: whole.index(b"\r\n--b-1", 300)]) == "MalformedPOSTRequest"


@pytest.mark.parametrize("size", [1_000, HEAD_BYTES_MAX * 2])
def test_what_comes_before_the_file_is_bounded(size: int) -> None:
    head = b'--b-1\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
    pieces = [b"x" * size] * (HEAD_BYTES_MAX // size + 1)

    assert code_of(head, *pieces) == "MaxPostPreDataLengthExceeded"


def test_field_needs_a_name() -> None:
    assert code_of(b"--b-1\r\nContent-Type: a/b\r\n\r\nx\r\n--b-1--") == "MalformedPOSTRequest"
