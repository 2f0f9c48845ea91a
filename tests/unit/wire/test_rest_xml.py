"""REST with XML: what of S3's messages botocore's own serializer and parser do not show."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from redrive.core.errors import ServiceError
from redrive.delivery.bodies import Content, Received, Segment
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.protocols.rest_xml import RestXmlCodec
from redrive.wire.protocols.xml_read import DEPTH_MAX, ELEMENTS_MAX
from redrive.wire.route import Router
from redrive.wire.s3_body import unchunked
from tests.unit.wire.botocore_client import signature

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


@pytest.fixture(scope="module")
def codec(models: Models) -> RestXmlCodec:
    return RestXmlCodec(models.service("s3"))


def decoded(router: Router, method: str, target: str, body: bytes = b"", **headers: str) -> dict[str, Any]:
    path, _, query = target.partition("?")
    given = {name if "-" in name else name.replace("_", "-"): value for name, value in headers.items()}
    given |= signature("s3")
    request = HttpRequest(method, path, query, given, body)
    route = router.route(request)
    return route.codec.decode(route.operation, unchunked(request, None), route.path_params)


def refused(router: Router, method: str, target: str, body: bytes = b"", **headers: str) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        decoded(router, method, target, body, **headers)
    return caught.value


def encoded(codec: RestXmlCodec, models: Models, operation: str, result: dict[str, Any]) -> HttpResponse:
    return codec.encode(models.service("s3").operations[operation], result, "id-1")


# Documents of requests.


@pytest.mark.parametrize(
    "document",
    [
        b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>",
        b'<Tagging xmlns="urn:s3"><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>',
        b"""<?xml version="1.0"?><s:Tagging xmlns:s="http://s3.amazonaws.com/doc/2006-03-01/">
        <s:TagSet><s:Tag> <s:Value>b</s:Value><s:Key>a</s:Key><!-- no --></s:Tag></s:TagSet></s:Tagging>""",
    ],
)
def test_document_is_read_with_any_namespace(router: Router, document: bytes) -> None:
    params = decoded(router, "PUT", "/b?tagging", document)

    assert params["Tagging"] == {"TagSet": [{"Key": "a", "Value": "b"}]}


@pytest.mark.parametrize(
    "document",
    [
        b"<Tagging>",
        b"not xml",
        b"<Other><TagSet/></Other>",
        b"<Tagging/>",
        b"<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>",
        b"<Tagging><TagSet/><TagSet/></Tagging>",
        b"<Tagging><TagSet><Tag><Key><b/></Key><Value>1</Value></Tag></TagSet></Tagging>",
        b'<!DOCTYPE a [<!ENTITY e "x">]><Tagging><TagSet/></Tagging>',
        b'<!DOCTYPE Tagging SYSTEM "file:///etc/passwd"><Tagging><TagSet/></Tagging>',
        b"<Tagging><TagSet>&e;</TagSet></Tagging>",
        b"<Tagging><TagSet>" + b"<a>" * DEPTH_MAX + b"</a>" * DEPTH_MAX + b"</TagSet></Tagging>",
        b"<Tagging><TagSet>" + b"<a/>" * ELEMENTS_MAX + b"</TagSet></Tagging>",
        b'<?xml version="1.0" encoding="no-such-encoding"?><Tagging><TagSet/></Tagging>',
    ],
    ids=range(13),
)
def test_document_of_another_form_is_malformed(router: Router, document: bytes) -> None:
    """Not well-formed, another root, a required element missing or twice, a DTD, an entity, too deep, too many."""
    error = refused(router, "PUT", "/b?tagging", document)

    assert (error.code, error.http_status) == ("MalformedXML", 400)
    assert error.message.startswith("The XML you provided was not well-formed or did not validate")


def test_document_that_is_needed_must_come(router: Router) -> None:
    assert refused(router, "PUT", "/b?tagging").code == "MissingRequestBodyError"
    assert decoded(router, "PUT", "/b") == {"Bucket": "b"}


def test_type_of_a_grantee_is_an_attribute_with_any_prefix(router: Router) -> None:
    document = (
        b'<AccessControlPolicy><AccessControlList><Grant><Grantee xmlns:i="http://www.w3.org/2001/XMLSchema-instance" '
        b'i:type="Group"><URI>u</URI></Grantee></Grant></AccessControlList></AccessControlPolicy>'
    )

    params = decoded(router, "PUT", "/b?acl", document)

    assert params["AccessControlPolicy"] == {"Grants": [{"Grantee": {"Type": "Group", "URI": "u"}}]}
    assert refused(router, "PUT", "/b?acl", b"<a/>").code == "MalformedACLError"


def test_checksums_in_a_url_declare_nothing(router: Router) -> None:
    """The SDK for JavaScript presigns a PUT with the checksum of an empty body."""
    query = "x-amz-checksum-crc32=AAAAAA%3D%3D&x-amz-sdk-checksum-algorithm=CRC32&x-amz-meta-a=1"

    params = decoded(router, "PUT", f"/b/k?{query}", b"hello")

    assert params.keys() == {"Bucket", "Key", "Body", "Metadata"}


DELETE = b"<Delete><Object><Key>a</Key></Object></Delete>"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "InvalidRequest"),
        ({"content-md5": "wrong"}, "InvalidDigest"),
        ({"content-md5": "\u00cc\u0081"}, "InvalidDigest"),
        ({"content-md5": base64.b64encode(bytes(16)).decode()}, "BadDigest"),
        ({"x-amz-checksum-crc32": "AAAAAA=="}, "BadDigest"),
        ({"x-amz-checksum-crc32": "AAA="}, "InvalidRequest"),
        ({"x-amz-checksum-crc32": "AAAAAA==", "x-amz-checksum-crc32c": "AAAAAA=="}, "InvalidRequest"),
    ],
)
def test_document_is_what_the_request_declares(router: Router, headers: dict[str, str], code: str) -> None:
    assert refused(router, "POST", "/b?delete", DELETE, **headers).code == code


@pytest.mark.parametrize(
    "headers",
    [
        {"content-md5": base64.b64encode(hashlib.md5(DELETE).digest()).decode()},
        {"x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(DELETE).digest()).decode()},
    ],
)
def test_declared_document_is_read(router: Router, headers: dict[str, str]) -> None:
    assert decoded(router, "POST", "/b?delete", DELETE, **headers)["Delete"] == {"Objects": [{"Key": "a"}]}


# Members in the head.


def test_wrong_value_in_the_head_is_named(router: Router) -> None:
    error = refused(router, "GET", "/b?max-keys=many")

    assert (error.code, error.members) == ("InvalidArgument", {"ArgumentName": "max-keys", "ArgumentValue": "many"})


def test_unreadable_date_of_a_condition_is_ignored(router: Router) -> None:
    assert decoded(router, "GET", "/b/k", if_modified_since="yesterday") == {"Bucket": "b", "Key": "k"}


def test_expected_owner_is_an_account(router: Router) -> None:
    assert decoded(router, "GET", "/b?acl", x_amz_expected_bucket_owner="1" * 12)["ExpectedBucketOwner"] == "1" * 12

    error = refused(router, "GET", "/b?acl", x_amz_expected_bucket_owner="me")

    assert (error.code, error.http_status) == ("InvalidBucketOwnerAWSAccountID", 400)
    assert error.message.endswith("must be an AWS Account ID... [me]")


def test_presigned_url_has_headers_as_parameters(router: Router) -> None:
    """SDKs move headers into the URL when they presign; headers that come too take precedence."""
    query = "x-amz-acl=private&X-Amz-Meta-Color=red&x-amz-meta-size=1&X-Amz-Date=20250101T000000Z"

    params = decoded(router, "PUT", f"/b/k?{query}", b"", **{"x-amz-meta-size": "2"})

    assert (params["ACL"], params["Metadata"]) == ("private", {"color": "red", "size": "2"})


@pytest.mark.parametrize(
    ("sent", "text"), [("plain", "plain"), ("Ã¤", "ä"), ("ä", "ä"), ("=?UTF-8?B?YWJj?=", "=?UTF-8?B?YWJj?=")]
)
def test_text_of_a_header_is_utf8_if_it_can_be(router: Router, sent: str, text: str) -> None:
    """Each character that the server hands over is one byte; other bytes stand for the characters of Latin-1."""
    params = decoded(router, "PUT", "/b/k", b"", **{"x-amz-meta-a_b": sent, "cache-control": sent})

    assert (params["Metadata"], params["CacheControl"]) == ({"a_b": text}, text)


def test_text_of_a_header_is_sent_as_utf8(codec: RestXmlCodec, models: Models) -> None:
    result = {"Metadata": {"a": "plain"}, "CacheControl": "ä\r\nx: 1"}

    headers = dict(encoded(codec, models, "HeadObject", result).headers)

    assert (headers["x-amz-meta-a"], headers["Cache-Control"]) == ("plain", "Ã¤  x: 1")


def test_expires_is_a_text_or_the_instant_that_a_request_wants(codec: RestXmlCodec, models: Models) -> None:
    """The model says that an object has a text, and that `response-expires` is an instant."""
    for value, sent in (("soon", "soon"), (1_735_689_600_000, "Wed, 01 Jan 2025 00:00:00 GMT")):
        assert dict(encoded(codec, models, "HeadObject", {"Expires": value}).headers)["Expires"] == sent


# Bodies of objects.


def test_small_body_of_an_object_comes_with_no_digest_but_the_signed_hash(router: Router) -> None:
    """What nobody needs is not computed: an operation asks for the digests of the algorithms that it needs."""
    signed = hashlib.sha256(b"abc")
    for headers, digests in (({}, {}), ({"x_amz_content_sha256": signed.hexdigest()}, {"SHA256": signed.digest()})):
        body = decoded(router, "PUT", "/b/k", b"abc", **headers)["Body"]

        assert (body.size, body.content, body.digests) == (3, b"abc", digests)


def test_received_body_goes_on_as_it_is(router: Router) -> None:
    """A large body was written, and digested, while it came."""
    received = Received(70_000, None, Segment("body-1", 70_000), {"MD5": b"m"})
    request = HttpRequest("PUT", "/b/k", "", signature("s3"), b"", received)
    route = router.route(request)

    assert route.codec.decode(route.operation, request, route.path_params)["Body"] is received


def test_body_must_have_the_hash_that_is_signed(router: Router) -> None:
    good = hashlib.sha256(b"abc").hexdigest()
    assert decoded(router, "PUT", "/b/k", b"abc", x_amz_content_sha256=good)["Body"].content == b"abc"

    error = refused(router, "PUT", "/b/k", b"abd", x_amz_content_sha256=good)

    assert (error.code, error.members["ClientComputedContentSHA256"]) == ("XAmzContentSHA256Mismatch", good)


def test_chunks_are_removed_and_trailers_become_headers(router: Router) -> None:
    body = b"5\r\nhello\r\n0\r\nx-amz-checksum-sha1:qvTGHdzF6KLavt4PO0gs2a6pQ00=\r\nx-amz-acl:public-read\r\n\r\n"
    headers = {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-trailer": "x-amz-checksum-sha1",
        "x-amz-decoded-content-length": "5", "content-encoding": "aws-chunked,gzip", "content-length": str(len(body)),
    }  # fmt: skip

    params = decoded(router, "PUT", "/b/k", body, **headers)

    assert (params["Body"].content, params["ContentEncoding"], params["ContentLength"]) == (b"hello", "gzip", 5)
    assert params["ChecksumSHA1"] == base64.b64encode(hashlib.sha1(b"hello", usedforsecurity=False).digest()).decode()
    assert "ACL" not in params, "a trailer that the signed head did not announce says nothing"


def test_announced_trailer_must_come(router: Router) -> None:
    headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-trailer": "x-amz-checksum-sha1"}

    assert refused(router, "PUT", "/b/k", b"0\r\n\r\n", **headers).code == "MalformedTrailerError"


def test_content_goes_on_with_its_length(codec: RestXmlCodec, models: Models) -> None:
    content = Content((Segment("body-1", 100_000),), 10, 90_000)

    answer = encoded(codec, models, "GetObject", {"Body": content, "ContentLength": 90_000, "ETag": '"e"'})

    assert (answer.content, answer.body) == (content, b"")
    assert [value for name, value in answer.headers if name == "Content-Length"] == ["90000"]
    assert dict(answer.headers)["Content-Type"] == "binary/octet-stream"


# Documents of answers.


@pytest.mark.parametrize(
    ("operation", "result", "document"),
    [
        ("ListObjectsV2", {"Contents": [{"LastModified": 1_700_000_000_000}, {"Key": "a&b"}]},
         """<ListBucketResult xmlns="{}"><Contents><LastModified>2023-11-14T22:13:20.000Z</LastModified></Contents>\
<Contents><Key>a&amp;b</Key></Contents></ListBucketResult>"""),
        ("GetBucketLocation", {"LocationConstraint": "eu-west-1"},
         "<LocationConstraint xmlns=\"{}\">eu-west-1</LocationConstraint>"),
        ("GetBucketTagging", {"TagSet": []}, "<Tagging xmlns=\"{}\"><TagSet></TagSet></Tagging>"),
        ("GetBucketVersioning", {}, "<VersioningConfiguration xmlns=\"{}\"></VersioningConfiguration>"),
        ("CopyObject", {"CopyObjectResult": {"ETag": '"e"'}},
         "<CopyObjectResult xmlns=\"{}\"><ETag>\"e\"</ETag></CopyObjectResult>"),
        ("GetObjectRetention", {"Retention": {"Mode": "GOVERNANCE"}},
         "<Retention xmlns=\"{}\"><Mode>GOVERNANCE</Mode></Retention>"),
    ],
)  # fmt: skip
def test_documents_have_the_names_of_s3(
    codec: RestXmlCodec, models: Models, operation: str, result: dict[str, Any], document: str
) -> None:
    answer = encoded(codec, models, operation, result)

    assert answer.body.decode() == '<?xml version="1.0" encoding="UTF-8"?>\n' + document.format(NAMESPACE)
    assert dict(answer.headers)["Content-Type"] == "application/xml"


def test_each_answer_has_the_ids_of_its_request(codec: RestXmlCodec, models: Models) -> None:
    one, other = (dict(encoded(codec, models, "DeleteBucket", {}).headers) for _ in range(2))

    assert (one["x-amz-request-id"], one["Server"]) == ("id-1", "AmazonS3")
    assert one["x-amz-id-2"] == other["x-amz-id-2"]
    assert len(base64.b64decode(one["x-amz-id-2"])) == 48


def test_members_of_an_error_are_elements_beside_its_code(codec: RestXmlCodec) -> None:
    error = ServiceError("NoSuchKey", "<gone>", members={"Key": "a&b", "x-amz-delete-marker": True})

    answer = codec.encode_error(error, "id-1")

    headers = dict(answer.headers)
    assert [(one.tag, one.text) for one in ET.fromstring(answer.body.decode())] == [
        ("Code", "NoSuchKey"), ("Message", "<gone>"), ("Key", "a&b"), ("RequestId", "id-1"),
        ("HostId", headers["x-amz-id-2"]),
    ]  # fmt: skip
    assert (answer.status, headers["x-amz-delete-marker"]) == (404, "true")


def test_unchanged_object_has_headers_and_no_body(codec: RestXmlCodec) -> None:
    answer = codec.encode_error(ServiceError("NotModified", "", http_status=304, members={"ETag": '"e"'}), "id-1")

    assert (answer.status, answer.body, dict(answer.headers)["ETag"]) == (304, b"", '"e"')


@pytest.mark.parametrize(
    ("code", "spelled", "status"),
    [
        ("AccessDeniedException", "AccessDenied", 403),
        ("UnrecognizedClientException", "InvalidAccessKeyId", 403),
        ("InternalFailure", "InternalError", 500),
        ("ThrottlingException", "SlowDown", 503),
        ("UnknownOperationException", "NotImplemented", 501),
    ],
)
def test_errors_of_the_whole_of_aws_have_codes_of_s3(codec: RestXmlCodec, code: str, spelled: str, status: int) -> None:
    answer = codec.encode_error(ServiceError(code, "m"), "id-1")

    assert (ET.fromstring(answer.body.decode()).findtext("Code"), answer.status) == (spelled, status)
