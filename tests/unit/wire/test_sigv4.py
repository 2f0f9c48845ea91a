"""Who signs a request."""

from __future__ import annotations

import pytest

from redrive.core.errors import ServiceError
from redrive.wire.message import HttpRequest
from redrive.wire.signatures.sigv4 import Credential, credential_of, session_token

DATE = {"x-amz-date": "20251007T153316Z"}
SCOPE = "AKIDEXAMPLE/20251007/eu-west-1/sqs/aws4_request"


def get(query: str = "", **headers: str) -> HttpRequest:
    return HttpRequest("GET", "/", query, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def signed(authorization: str) -> HttpRequest:
    return HttpRequest("POST", "/", "", {"authorization": authorization} | DATE, b"")


def test_header_names_the_signer() -> None:
    """The scope of the Authorization header is key id, date, region, service and a terminator."""
    request = signed(f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host, Signature=00")

    assert credential_of(request) == Credential("AKIDEXAMPLE", "20251007", "eu-west-1", "sqs")


def test_header_may_separate_its_parameters_without_spaces() -> None:
    """Some clients write no space after the comma."""
    request = signed(f"AWS4-HMAC-SHA256 Credential={SCOPE},SignedHeaders=host,Signature=00")

    assert credential_of(request) == Credential("AKIDEXAMPLE", "20251007", "eu-west-1", "sqs")


def test_presigned_url_names_the_signer() -> None:
    """A presigned URL has the same scope, percent-encoded, in its query string."""
    request = get(f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={SCOPE.replace('/', '%2F')}")

    assert credential_of(request) == Credential("AKIDEXAMPLE", "20251007", "eu-west-1", "sqs")


def test_multi_region_signature_has_its_region_in_a_header() -> None:
    """The asymmetric algorithm signs for a set of regions; the first one counts."""
    authorization = "AWS4-ECDSA-P256-SHA256 Credential=AK/20251007/sts/aws4_request, SignedHeaders=host, Signature=00"
    request = get(authorization=authorization, x_amz_date="x", x_amz_region_set="eu-west-1,us-east-1")

    assert credential_of(request) == Credential("AK", "20251007", "eu-west-1", "sts")


def test_unsigned_request_has_no_signer() -> None:
    """Callers need not sign."""
    assert credential_of(get()) is None


@pytest.mark.parametrize(
    ("authorization", "message"),
    [
        (
            "Basic dXNlcjpwYXNz",
            "requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. (Hashed with ",
        ),
        (f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host", "requires 'Signature' parameter. (Hashed"),
        ("AWS4-HMAC-SHA256 Credential", "Invalid key=value pair (missing equal-sign) in Authorization header"),
        (
            "AWS4-HMAC-SHA256 Credential=AK/sqs, SignedHeaders=host, Signature=00",
            "exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'AK/sqs'",
        ),
        (
            "AWS4-HMAC-SHA256 Credential=AK/1/r/sqs/aws5, SignedHeaders=host, Signature=00",
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5'.",
        ),
    ],
)
def test_malformed_header_is_an_incomplete_signature(authorization: str, message: str) -> None:
    """A header that is there must be complete."""
    with pytest.raises(ServiceError) as caught:
        credential_of(signed(authorization))

    assert caught.value.code == "IncompleteSignatureException"
    assert message in caught.value.message
    assert "dXNlcjpwYXNz" not in caught.value.message


def test_signature_needs_a_date() -> None:
    """X-Amz-Date or Date must be there."""
    request = get(authorization=f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host, Signature=00")

    with pytest.raises(ServiceError, match="requires existence of either a 'X-Amz-Date' or a 'Date' header"):
        credential_of(request)


def test_session_token_comes_from_the_header_or_the_presigned_url() -> None:
    """Temporary credentials carry a token."""
    assert session_token(get(x_amz_security_token="t1")) == "t1"
    assert session_token(get("X-Amz-Security-Token=t%2F2")) == "t/2"
    assert session_token(get()) is None
    assert session_token(get("Message=X-Amz-Security-Token")) is None


def test_empty_scope_of_a_presigned_url_is_incomplete() -> None:
    """A parameter that is there must be complete."""
    with pytest.raises(ServiceError, match="exactly 5 slash-delimited elements"):
        credential_of(get("X-Amz-Credential="))
