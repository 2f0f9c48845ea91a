"""Bodies in gzip and in deflate, and answers in gzip."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.protocols.compression import (
    PLAIN_ANSWER_BYTES_MAX,
    accepts_gzip,
    bounded_body,
    compressed,
    plain_body,
)


def request(body: bytes = b"", **headers: str) -> HttpRequest:
    return HttpRequest("POST", "/", "", {name.replace("_", "-"): value for name, value in headers.items()}, body)


def bare(body: bytes) -> bytes:
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return deflate.compress(body) + deflate.flush()


@given(st.binary(), st.binary(), st.sampled_from(["gzip", "members", "zlib", "bare", "none"]))
def test_body_is_read_as_it_was_before_it_was_compressed(first: bytes, second: bytes, form: str) -> None:
    body = first + second
    encoded = {
        "gzip": gzip.compress(body, mtime=0), "members": gzip.compress(first, mtime=0) + gzip.compress(second, mtime=0),
        "zlib": zlib.compress(body), "bare": bare(body), "none": body,
    }[form]  # fmt: skip
    coding = {"gzip": "gzip", "members": "GZIP", "none": ""}.get(form, "deflate")

    assert plain_body(request(encoded, content_encoding=coding)) == body


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b"no gzip"),
        ("gzip", gzip.compress(b"x" * 100, mtime=0)[:-4]),
        ("gzip", gzip.compress(b"x", mtime=0) + b"and more"),
        ("gzip", gzip.compress(b"x", mtime=0) * 1_001),
        ("deflate", b"\xff\xff"),
        ("deflate", zlib.compress(b"x" * 100)[:-4]),
    ],
)
def test_body_that_is_broken_is_refused(coding: str, body: bytes) -> None:
    with pytest.raises(ServiceError, match="SerializationException"):
        plain_body(request(body, content_encoding=coding))


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_too_much_inside_is_refused_however_it_is_divided(coding: str) -> None:
    body = gzip.compress(b"x" * 60, mtime=0) * 2 if coding == "gzip" else zlib.compress(b"x" * 101)

    with pytest.raises(ServiceError, match="bytes inside"):
        plain_body(request(body, content_encoding=coding), 100)


@pytest.mark.parametrize(
    ("accepted", "does"),
    [("gzip", True), ("deflate, gzip;q=1.0", True), ("gzip;q=0", False), ("gzip; q=0.0", False), ("identity", False)],
)
def test_client_says_whether_it_accepts_gzip(accepted: str, *, does: bool) -> None:
    assert accepts_gzip(request(accept_encoding=accepted)) is does


def test_large_answer_is_compressed_and_its_checksum_is_of_what_is_sent() -> None:
    body = b"x" * (PLAIN_ANSWER_BYTES_MAX + 1)
    answer = compressed(HttpResponse(200, (("x-amz-crc32", str(zlib.crc32(body))),), body))

    assert gzip.decompress(answer.body) == body
    assert answer.headers == (("x-amz-crc32", str(zlib.crc32(answer.body))), ("Content-Encoding", "gzip"))


def test_small_answer_stays_as_it_is() -> None:
    answer = HttpResponse(200, (), b"x" * PLAIN_ANSWER_BYTES_MAX)

    assert compressed(answer) is answer


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "nonsense"])
def test_unknown_encoding_is_refused(coding: str) -> None:
    with pytest.raises(ServiceError, match=f"The Content-Encoding {coding} is not supported") as caught:
        bounded_body(request(b"{}", content_encoding=coding), 100)

    assert (caught.value.code, caught.value.http_status) == ("UnsupportedMediaTypeException", 415)


@pytest.mark.parametrize("coding", ["", "identity", "amz-1.0", "AWS-chunked"])
def test_encoding_that_changes_nothing_is_taken(coding: str) -> None:
    assert bounded_body(request(b"{}", content_encoding=coding), 2) == b"{}"


def test_body_over_the_limit_of_a_service_is_too_large_and_hidden_in_gzip_it_is_broken() -> None:
    with pytest.raises(ServiceError, match="exceeds the limit of 100 bytes") as caught:
        bounded_body(request(b"x" * 101), 100)
    with pytest.raises(ServiceError, match="SerializationException"):
        bounded_body(request(gzip.compress(b"x" * 101, mtime=0), content_encoding="gzip"), 100)

    assert (caught.value.code, caught.value.http_status) == ("RequestEntityTooLargeException", 413)
