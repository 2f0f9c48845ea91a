"""Which operation of S3 a request is for, and on which bucket and key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.wire.message import HttpRequest
from redrive.wire.protocols.rest_xml import RestXmlCodec
from redrive.wire.route import Route, Router, Unroutable
from tests.unit.wire.botocore_client import http_request, signature

SIGNED = signature("s3")


def route(router: Router, method: str, path: str, query: str = "", *, host: str = "", **headers: str) -> Route:
    given = {name.replace("_", "-"): value for name, value in headers.items()} | ({"host": host} if host else {})
    return router.route(HttpRequest(method, path, query, given, b""))


def found(router: Router, method: str, path: str, query: str = "", *, host: str = "", **headers: str) -> str:
    """The name of the operation of a signed request."""
    return route(router, method, path, query, host=host, **SIGNED, **headers).operation.name


@pytest.mark.parametrize(
    ("method", "path", "query", "operation"),
    [
        ("GET", "/", "", "ListBuckets"),
        ("GET", "/b", "", "ListObjects"),
        ("GET", "/b/", "list-type=2&prefix=a", "ListObjectsV2"),
        ("GET", "/b", "versions", "ListObjectVersions"),
        ("GET", "/b", "acl=", "GetBucketAcl"),
        ("GET", "/b", "lifecycle", "GetBucketLifecycleConfiguration"),
        ("GET", "/b", "inventory", "ListBucketInventoryConfigurations"),
        ("GET", "/b", "inventory&id=1", "GetBucketInventoryConfiguration"),
        ("PUT", "/b", "", "CreateBucket"),
        ("PUT", "/b/", "", "CreateBucket"),
        ("POST", "/b", "delete", "DeleteObjects"),
        ("HEAD", "/b/k", "", "HeadObject"),
        ("GET", "/b/k", "x-id=GetObject", "GetObject"),
        ("GET", "/b/k", "partNumber=1", "GetObject"),
        ("GET", "/b/k", "versionId=1&response-content-type=a", "GetObject"),
        ("GET", "/b/k", "uploadId=1", "ListParts"),
        ("PUT", "/b/k", "x-id=PutObject", "PutObject"),
        ("PUT", "/b/k", "partNumber=1&uploadId=2", "UploadPart"),
        ("POST", "/b/k", "uploads", "CreateMultipartUpload"),
        ("POST", "/b/k", "uploadId=2", "CompleteMultipartUpload"),
        ("DELETE", "/b/k", "uploadId=2", "AbortMultipartUpload"),
        ("POST", "/b/k", "select&select-type=2", "SelectObjectContent"),
    ],
)
def test_method_and_names_of_the_query_give_the_operation(
    router: Router, method: str, path: str, query: str, operation: str
) -> None:
    assert found(router, method, path, query) == operation


def test_source_of_a_copy_tells_a_copy_from_an_object(router: Router) -> None:
    assert found(router, "PUT", "/b/k", x_amz_copy_source="b/other") == "CopyObject"
    assert found(router, "PUT", "/b/k", "partNumber=1&uploadId=2", x_amz_copy_source="b/o") == "UploadPartCopy"
    assert found(router, "PUT", "/b/k", "tagging", x_amz_copy_source="b/o") == "PutObjectTagging"


@pytest.mark.parametrize(
    ("method", "path", "query", "kind"),
    [("DELETE", "/b", "versioning", "BUCKET"), ("DELETE", "/b/k", "acl", "OBJECT"), ("PATCH", "/b", "", "BUCKET"),
     ("PUT", "/b/k", "uploadId=2", "OBJECT"), ("PATCH", "/", "", "SERVICE")],
)  # fmt: skip
def test_sub_resource_without_this_method_does_not_mean_the_bucket(
    router: Router, method: str, path: str, query: str, kind: str
) -> None:
    """`DELETE /bucket?versioning` must not delete the bucket."""
    with pytest.raises(Unroutable) as caught:
        found(router, method, path, query)

    assert caught.value.code == "MethodNotAllowed"
    assert caught.value.members == {"Method": method, "ResourceType": kind}


@pytest.mark.parametrize(
    ("host", "bucket"),
    [
        ("pictures.s3.amazonaws.com", "pictures"),
        ("my.pictures.s3.eu-west-1.amazonaws.com", "my.pictures"),
        ("pictures.s3-eu-west-1.amazonaws.com", "pictures"),
        ("pictures.s3.dualstack.eu-west-1.amazonaws.com:443", "pictures"),
        ("pictures.s3.cn-north-1.amazonaws.com.cn", "pictures"),
        ("pictures.s3.localhost:4566", "pictures"),
        ("pictures.s3.eu-west-1.localhost:4566", "pictures"),
        ("Pictures.s3.localhost.example.cloud:4566", "pictures"),
        ("pictures.localhost:4566", "pictures"),
        ("a.s3.b.s3.localhost", "a.s3.b"),
    ],
)
def test_virtual_host_names_the_bucket(router: Router, host: str, bucket: str) -> None:
    whole = route(router, "PUT", "/a/b", host=host, **SIGNED)

    assert (whole.operation.name, whole.path_params) == ("PutObject", {"Bucket": bucket, "Key": "a/b"})
    assert found(router, "GET", "/", host=host) == "ListObjects"


@pytest.mark.parametrize(
    "host",
    [
        "s3.amazonaws.com",
        "s3.eu-west-1.amazonaws.com",
        "s3.localhost:4566",
        "localhost:4566",
        "127.0.0.1:4566",
        "redrive:1",
    ],
)
def test_other_hosts_mean_the_path(router: Router, host: str) -> None:
    whole = route(router, "GET", "/pictures/a", host=host, **SIGNED)

    assert whole.path_params == {"Bucket": "pictures", "Key": "a"}


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))
def test_any_key_is_decoded_once(router: Router, key: str) -> None:
    """As botocore writes the path, also with `//`, `..`, percent signs and slashes at both ends."""
    request = http_request("s3", "GetObject", {"Bucket": "b", "Key": key})

    assert router.route(request).path_params == {"Bucket": "b", "Key": key}


@pytest.mark.parametrize("key", ["a//b", "../x", "/lead", "a/./b", "trail//", "a%2Fb", "a+b", "%25", "ä λ", "?x=1#y"])
def test_key_is_not_normalised(router: Router, key: str) -> None:
    request = http_request("s3", "PutObject", {"Bucket": "b", "Key": key, "Body": b""})

    assert router.route(request).path_params["Key"] == key


def test_bare_plus_sign_in_a_path_is_a_blank(router: Router) -> None:
    assert route(router, "GET", "/b/a+b%2Bc", **SIGNED).path_params["Key"] == "a b+c"


def test_path_that_is_not_utf8_is_refused(router: Router) -> None:
    with pytest.raises(Unroutable) as caught:
        found(router, "GET", "/b/%ff")

    assert (caught.value.code, caught.value.http_status) == ("InvalidURI", 400)


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [("GET", "/pictures/a.png", "GetObject"), ("GET", "/pictures", "ListObjects"), ("PUT", "/pictures/a", "PutObject")],
)
def test_unsigned_request_to_a_path_of_nobody_else_is_for_s3(
    router: Router, method: str, path: str, operation: str
) -> None:
    assert route(router, method, path).operation.name == operation


@pytest.mark.parametrize(
    ("method", "path", "service"),
    [
        ("GET", "/2015-03-31/functions", "lambda"),
        ("GET", "/schedules", "scheduler"),
        ("GET", "/schedule-groups", "scheduler"),
    ],
)
def test_unsigned_request_to_a_path_of_another_service_is_not_for_s3(
    router: Router, method: str, path: str, service: str
) -> None:
    assert route(router, method, path).service.name == service


@pytest.mark.parametrize("path", ["/", "/2015-03-31/nothing", "/ab", "/Upper/case", "/123456789012/queue"])
def test_unsigned_request_to_no_bucket_is_not_for_s3(router: Router, path: str) -> None:
    """What cannot be the name of a bucket, versions of other APIs, and the URLs of queues."""
    with pytest.raises(Unroutable) as caught:
        route(router, "GET", path)

    assert not isinstance(caught.value.codec, RestXmlCodec)


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("AWSAccessKeyId=a&Signature=b&Expires=1", {}),
        ("X-Amz-Credential=a%2F20250101%2Fus-east-1%2Fs3%2Fwrong", {"host": "b.s3.localhost"}),
        ("X-Amz-Credential=a/20250101/us-east-1/s3/aws4_request/more", {}),
        ("", {"authorization": "AWS AKIDEXAMPLE:c2ln"}),
    ],
)
def test_signature_of_s3_is_known_even_if_it_is_wrong(router: Router, query: str, headers: dict[str, str]) -> None:
    """S3 says in its own words what is wrong with a signature, so the request has to come there."""
    assert router.route(HttpRequest("GET", "/pictures/a", query, headers, b"")).service.name == "s3"
