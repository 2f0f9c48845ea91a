"""Sessions that share what each would make for itself behave as sessions do, and are made without that work."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import boto3
import pytest
from botocore.exceptions import ProfileNotFound

from redrive.prove.process.clients import remembered_clients

PLAIN = boto3.Session()
"""A session as it is without a proof."""


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    with remembered_clients():
        boto3.Session()
        yield


def bases_of(session: boto3.Session, service: str) -> list[type]:
    """The classes that the handlers of a session add to those of a client."""
    bases: list[type] = []
    session.events.emit(f"creating-client-class.{service}", class_attributes={}, base_classes=bases, service_id=service)
    return bases


@pytest.mark.parametrize("service", ["s3", "dynamodb", "ec2"])
def test_later_sessions_have_the_event_handlers_of_the_first(service: str) -> None:
    quick = [repr(base) for base in bases_of(boto3.Session(), service)]
    plain = [repr(base) for base in bases_of(PLAIN, service)]

    assert [name.partition(" at ")[0] for name in quick] == [name.partition(" at ")[0] for name in plain]


def test_handler_that_a_session_registers_is_called_in_that_session_alone() -> None:
    seen: list[str] = []
    one, other = boto3.Session(), boto3.Session()
    one.events.register("my-event", lambda **_: seen.append("one"))

    one.events.emit("my-event")
    other.events.emit("my-event")

    assert seen == ["one"]


def test_session_of_a_profile_that_is_not_there_fails_at_once() -> None:
    with pytest.raises(ProfileNotFound):
        boto3.Session(profile_name="nobody")


def test_handler_that_is_removed_is_not_called() -> None:
    seen: list[str] = []

    def handler(**_: object) -> None:
        seen.append("called")

    session = boto3.Session()
    session.events.register("my-event", handler)
    session.events.unregister("my-event", handler)
    session.events.emit("my-event")

    assert seen == []


def test_a_session_inspects_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: object) -> None:
        raise AssertionError(f"the signature of {function} is inspected")

    monkeypatch.setattr(inspect, "getfullargspec", refuse)

    boto3.Session()


def test_a_session_finds_the_models_of_boto3_and_of_its_own_paths() -> None:
    one, other = boto3.Session(), boto3.Session()
    paths = [vars(session)["_session"].get_component("data_loader").search_paths for session in (one, other)]
    paths[0].append("/nowhere")

    assert "dynamodb" in other.get_available_resources()
    assert "/nowhere" not in paths[1]


def test_class_of_a_resource_is_made_once() -> None:
    made = boto3.resource("dynamodb", region_name="us-east-1")

    assert type(made.Table("orders")) is type(made.Table("mails"))
    assert made.Table("mails").name == "mails"
