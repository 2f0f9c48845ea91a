"""Where commands look: on AWS only if somebody says so."""

from __future__ import annotations

import pytest

from redrive.cli.clients import Place

SERVER = "http://127.0.0.1:4566"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", SERVER)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")


def test_aws_is_meant_only_by_its_option(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says of endpoints."""
    aws = Place(None, "eu-west-1").client("sqs").meta.endpoint_url
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    server = Place(SERVER, "eu-west-1").client("sqs").meta.endpoint_url

    assert (aws, server) == ("https://sqs.eu-west-1.amazonaws.com", SERVER)


@pytest.mark.parametrize(
    ("place", "options"),
    [
        (Place(SERVER, "us-east-1"), ""),
        (Place(SERVER, "eu-west-1"), " --region eu-west-1"),
        (Place("http://127.0.0.1:1", "us-east-1"), " --endpoint-url http://127.0.0.1:1"),
        (Place(None, "eu-west-1"), " --aws --region eu-west-1"),
        (Place(None, None), " --aws"),
    ],
)
def test_commands_to_paste_lead_to_the_same_place(keys: None, place: Place, options: str) -> None:
    assert place.options == options
