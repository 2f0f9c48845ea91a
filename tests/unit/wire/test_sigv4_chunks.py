"""Bodies in signed chunks: AWS's documented example, and what any change to a body does."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.wire.signatures.chunk_reader import ChunkReader, Decoded, read_chunks
from redrive.wire.signatures.chunks import TRAILERS_BYTES_MAX, ChunkForm, ChunkSigner
from redrive.wire.signatures.verify import signing_key

# The example of https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
STAMP, SCOPE = "20130524T000000Z", "20130524/us-east-1/s3/aws4_request"
KEY = signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", "us-east-1", "s3")
SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
DOCUMENTED = (
    b"10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"
    + b"a" * 65_536
    + b"\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n"
    + b"a" * 1_024
    + b"\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n"
)
SIGNER = ChunkSigner(KEY, STAMP, SCOPE, SEED)
SIGNED, SIGNED_WITH_TRAILER = ChunkForm(is_signed=True, has_trailer=False), ChunkForm(is_signed=True, has_trailer=True)
UNSIGNED = ChunkForm(is_signed=False, has_trailer=True)


def signature(kind: str, previous: str, *hashed: bytes) -> str:
    """A signature as the documentation writes it, computed here and not by the code under test."""
    digests = "\n".join(hashlib.sha256(one).hexdigest() for one in hashed)
    text = f"AWS4-HMAC-SHA256-{kind}\n{STAMP}\n{SCOPE}\n{previous}\n{digests}"
    return hmac.new(KEY, text.encode(), "sha256").hexdigest()


def encoded(pieces: list[bytes], trailers: bytes | None = None) -> bytes:
    """A body in signed chunks, with trailers if there are any."""
    body, previous = b"", SEED
    for piece in [*pieces, b""]:
        previous = signature("PAYLOAD", previous, b"", piece)
        ending = b"\r\n" if piece or trailers is None else b""
        body += f"{len(piece):x};chunk-signature={previous}\r\n".encode() + piece + ending
    if trailers is None:
        return body
    lines = trailers.replace(b"\n", b"\r\n")
    return body + lines + f"x-amz-trailer-signature:{signature('TRAILER', previous, trailers)}\r\n\r\n".encode()


def refusal(body: bytes, *, signer: ChunkSigner | None = SIGNER, has_trailer: bool = False, length: int | None = None):
    """The code of the refusal; empty if the body can be read."""
    try:
        read_chunks(body, signer, form=ChunkForm(signer is not None, has_trailer), decoded_length=length)
    except ServiceError as error:
        return error.code
    return ""


PIECES = st.lists(st.binary(min_size=1, max_size=40), max_size=4)


def test_documented_example_is_read() -> None:
    assert read_chunks(DOCUMENTED, SIGNER, form=SIGNED, decoded_length=66_560) == Decoded(b"a" * 66_560)


@given(PIECES)
def test_any_signed_body_is_read(pieces: list[bytes]) -> None:
    assert read_chunks(encoded(pieces), SIGNER, form=SIGNED, decoded_length=None) == Decoded(b"".join(pieces))


@given(PIECES)
def test_signed_trailers_are_read(pieces: list[bytes]) -> None:
    body = encoded(pieces, b"x-amz-checksum-crc32c:sOO8/Q==\n")

    read = read_chunks(body, SIGNER, form=SIGNED_WITH_TRAILER, decoded_length=None)

    assert read == Decoded(b"".join(pieces), {"x-amz-checksum-crc32c": "sOO8/Q=="})


@given(PIECES, st.data())
def test_body_may_come_in_any_pieces(pieces: list[bytes], data: st.DataObject) -> None:
    """Where a piece of the body ends, inside a head or between two line ends, changes nothing."""
    trailers = data.draw(st.sampled_from([None, b"x-amz-checksum-crc32c:sOO8/Q==\n"]))
    body = encoded(pieces, trailers)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    reader = ChunkReader(SIGNER, is_signed=True, has_trailer=trailers is not None, decoded_length=None)

    found = [
        one for first, end in zip([0, *cuts], [*cuts, len(body)], strict=True) for one in reader.feed(body[first:end])
    ]

    assert b"".join(found) == b"".join(pieces)
    reader.finish()
    assert reader.trailers == ({} if trailers is None else {"x-amz-checksum-crc32c": "sOO8/Q=="})


def test_signatures_of_chunks_are_read_where_nobody_verifies_them() -> None:
    """A server that does not require signatures does not know the keys of its callers."""
    read = read_chunks(DOCUMENTED.replace(b"ad80", b"0000"), None, form=SIGNED, decoded_length=66_560)

    assert read == Decoded(b"a" * 66_560)


def test_unsigned_chunks_with_a_trailer_are_read() -> None:
    body = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"

    read = read_chunks(body, None, form=UNSIGNED, decoded_length=5)

    assert read == Decoded(b"hello", {"x-amz-checksum-crc32": "NhCmhg=="})


@given(PIECES, st.data())
def test_no_changed_byte_gives_other_content(pieces: list[bytes], data: st.DataObject) -> None:
    """A change is refused, or it is in the form alone (the case of a digit) and changes nothing that is read."""
    trailers = b"x-amz-checksum-crc32c:sOO8/Q==\n"
    body = encoded(pieces, trailers)
    at = data.draw(st.integers(0, len(body) - 1))
    changed = body[:at] + bytes([body[at] ^ data.draw(st.integers(1, 255))]) + body[at + 1 :]

    code = refusal(changed, has_trailer=True)

    assert code in {"SignatureDoesNotMatch", "IncompleteBody", ""}
    if not code:
        read = read_chunks(changed, SIGNER, form=SIGNED_WITH_TRAILER, decoded_length=None)
        assert read == Decoded(b"".join(pieces), {"x-amz-checksum-crc32c": "sOO8/Q=="})


@pytest.mark.parametrize("end", [1, 80, 65_000, -1_000, -90, -40])
def test_body_that_ends_early_is_incomplete(end: int) -> None:
    assert refusal(DOCUMENTED[:end]) == "IncompleteBody"


def test_chunks_in_another_order_do_not_verify() -> None:
    body = encoded([b"one", b"two"])
    first, second = body.split(b"one\r\n")

    assert refusal(second[: second.index(b"two")] + b"two\r\n" + first + b"one\r\n") == "SignatureDoesNotMatch"


@pytest.mark.parametrize(
    "body",
    [b"", b"5\r\nhello\r\n0\r\n\r\n", b"zz;chunk-signature=" + b"0" * 64 + b"\r\n", b"5" * 5_000, DOCUMENTED + b"more"],
)
def test_body_of_another_form_is_incomplete(body: bytes) -> None:
    assert refusal(body) == "IncompleteBody"


def test_length_must_be_the_announced_one() -> None:
    assert refusal(DOCUMENTED, length=66_559) == "IncompleteBody"


def test_trailers_have_a_limit() -> None:
    body = b"0\r\n" + b"a:b\r\n" * (TRAILERS_BYTES_MAX // 5 + 1)

    assert refusal(body, signer=None, has_trailer=True) == "IncompleteBody"


def test_trailers_without_their_signature_do_not_verify() -> None:
    body = encoded([b"content"], b"x-amz-checksum-crc32c:sOO8/Q==\n")

    unsigned = body[: body.index(b"x-amz-trailer")] + b"\r\n"

    assert refusal(unsigned, has_trailer=True) == "SignatureDoesNotMatch"
