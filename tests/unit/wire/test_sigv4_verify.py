"""Signatures: botocore's own signer makes them, and any request that it signs verifies; no other one does."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

import botocore.auth
import pytest
import time_machine
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import DAY_MS, MINUTE_MS, SECOND_MS, parse_instant
from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.signatures.sigv4 import credential_of, signature_of
from redrive.wire.signatures.verify import sign, verify
from tests.unit.wire.botocore_client import Draw, http_request, operations, service_model, with_datetimes

NOW = parse_instant("2025-10-07T15:33:16Z")
KEY_ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ENVELOPE = frozenset({"authorization", "x-amz-date"})
MISMATCH = "The request signature we calculated does not match the signature you provided."


def signed(
    request: HttpRequest, service: str, *, signer: str = "SigV4Auth", token: str | None = None, **options: Any
) -> HttpRequest:
    """The request as botocore signs it at NOW."""
    headers = {name: value for name, value in request.headers.items() if name not in ENVELOPE}
    target = f"http://localhost:4566{request.path}" + (f"?{request.query}" if request.query else "")
    unsigned = AWSRequest(method=request.method, url=target, data=request.body, headers=headers)
    auth = getattr(botocore.auth, signer)(Credentials(KEY_ID, SECRET, token), service, "eu-west-1", **options)
    with time_machine.travel(datetime.fromtimestamp(NOW / 1000, UTC), tick=False):
        auth.add_auth(unsigned)
    prepared = unsigned.prepare()
    url = urlsplit(prepared.url)
    made = {
        name.lower(): value if isinstance(value, str) else value.decode() for name, value in prepared.headers.items()
    }
    return HttpRequest(request.method, url.path, url.query, {"host": "localhost:4566"} | made, request.body)


def refusal(request: HttpRequest, service: str, *, now: int = NOW, secret: str = SECRET, wordy: bool = False) -> str:
    """`Code: message` of the refusal; empty if the signature is genuine."""
    try:
        credential = credential_of(request)
        assert credential is not None
        secret = secret if credential.access_key_id == KEY_ID else "that of another key"
        verify(request, credential, signature_of(request), secret, service=service, wordy=wordy, now=[now])
    except ServiceError as error:
        return str(error)
    return ""


def get(path: str = "/", query: str = "", **headers: str) -> HttpRequest:
    return HttpRequest("GET", path, query, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


POST = HttpRequest("POST", "/", "", {"content-type": "application/x-amz-json-1.0", "x-amz-target": "A.B"}, b"{}")


@pytest.mark.parametrize(("service", "operation"), operations())
def test_request_that_botocore_signs_verifies(service: str, operation: str) -> None:
    """Each operation of each protocol, with random parameters."""
    model = service_model(service)
    shape = model.operation_model(operation).input_shape
    has_all = service == "s3"  # A request to S3 without what it must have is another operation's.
    drawn = Draw(hash_of(service, operation), has_all=has_all).structure(shape) if shape is not None else {}
    signer = "S3SigV4Auth" if service == "s3" else "SigV4Auth"
    request = signed(http_request(service, operation, with_datetimes(drawn)), model.signing_name, signer=signer)

    assert refusal(request, model.signing_name) == ""


def hash_of(*names: str) -> int:
    return random.Random("/".join(names)).getrandbits(32)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
HEADER = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)


@st.composite
def requests(draw: st.DrawFn) -> HttpRequest:
    """Any request that a client may send: percent-encoded paths and queries, headers with spaces, any body."""
    path = "/" + "/".join(quote(piece, safe="~") for piece in draw(st.lists(TEXT.filter(bool), max_size=3)))
    pairs = draw(st.lists(st.tuples(TEXT, TEXT), max_size=4))
    query = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in pairs)
    headers = {"content-type": "text/plain", "x-amz-meta": draw(HEADER), "x-other": draw(HEADER)}
    return HttpRequest(
        draw(st.sampled_from(["GET", "POST", "PUT"])), path, query, headers, draw(st.binary(max_size=20))
    )


@given(requests(), st.sampled_from(["sqs", "lambda", "iam"]))
def test_any_request_that_botocore_signs_verifies(request: HttpRequest, service: str) -> None:
    assert refusal(signed(request, service), service) == ""


@given(requests())
def test_any_presigned_request_verifies(request: HttpRequest) -> None:
    bare = HttpRequest("GET", request.path, request.query, {}, b"")

    assert refusal(signed(bare, "sts", signer="SigV4QueryAuth", expires=60, token="t/+="), "sts") == ""


@given(requests())
def test_any_request_to_s3_verifies(request: HttpRequest) -> None:
    """S3's paths are encoded once, and left as they are."""
    assert refusal(signed(request, "s3", signer="S3SigV4Auth"), "s3") == ""
    bare = HttpRequest("GET", request.path, request.query, {}, b"")
    assert refusal(signed(bare, "s3", signer="S3SigV4QueryAuth", expires=60), "s3") == ""


@given(requests(), st.data())
def test_request_that_differs_in_one_character_does_not_verify(request: HttpRequest, data: st.DataObject) -> None:
    """Of its path, its query, a signed header, its date, its scope, its signature; or in one byte of its body."""
    whole = signed(request, "lambda", token="token")
    covered = {name: whole.headers[name] for name in (*signature_of(whole).signed_headers, "authorization")}
    parts: dict[str, str] = {"path": whole.path, "query": whole.query, **covered}
    place = data.draw(st.sampled_from([*(name for name in parts if parts[name].strip()), "body"]))
    if place == "body":
        changed = HttpRequest(whole.method, whole.path, whole.query, whole.headers, mutated_bytes(whole.body, data))
    else:
        text = mutated(parts[place], data)
        headers = {**whole.headers, place: text} if place in whole.headers else whole.headers
        path, query = (text if place == name else parts[name] for name in ("path", "query"))
        changed = HttpRequest(whole.method, path, query, headers, whole.body)

    assert refusal(changed, "lambda") != ""


def mutated(text: str, data: st.DataObject) -> str:
    """One character replaced by a letter, so that what it means is another thing in every place that it may have."""
    places = [at for at, one in enumerate(text) if one.isalnum() and "%" not in text[max(0, at - 2) : at]]
    at = data.draw(st.sampled_from(places)) if places else len(text)
    put = data.draw(st.sampled_from([one for one in "gkqwGKQW579" if one != text[at : at + 1]]))
    return text[:at] + put + text[at + 1 :]


def mutated_bytes(content: bytes, data: st.DataObject) -> bytes:
    if not content:
        return b"x"
    at = data.draw(st.integers(0, len(content) - 1))
    return content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :]


def test_method_of_a_request_is_signed() -> None:
    request = signed(POST, "sqs")

    assert refusal(HttpRequest("PUT", request.path, request.query, request.headers, request.body), "sqs") != ""


def test_other_secret_does_not_verify() -> None:
    assert MISMATCH in refusal(signed(POST, "sqs"), "sqs", secret=SECRET + "x")


def test_query_services_tell_what_should_have_been_signed() -> None:
    told = refusal(signed(POST, "iam"), "iam", secret="other", wordy=True)

    assert "The Canonical String for this request should have been\n'POST\n/\n\ncontent-type:application/" in told
    assert "The String-to-Sign should have been\n'AWS4-HMAC-SHA256\n20251007T153316Z\n20251007/eu-west-1/iam/" in told


@pytest.mark.parametrize("skew", [-15 * MINUTE_MS, 0, 15 * MINUTE_MS])
def test_signature_is_good_for_a_quarter_of_an_hour_before_and_after(skew: int) -> None:
    assert refusal(signed(POST, "sqs"), "sqs", now=NOW + skew) == ""


def test_signature_expires_after_a_quarter_of_an_hour() -> None:
    assert refusal(signed(POST, "sqs"), "sqs", now=NOW + 15 * MINUTE_MS + SECOND_MS) == (
        "InvalidSignatureException: Signature expired: 20251007T153316Z is now earlier than 20251007T153317Z "
        "(20251007T154817Z - 15 min.)"
    )


def test_signature_of_the_future_is_not_yet_current() -> None:
    assert refusal(signed(POST, "sqs"), "sqs", now=NOW - 15 * MINUTE_MS - SECOND_MS) == (
        "InvalidSignatureException: Signature not yet current: 20251007T153316Z is still later than 20251007T153315Z "
        "(20251007T151815Z + 15 min.)"
    )


def test_one_of_the_clocks_is_enough() -> None:
    """In virtual time an SDK signs by the machine's clock, a function by the engine's."""
    request = signed(POST, "sqs")
    credential = credential_of(request)
    assert credential is not None

    clocks = [NOW + 400 * DAY_MS, NOW]

    verify(request, credential, signature_of(request), SECRET, service="sqs", wordy=False, now=clocks)


def test_presigned_url_is_good_for_as_long_as_it_says() -> None:
    request = signed(get(), "sts", signer="SigV4QueryAuth", expires=3_600)

    assert refusal(request, "sts", now=NOW + 3_600 * SECOND_MS) == ""
    assert "Signature expired" in refusal(request, "sts", now=NOW + 3_601 * SECOND_MS)


@pytest.mark.parametrize(
    ("expires", "message"),
    [("604801", "must be less than a week"), ("x", "should be a number"), ("-1", "should be a number")],
)
def test_presigned_url_is_good_for_a_week_at_most(expires: str, message: str) -> None:
    assert message in refusal(signed(get(), "sts", signer="SigV4QueryAuth", expires=expires), "sts")


def test_presigned_url_lacks_nothing() -> None:
    request = get("/", "X-Amz-Credential=AK%2F20251007%2Feu-west-1%2Fsqs%2Faws4_request", host="h")

    assert "must include 'X-Amz-Signature'" in refusal(request, "sqs")


def test_signature_is_for_one_service() -> None:
    assert refusal(signed(POST, "sqs"), "dynamodb") == (
        "InvalidSignatureException: Credential should be scoped to correct service: 'dynamodb'."
    )


def test_date_of_the_scope_is_that_of_the_request() -> None:
    request = signed(POST, "sqs")
    headers = {**request.headers, "authorization": request.headers["authorization"].replace("/20251007/", "/20251006/")}

    told = refusal(HttpRequest("POST", "/", "", headers, b"{}"), "sqs")

    assert "'20251006' != '20251007', from '20251007T153316Z'." in told


@pytest.mark.parametrize("header", ["x-amz-security-token", "x-amz-target"])
def test_header_of_amazon_must_be_signed(header: str) -> None:
    request = signed(HttpRequest("POST", "/", "", {}, b"{}"), "sqs")
    headers = {**request.headers, header: "added on the way"}

    assert f"'{header}' must be a 'SignedHeader'" in refusal(HttpRequest("POST", "/", "", headers, b"{}"), "sqs")


def test_host_of_a_request_must_be_signed() -> None:
    request = HttpRequest("POST", "/", "", {"host": "localhost:4566", "x-amz-date": "20251007T153316Z"}, b"")
    names = {"access_key_id": KEY_ID, "secret": SECRET, "region": "eu-west-1", "service": "sqs"}
    made = sign(request, signed_headers=["x-amz-date"], **names)
    bare = HttpRequest("POST", "/", "", {**request.headers, "authorization": made}, b"")

    assert "'Host' or ':authority' must be a 'SignedHeader'" in refusal(bare, "sqs")


def test_our_own_signer_signs_what_verifies() -> None:
    """The command line signs by it."""
    headers = {"host": "localhost:4566", "x-amz-date": "20251007T153316Z"}
    request = HttpRequest("POST", "/_redrive/clock", "a=b", headers, b"{}")
    names = {"access_key_id": KEY_ID, "secret": SECRET, "region": "eu-west-1", "service": "redrive"}

    made = sign(request, signed_headers=headers, **names)

    whole = HttpRequest("POST", request.path, request.query, {**headers, "authorization": made}, request.body)
    assert refusal(whole, "redrive") == ""


def test_asymmetric_signatures_are_refused_by_name() -> None:
    authorization = f"AWS4-ECDSA-P256-SHA256 Credential={KEY_ID}/20251007/sqs/aws4_request, SignedHeaders=host, "
    headers = {"authorization": authorization + "Signature=00", "x-amz-date": "20251007T153316Z", "host": "h"}

    told = refusal(HttpRequest("POST", "/", "", headers, b""), "sqs")

    assert told == "IncompleteSignatureException: Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256'."


def test_body_is_signed_whatever_its_header_says() -> None:
    """Only S3 lets its callers leave the body unsigned."""
    declared = HttpRequest("POST", "/", "", {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, b"{}")

    assert MISMATCH in refusal(signed(declared, "sqs"), "sqs")
    assert refusal(signed(declared, "s3"), "s3") == ""


def test_hash_that_s3_is_told_must_be_that_of_the_body() -> None:
    request = signed(HttpRequest("PUT", "/bucket/key", "", {}, b"content"), "s3", signer="S3SigV4Auth")
    other = HttpRequest("PUT", request.path, "", request.headers, b"changed")

    assert "XAmzContentSHA256Mismatch" in refusal(other, "s3")


def test_header_in_two_lines_is_joined_by_a_comma() -> None:
    """The server hands both lines on as one, with a comma and a space."""
    request = signed(HttpRequest("POST", "/", "", {"x-amz-meta": "one,two"}, b""), "sqs")
    headers = {**request.headers, "x-amz-meta": "one, two"}

    assert refusal(HttpRequest("POST", "/", "", headers, b""), "sqs") == ""


def test_repeated_parameters_are_sorted_by_their_values() -> None:
    request = signed(get("/", "b=2&a=2&a=1&a=&b"), "sqs")

    assert refusal(HttpRequest("GET", "/", "a=1&b&b=2&a=2&a=", request.headers, b""), "sqs") == ""


def test_date_header_dates_a_signature_too() -> None:
    headers = {"host": "h", "x-amz-date": "20251007T153316Z"}
    names = {"access_key_id": KEY_ID, "secret": SECRET, "region": "eu-west-1", "service": "sqs"}
    dated = HttpRequest("GET", "/", "", {"host": "h", "date": "Tue, 07 Oct 2025 15:33:16 GMT"}, b"")
    made = sign(HttpRequest("GET", "/", "", headers, b""), signed_headers=["host"], **names)

    assert refusal(HttpRequest("GET", "/", "", {**dated.headers, "authorization": made}, b""), "sqs") == ""


def test_date_beyond_all_calendars_is_refused() -> None:
    headers = {"host": "h", "x-amz-date": "20251007T153316Z"}
    names = {"access_key_id": KEY_ID, "secret": SECRET, "region": "eu-west-1", "service": "sqs"}
    made = sign(HttpRequest("GET", "/", "", headers, b""), signed_headers=["host"], **names)
    date = "Thu, 01 Jan 99999999999999999999 00:00:00 GMT"

    found = refusal(HttpRequest("GET", "/", "", {"host": "h", "date": date, "authorization": made}, b""), "sqs")

    assert "Date must be in ISO-8601" in found
