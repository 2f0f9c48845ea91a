"""Connections: secrets are never answered; OAuth tokens are requested, kept, and asked for again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest
from botocore.exceptions import ClientError

from redrive.core.scope import Scope
from redrive.delivery.outside.http_call import HttpEnding, HttpResult
from redrive.delivery.worker import ONE
from redrive.services.events.connections import renew_if_due
from redrive.services.events.model.connection import AuthorizationType, Connection, ConnectionState
from redrive.services.events.secrets import find_connection
from redrive.services.events.workers.connections import ConnectionWorker
from redrive.store.api import Transaction
from redrive.testing.world import World
from tests.unit.services.events.http_server import Answer, LocalServer

BASIC = {"BasicAuthParameters": {"Username": "ann", "Password": "pass-3141"}}
API_KEY = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "value-2718"}}


@pytest.fixture
def world() -> World:
    return World(region="us-east-1")


@pytest.fixture
def events(world: World) -> Any:
    return world.client("events")


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as started:
        yield started


def oauth(server: LocalServer, **more: object) -> dict[str, Any]:
    return {
        "OAuthParameters": {
            "ClientParameters": {"ClientID": "client", "ClientSecret": "secret-1618"},
            "AuthorizationEndpoint": f"{server.url}/token", "HttpMethod": "POST", **more,
        }
    }  # fmt: skip


def token(text: str = "token-1", **more: object) -> Answer:
    return Answer(200, json.dumps({"access_token": text, "token_type": "Bearer", **more}))


def state(events: Any, name: str = "c") -> str:
    return str(events.describe_connection(Name=name)["ConnectionState"])


def refused(call: Any, **params: object) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        call(**params)
    return error.value.response["Error"]["Code"], error.value.response["Error"]["Message"]


@pytest.mark.parametrize(("kind", "parameters"), [("BASIC", BASIC), ("API_KEY", API_KEY)])
def test_connection_with_a_fixed_secret_is_authorized_at_once(
    events: Any, kind: str, parameters: dict[str, Any]
) -> None:  # fmt: skip
    created = events.create_connection(Name="c", AuthorizationType=kind, AuthParameters=parameters)

    assert created["ConnectionState"] == "AUTHORIZED"
    arn = r"arn:aws:events:us-east-1:000000000000:connection/c/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(arn, created["ConnectionArn"])
    shown = events.describe_connection(Name="c")
    secret = r"arn:aws:secretsmanager:us-east-1:000000000000:secret:events!connection/c/[0-9a-f-]{36}-[0-9a-f]{6}"
    assert re.fullmatch(secret, shown["SecretArn"])
    assert shown["LastAuthorizedTime"] == shown["CreationTime"]


def test_no_answer_shows_a_secret(events: Any, server: LocalServer) -> None:
    server.answers = [token()]
    http = {
        "HeaderParameters": [
            {"Key": "x-open", "Value": "shown", "IsValueSecret": False},
            {"Key": "x-hidden", "Value": "hidden-5772", "IsValueSecret": True},
        ]
    }
    events.create_connection(
        Name="b", AuthorizationType="BASIC", AuthParameters={**BASIC, "InvocationHttpParameters": http}
    )
    events.create_connection(Name="k", AuthorizationType="API_KEY", AuthParameters=API_KEY)
    events.create_connection(
        Name="o", AuthorizationType="OAUTH_CLIENT_CREDENTIALS",
        AuthParameters=oauth(server, OAuthHttpParameters={"BodyParameters": http["HeaderParameters"]}),
    )  # fmt: skip

    shown = [events.describe_connection(Name=name)["AuthParameters"] for name in "bko"]

    assert not re.findall("3141|2718|1618|5772", json.dumps(shown))
    assert shown[0]["BasicAuthParameters"] == {"Username": "ann"}
    assert shown[0]["InvocationHttpParameters"]["HeaderParameters"] == [
        {"Key": "x-open", "Value": "shown", "IsValueSecret": False}, {"Key": "x-hidden", "IsValueSecret": True},
    ]  # fmt: skip
    assert shown[1] == {"ApiKeyAuthParameters": {"ApiKeyName": "x-key"}}
    assert shown[2]["OAuthParameters"]["ClientParameters"] == {"ClientID": "client"}


def test_oauth_connection_is_authorizing_until_its_endpoint_has_answered(
    events: Any, server: LocalServer, world: World
) -> None:  # fmt: skip
    server.answers = [token()]

    created = events.create_connection(
        Name="c", AuthorizationType="OAUTH_CLIENT_CREDENTIALS",
        AuthParameters=oauth(server, OAuthHttpParameters={"BodyParameters": [{"Key": "scope", "Value": "a b"}]}),
    )  # fmt: skip
    world.settle()

    assert (created["ConnectionState"], state(events)) == ("AUTHORIZING", "AUTHORIZED")
    (asked,) = server.requests
    assert (asked.method, asked.path) == ("POST", "/token")
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"], "client_id": ["client"], "client_secret": ["secret-1618"],
        "scope": ["a b"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(400, "wrong client"), "HTTP status 400: wrong client"),
        (Answer(200, '{"no": "token"}'), "no access_token"),
        (Answer(200, "no JSON"), "no access_token"),
        (Answer(200, '{"access_token": "a\\r\\nX-Bad: 1"}'), "fits into no header"),
    ],
)
def test_refused_oauth_connection_is_deauthorized_and_says_why(
    events: Any, server: LocalServer, world: World, answer: Answer, reason: str
) -> None:
    server.answers = [answer]
    parameters = oauth(server)

    events.create_connection(Name="c", AuthorizationType="OAUTH_CLIENT_CREDENTIALS", AuthParameters=parameters)
    world.settle()

    shown = events.describe_connection(Name="c")
    assert shown["ConnectionState"] == "DEAUTHORIZED"
    assert reason in shown["StateReason"]
    assert len(server.requests) == 1


def test_authorization_endpoint_that_fails_is_asked_again(events: Any, server: LocalServer, world: World) -> None:
    server.answers = [Answer(503), Answer(500), token()]

    events.create_connection(Name="c", AuthorizationType="OAUTH_CLIENT_CREDENTIALS", AuthParameters=oauth(server))
    world.settle()
    before = state(events)
    world.advance(seconds=10)

    assert (before, state(events), len(server.requests)) == ("AUTHORIZING", "AUTHORIZED", 3)


def test_authorization_endpoint_that_always_fails_is_left_alone(
    events: Any, server: LocalServer, world: World
) -> None:  # fmt: skip
    server.answers = [Answer(503)] * 10

    events.create_connection(Name="c", AuthorizationType="OAUTH_CLIENT_CREDENTIALS", AuthParameters=oauth(server))
    world.advance(hours=1)

    assert (state(events), len(server.requests)) == ("DEAUTHORIZED", 4)


def test_updated_connection_keeps_what_was_not_sent(events: Any) -> None:
    events.create_connection(Name="c", AuthorizationType="BASIC", AuthParameters=BASIC, Description="d")

    events.update_connection(Name="c", AuthParameters={"BasicAuthParameters": {"Username": "bob"}})

    shown = events.describe_connection(Name="c")
    assert shown["AuthParameters"] == {"BasicAuthParameters": {"Username": "bob"}}
    assert shown["Description"] == "d"


def test_changed_type_needs_all_parameters_of_that_type(events: Any) -> None:
    events.create_connection(Name="c", AuthorizationType="BASIC", AuthParameters=BASIC)

    assert refused(events.update_connection, Name="c", AuthorizationType="API_KEY")[0] == "ValidationException"
    events.update_connection(Name="c", AuthorizationType="API_KEY", AuthParameters=API_KEY)

    shown = events.describe_connection(Name="c")
    assert (shown["AuthorizationType"], shown["AuthParameters"]) == (
        "API_KEY", {"ApiKeyAuthParameters": {"ApiKeyName": "x-key"}},
    )  # fmt: skip


def test_deauthorized_connection_has_no_secrets_until_it_is_updated(events: Any, world: World) -> None:
    events.create_connection(Name="c", AuthorizationType="BASIC", AuthParameters=BASIC)

    answer = events.deauthorize_connection(Name="c")

    assert (answer["ConnectionState"], state(events)) == ("DEAUTHORIZING", "DEAUTHORIZED")
    (stored,) = world.store.connection.execute("SELECT count(*) FROM resources WHERE document LIKE '%3141%'").fetchone()
    assert stored == 0
    partly = {"BasicAuthParameters": {"Username": "bob"}}
    assert refused(events.update_connection, Name="c", AuthParameters=partly)[0] == "ValidationException"
    events.update_connection(Name="c", AuthParameters=BASIC)
    assert state(events) == "AUTHORIZED"


def test_deleted_connection_answers_deleting_and_is_gone(events: Any) -> None:
    events.create_connection(Name="c", AuthorizationType="BASIC", AuthParameters=BASIC)

    assert events.delete_connection(Name="c")["ConnectionState"] == "DELETING"

    assert refused(events.describe_connection, Name="c") == (
        "ResourceNotFoundException", "Failed to describe the connection(s). Connection 'c' does not exist.",
    )  # fmt: skip


def test_private_endpoints_are_refused_by_name(events: Any) -> None:
    arn = "arn:aws:vpc-lattice:us-east-1:000000000000:resourceconfiguration/rcfg-01234567890abcdef"
    private = {"ResourceParameters": {"ResourceConfigurationArn": arn}}
    create = {"Name": "c", "AuthorizationType": "BASIC", "AuthParameters": BASIC}

    code, message = refused(events.create_connection, **create, InvocationConnectivityParameters=private)

    assert code == "OperationDisabledException"
    assert "InvocationConnectivityParameters" in message
    create["AuthParameters"] = {**BASIC, "ConnectivityParameters": private}
    assert "ConnectivityParameters" in refused(events.create_connection, **create)[1]


@pytest.mark.parametrize(("kind", "parameters"), [("BASIC", API_KEY), ("BASIC", {**BASIC, **API_KEY}), ("API_KEY", {})])
def test_parameters_of_another_type_are_refused(events: Any, kind: str, parameters: dict[str, Any]) -> None:
    code, _ = refused(events.create_connection, Name="c", AuthorizationType=kind, AuthParameters=parameters)

    assert code == "ValidationException"


def test_connections_are_listed_by_name_prefix_and_state(events: Any) -> None:
    for name in ("a1", "a2", "b1"):
        events.create_connection(Name=name, AuthorizationType="BASIC", AuthParameters=BASIC)
    events.deauthorize_connection(Name="a2")

    def names(**params: object) -> list[str]:
        return [one["Name"] for one in events.list_connections(**params)["Connections"]]

    assert names() == ["a1", "a2", "b1"]
    assert names(NamePrefix="a") == ["a1", "a2"]
    assert names(ConnectionState="DEAUTHORIZED") == ["a2"]
    first = events.list_connections(Limit=2)
    assert names(Limit=2, NextToken=first["NextToken"]) == ["b1"]


def test_name_in_use_is_refused(events: Any) -> None:
    create = {"Name": "c", "AuthorizationType": "BASIC", "AuthParameters": BASIC}
    events.create_connection(**create)

    assert refused(events.create_connection, **create) == (
        "ResourceAlreadyExistsException", "Connection c already exists.",
    )  # fmt: skip


SCOPE = Scope("000000000000", "us-east-1")


def stored(world: World) -> Connection:
    connection = world.store.run(lambda tx: tx.resources.get(Connection, SCOPE, "c"))
    assert connection is not None
    return connection


def test_answer_to_an_earlier_request_for_a_token_is_ignored(events: Any, server: LocalServer, world: World) -> None:
    server.answers = [token("first")]
    events.create_connection(Name="c", AuthorizationType="OAUTH_CLIENT_CREDENTIALS", AuthParameters=oauth(server))
    worker = ConnectionWorker()
    (attempt,) = world.store.run(lambda tx: worker.claim(tx, free=ONE))
    events.update_connection(Name="c", AuthParameters=oauth(server))

    late = HttpResult(HttpEnding.ANSWERED, 200, body=b'{"access_token": "late"}')
    world.store.run(lambda tx: worker.settle(tx, attempt, late))

    assert (stored(world).token, stored(world).state.value) == ("", "AUTHORIZING")


def test_calls_that_come_while_a_token_is_renewed_do_not_renew_it_again(
    events: Any, server: LocalServer, world: World
) -> None:  # fmt: skip
    server.answers = [token("short", expires_in=1)]
    events.create_connection(Name="c", AuthorizationType="OAUTH_CLIENT_CREDENTIALS", AuthParameters=oauth(server))
    world.settle()
    before = stored(world).fence

    for _ in range(3):
        world.store.run(lambda tx: renew_if_due(tx, SCOPE, stored_in(tx)))

    assert stored(world).fence == before + 1


def stored_in(tx: Transaction) -> Connection:
    connection = tx.resources.get(Connection, SCOPE, "c")
    assert connection is not None
    return connection


def test_secrets_are_kept_apart_from_the_connection() -> None:
    """No other document has them: not the connection's own, nor anything else that is stored."""
    world = World(seed=1)
    events: Any = world.client("events")
    basic = {"BasicAuthParameters": {"Username": "u", "Password": "p4ssw0rd"}}
    events.create_connection(Name="c", AuthorizationType="BASIC", AuthParameters=basic)
    rows = "SELECT kind FROM resources WHERE document LIKE '%p4ssw0rd%'"

    stored = world.store.connection.execute(rows).fetchall()
    events.delete_connection(Name="c")

    assert stored == [("events.connection_secret",)]
    assert world.store.connection.execute(rows).fetchall() == []


def test_connection_of_an_older_store_has_its_secrets_itself() -> None:
    world = World(seed=1)
    parameters = {"BasicAuthParameters": {"Username": "u", "Password": "p"}}
    old = Connection(
        "c", "uid", "suffix", AuthorizationType.BASIC, parameters, ConnectionState.AUTHORIZED, 0, 0
    )  # fmt: skip
    scope = Scope("000000000000", "us-east-1")

    world.store.run(lambda tx: tx.resources.put(scope, old))

    assert world.store.run(lambda tx: find_connection(tx, scope, "c")) == old
