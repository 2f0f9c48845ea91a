"""Which object of which bucket a URL means."""

from __future__ import annotations

import pytest

from redrive.services.cloudformation.locations import BadLocation, Location, locate, locate_uri

OWN = "engine.test:4566"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://s3.amazonaws.com/b/k", Location("b", "k")),
        ("https://s3.eu-west-1.amazonaws.com/b/a/k.json", Location("b", "a/k.json")),
        ("https://s3-eu-west-1.amazonaws.com/b/k", Location("b", "k")),
        ("https://s3.dualstack.eu-west-1.amazonaws.com/b/k", Location("b", "k")),
        ("https://b.s3.amazonaws.com/k", Location("b", "k")),
        ("https://b.dots.s3.us-east-1.amazonaws.com/a/k", Location("b.dots", "a/k")),
        ("https://b.s3-us-west-2.amazonaws.com/k", Location("b", "k")),
        ("https://s3.cn-north-1.amazonaws.com.cn/b/k", Location("b", "k")),
        ("https://s3.amazonaws.com/b/k?versionId=v1", Location("b", "k", "v1")),
        ("https://s3.amazonaws.com/b/a%20b%2Fc", Location("b", "a b/c")),
        ("http://engine.test:4566/b/k", Location("b", "k")),
        ("http://b.engine.test:4566/k", Location("b", "k")),
        ("http://b.s3.engine.test:4566/k", Location("b", "k")),
        ("http://127.0.0.1:4566/b/k", Location("b", "k")),
        ("http://localhost:1/b/k", Location("b", "k")),
        ("http://s3.localhost:1/b/k", Location("b", "k")),
        ("http://b.s3.localhost:1/k", Location("b", "k")),
        ("http://b.localhost:1/a/k", Location("b", "a/k")),
    ],
)
def test_both_styles_of_url_mean_an_object(url: str, expected: Location) -> None:
    assert locate(url, OWN) == expected


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://example.com/b/k", "S3 error: Domain name specified in example.com is not a valid S3 domain"),
        ("https://notengine.test/b/k", "S3 error: Domain name specified in notengine.test is not a valid S3 domain"),
        ("https://a.test/b/k", "S3 error: Domain name specified in a.test is not a valid S3 domain"),
        ("s3://b/k", "TemplateURL must be a supported URL."),
        ("template.yaml", "TemplateURL must be a supported URL."),
        ("https://s3.amazonaws.com/b", "TemplateURL must be a supported URL."),
    ],
)  # fmt: skip
def test_url_that_means_no_object_is_refused(url: str, message: str) -> None:
    with pytest.raises(BadLocation) as refused:
        locate(url, OWN)

    assert refused.value.message == message


@pytest.mark.parametrize(
    ("uri", "expected"),
    [("s3://b/a/k", Location("b", "a/k")), ("s3://b", None), ("s3://b/", None), ("https://b/k", None), ("", None)],
)
def test_uri_names_bucket_and_key(uri: str, expected: Location | None) -> None:
    assert locate_uri(uri) == expected
