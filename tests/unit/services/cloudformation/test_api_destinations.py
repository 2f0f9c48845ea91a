"""Archives, connections and API destinations of stacks."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks

KEY = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "value"}}


def get(logical_id: str, attribute: str = "Arn") -> dict[str, Any]:
    return {"Fn::GetAtt": [logical_id, attribute]}


def bus_arn(world: World) -> str:
    return f"arn:aws:events:{world.region}:{world.account}:event-bus/default"


def archive(world: World, **properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::Events::Archive", "Properties": {"SourceArn": bus_arn(world), **properties}}


def caller(*, rate: int | None = None, method: str = "POST", key: dict[str, Any] = KEY) -> dict[str, Any]:
    settings = {} if rate is None else {"InvocationRateLimitPerSecond": rate}
    authorization = {"AuthorizationType": "API_KEY", "AuthParameters": key}
    return {
        "Key": {"Type": "AWS::Events::Connection", "Properties": authorization},
        "Hook": {
            "Type": "AWS::Events::ApiDestination",
            "Properties": {
                "ConnectionArn": get("Key"), "HttpMethod": method,
                "InvocationEndpoint": "https://hooks.example.com/a", **settings,
            },
        },
    }  # fmt: skip


def test_archive_comes_changes_and_goes_with_its_stack(stacks: Stacks, world: World) -> None:
    events = world.client("events")
    settings = {"RetentionDays": 7, "Description": "d", "EventPattern": {"source": ["shop"]}}

    stacks.create("kept", {"All": archive(world, **settings)}, outputs={"Arn": {"Value": get("All")}})

    name = stacks.physical_id("kept", "All")
    shown = events.describe_archive(ArchiveName=name)
    assert shown["ArchiveArn"] == stacks.outputs("kept")["Arn"]
    assert (shown["RetentionDays"], shown["EventPattern"]) == (7, '{"source":["shop"]}')
    stacks.update("kept", {"All": archive(world, RetentionDays=9)})
    changed = events.describe_archive(ArchiveName=name)
    assert changed["RetentionDays"] == 9
    assert "EventPattern" not in changed
    stacks.delete("kept")
    assert events.list_archives()["Archives"] == []


def test_connection_and_destination_come_change_and_go_with_their_stack(stacks: Stacks, world: World) -> None:
    events = world.client("events")
    outputs = {
        "Arn": {"Value": get("Hook")}, "ForPolicy": {"Value": get("Hook", "ArnForPolicy")},
        "Secret": {"Value": get("Key", "SecretArn")},
    }  # fmt: skip

    stacks.create("calls", caller(rate=5), outputs=outputs)

    name = stacks.physical_id("calls", "Hook")
    shown = events.describe_api_destination(Name=name)
    told = stacks.outputs("calls")
    assert shown["ApiDestinationArn"] == told["Arn"]
    assert told["ForPolicy"] == told["Arn"].rpartition("/")[0]
    connection = events.describe_connection(Name=stacks.physical_id("calls", "Key"))
    assert (connection["SecretArn"], connection["ConnectionArn"]) == (told["Secret"], shown["ConnectionArn"])
    other = {"ApiKeyAuthParameters": {"ApiKeyName": "x-other", "ApiKeyValue": "value"}}
    stacks.update("calls", caller(method="PUT", key=other))
    changed = events.describe_api_destination(Name=name)
    assert (changed["HttpMethod"], changed["InvocationRateLimitPerSecond"]) == ("PUT", 300)
    read = events.describe_connection(Name=stacks.physical_id("calls", "Key"))
    assert read["AuthParameters"]["ApiKeyAuthParameters"] == {"ApiKeyName": "x-other"}
    stacks.delete("calls")
    assert events.list_connections()["Connections"] == events.list_api_destinations()["ApiDestinations"] == []


def test_change_of_the_bus_replaces_the_archive(stacks: Stacks, world: World) -> None:
    world.client("events").create_event_bus(Name="own")
    stacks.create("kept", {"All": archive(world)})
    before = stacks.physical_id("kept", "All")

    stacks.update("kept", {"All": archive(world, SourceArn=bus_arn(world).replace("default", "own"))})

    assert stacks.status("kept") == "UPDATE_COMPLETE"
    assert stacks.physical_id("kept", "All") != before
    with pytest.raises(ClientError, match="does not exist"):
        world.client("events").describe_archive(ArchiveName=before)


def test_private_endpoint_fails_the_stack_by_name(stacks: Stacks) -> None:
    parts = caller()
    parts["Key"]["Properties"]["InvocationConnectivityParameters"] = {}

    stacks.create("private", {"Key": parts["Key"]})

    assert stacks.status("private") == "ROLLBACK_COMPLETE"
    assert "InvocationConnectivityParameters" in stacks.reason("private", "Key", "CREATE_FAILED")
