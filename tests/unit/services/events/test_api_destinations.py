"""API destinations: the request that an endpoint gets, and what follows from its answer."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.exceptions import ClientError

from redrive.core.limits import Limits
from redrive.core.retry import Failed, FailureKind, RetryPolicy
from redrive.core.scope import Scope
from redrive.delivery.outside.http_call import HttpCall, HttpEnding, HttpResult
from redrive.delivery.worker import Attempt
from redrive.engine.settings import Settings
from redrive.services.events.api_calls import ApiCalls
from redrive.services.events.model.api_destination import ApiDestination
from redrive.services.events.model.connection import AuthorizationType, Connection, ConnectionState
from redrive.services.events.model.http_answer import judge_call
from redrive.services.events.model.http_request import destination_call
from redrive.store.tables.deliveries import OUTSIDE, Delivery
from redrive.testing.world import World
from tests.unit.services.events.http_server import Answer, LocalServer

ACCOUNT = "000000000000"
API_KEY = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "value"}}
DLQ_ARN = f"arn:aws:sqs:us-east-1:{ACCOUNT}:letters"


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as started:
        yield started


class Setting:
    """A rule whose target is an API destination on this machine, with a dead-letter queue."""

    def __init__(self, server: LocalServer, *, limits: Limits = Limits.STRICT) -> None:
        self.server = server
        self.world = World(region="us-east-1", settings=Settings(limits=limits))
        self.events: Any = self.world.client("events")
        self.sqs: Any = self.world.client("sqs")
        self.role_arn = self._role()
        self.sqs.create_queue(QueueName="letters", Attributes={"Policy": _policy(DLQ_ARN)})
        self.events.put_rule(Name="rule", EventPattern='{"source":["shop"]}')

    def _role(self) -> str:
        iam: Any = self.world.client("iam")
        trust = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sts:AssumeRole"}
        may = {"Effect": "Allow", "Action": "events:InvokeApiDestination", "Resource": "*"}
        role = iam.create_role(RoleName="caller", AssumeRolePolicyDocument=_document(trust))["Role"]
        iam.put_role_policy(RoleName="caller", PolicyName="call", PolicyDocument=_document(may))
        return str(role["Arn"])

    def connect(self, kind: str = "API_KEY", parameters: dict[str, Any] | None = None) -> str:
        """Make the connection `c`; returns its ARN."""
        chosen = API_KEY if parameters is None else parameters
        created = self.events.create_connection(Name="c", AuthorizationType=kind, AuthParameters=chosen)
        return str(created["ConnectionArn"])

    def connect_by_oauth(self) -> str:
        """Make a connection whose tokens come from the server."""
        client = {"ClientID": "client", "ClientSecret": "secret"}
        endpoint = {"AuthorizationEndpoint": f"{self.server.url}/token", "HttpMethod": "POST"}
        return self.connect(
            "OAUTH_CLIENT_CREDENTIALS", {"OAuthParameters": {"ClientParameters": client, **endpoint}}
        )  # fmt: skip

    def destination(self, connection_arn: str, path: str = "/hook", *, method: str = "POST", **more: object) -> str:
        """Make the API destination `d`; returns its ARN."""
        created = self.events.create_api_destination(
            Name="d", ConnectionArn=connection_arn, InvocationEndpoint=f"{self.server.url}{path}", HttpMethod=method,
            **more,
        )  # fmt: skip
        return str(created["ApiDestinationArn"])

    def target(self, arn: str, **more: object) -> None:
        """Make an API destination the rule's target."""
        chosen = {"Id": "t", "Arn": arn, "RoleArn": self.role_arn, "DeadLetterConfig": {"Arn": DLQ_ARN}, **more}
        assert self.events.put_targets(Rule="rule", Targets=[chosen])["FailedEntryCount"] == 0

    def put(self, *details: object) -> None:
        """Put events, ten in each request, and let what is due happen."""
        entries = [{"Source": "shop", "DetailType": "order", "Detail": json.dumps(detail)} for detail in details]
        for first in range(0, len(entries), 10):
            self.events.put_events(Entries=entries[first : first + 10])
        self.world.settle()

    def letters(self) -> list[dict[str, str]]:
        """The attributes of the dead letters."""
        url = self.sqs.get_queue_url(QueueName="letters")["QueueUrl"]
        found = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
        return [
            {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
            for message in found.get("Messages", [])
        ]

    def calls(self) -> list[Any]:
        """The requests to the destination, without those for tokens."""
        return [request for request in self.server.requests if request.path != "/token"]


@pytest.fixture
def setting(server: LocalServer) -> Setting:
    return Setting(server)


def _policy(queue_arn: str) -> str:
    service = {"Service": "events.amazonaws.com"}
    return _document({"Effect": "Allow", "Principal": service, "Action": "sqs:SendMessage", "Resource": queue_arn})


def _document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def token(text: str, **more: object) -> Answer:
    return Answer(200, json.dumps({"access_token": text, **more}))


def test_endpoint_gets_the_event_and_the_headers_of_aws(setting: Setting) -> None:
    setting.target(setting.destination(setting.connect()))

    setting.put({"n": 1})

    (request,) = setting.server.requests
    assert (request.method, request.path) == ("POST", "/hook")
    assert json.loads(request.body)["detail"] == {"n": 1}
    assert {name: value for name, value in request.headers.items() if name not in ("host", "content-length")} == {
        "user-agent": "Amazon/EventBridge/ApiDestinations", "content-type": "application/json; charset=utf-8",
        "range": "bytes=0-1048575", "accept-encoding": "gzip,deflate", "connection": "close", "x-key": "value",
    }  # fmt: skip
    assert setting.letters() == []


def test_basic_connection_sends_its_credentials(setting: Setting) -> None:
    basic = {"BasicAuthParameters": {"Username": "ann", "Password": "pa ss"}}
    setting.target(setting.destination(setting.connect("BASIC", basic)))

    setting.put({})

    (request,) = setting.server.requests
    assert request.headers["authorization"] == "Basic " + base64.b64encode(b"ann:pa ss").decode()


def test_api_key_with_a_blank_in_its_name_costs_no_body(setting: Setting) -> None:
    """AWS accepts such names, and public templates have them; many servers stop to read headers there."""
    key = {"ApiKeyAuthParameters": {"ApiKeyName": "Own Authorization", "ApiKeyValue": "value"}}
    setting.target(setting.destination(setting.connect("API_KEY", key)))

    setting.put({"n": 1})

    (request,) = setting.server.requests
    assert json.loads(request.body)["detail"] == {"n": 1}


def test_parameters_of_the_connection_win_over_those_of_the_target(setting: Setting) -> None:
    http = {
        "HeaderParameters": [{"Key": "X-Both", "Value": "connection"}, {"Key": "x-one", "Value": "1"}],
        "QueryStringParameters": [{"Key": "both", "Value": "connection"}],
        "BodyParameters": [{"Key": "added", "Value": "by the connection"}, {"Key": "source", "Value": "c"}],
    }
    arn = setting.destination(setting.connect("API_KEY", {**API_KEY, "InvocationHttpParameters": http}), "/hook?own=1")
    given = {
        "HeaderParameters": {"x-both": "target", "x-two": "2", "Content-Type": "text/x-own"},
        "QueryStringParameters": {"both": "target", "two": "a b"},
    }
    setting.target(arn, HttpParameters=given)

    setting.put({"n": 1})

    (request,) = setting.server.requests
    assert parse_qs(urlsplit(request.path).query) == {"own": ["1"], "both": ["connection"], "two": ["a b"]}
    headers = request.headers
    assert (headers["x-both"], headers["x-one"], headers["x-two"]) == ("connection", "1", "2")
    assert headers["content-type"] == "text/x-own"
    body = json.loads(request.body)
    assert (body["added"], body["source"], body["detail"]) == ("by the connection", "c", {"n": 1})


def test_path_parameters_fill_stars_in_order_and_may_come_from_the_event(setting: Setting) -> None:
    arn = setting.destination(setting.connect(), "/shops/*/orders/*")
    given = {
        "PathParameterValues": ["a/b ?", "$.detail.order.id"],
        "HeaderParameters": {"x-from": "$.source", "x-none": "$.detail.nothing"},
        "QueryStringParameters": {"order": "$.detail.order"},
    }
    setting.target(arn, HttpParameters=given)

    setting.put({"order": {"id": 17}})

    (request,) = setting.server.requests
    url = urlsplit(request.path)
    assert url.path == "/shops/a%2Fb%20%3F/orders/17"
    assert parse_qs(url.query) == {"order": ['{"id":17}']}
    assert (request.headers["x-from"], request.headers["x-none"]) == ("shop", "")


def test_headers_of_the_connection_itself_cannot_be_set(setting: Setting) -> None:
    setting.target(
        setting.destination(setting.connect()),
        HttpParameters={"HeaderParameters": {"Content-Length": "0", "host": "evil", "Transfer-Encoding": "chunked"}},
    )

    setting.put({"n": 1})

    (request,) = setting.server.requests
    assert request.headers["host"] != "evil"
    assert "transfer-encoding" not in request.headers
    assert json.loads(request.body)["detail"] == {"n": 1}


def test_transformed_input_is_the_body(setting: Setting) -> None:
    transformer = {"InputPathsMap": {"n": "$.detail.n"}, "InputTemplate": '{"number": <n>}'}
    setting.target(setting.destination(setting.connect(), method="PUT"), InputTransformer=transformer)

    setting.put({"n": 7})

    (request,) = setting.server.requests
    assert (request.method, json.loads(request.body)) == ("PUT", {"number": 7})


@pytest.mark.parametrize("status", [401, 407, 409, 429, 500, 503])
def test_statuses_that_may_pass_are_retried(setting: Setting, status: int) -> None:
    setting.server.answers = [Answer(status)] * 2
    setting.target(setting.destination(setting.connect()))

    setting.put({})
    setting.world.advance(minutes=1)

    assert len(setting.server.requests) == 3
    assert setting.letters() == []


@pytest.mark.parametrize("status", [301, 400, 403, 404, 410, 422])
def test_other_statuses_are_permanent_and_dead_lettered(setting: Setting, status: int) -> None:
    setting.server.answers = [Answer(status, "no such hook")]
    setting.target(setting.destination(setting.connect()))

    setting.put({})
    setting.world.advance(minutes=1)

    assert len(setting.server.requests) == 1
    (letter,) = setting.letters()
    assert letter["ERROR_CODE"] == "ERROR_FROM_TARGET"
    assert letter["ERROR_MESSAGE"] == f"HTTP status {status}: no such hook"
    assert letter["RETRY_ATTEMPTS"] == "0"


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "600"},
        {"Retry-After": "Wed, 21 Oct 2015 07:38:00 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"},
    ],
    ids=["seconds", "date"],
)
def test_retry_after_is_respected(setting: Setting, headers: dict[str, str]) -> None:
    setting.server.answers = [Answer(429, headers=headers)]
    setting.target(setting.destination(setting.connect()))

    setting.put({})
    setting.world.advance(seconds=595)
    before = len(setting.server.requests)
    setting.world.advance(seconds=10)

    assert (before, len(setting.server.requests)) == (1, 2)


@pytest.mark.parametrize(("asked", "calls"), [("-1", 1), ("-0", 2), ("-x", 2)])
def test_negative_retry_after_ends_the_retries(asked: str, calls: int, setting: Setting) -> None:
    setting.server.answers = [Answer(503, headers={"Retry-After": asked})]
    setting.target(setting.destination(setting.connect()))

    setting.put({})
    setting.world.advance(hours=1)

    assert len(setting.server.requests) == calls
    assert len(setting.letters()) == (1 if calls == 1 else 0)


def test_retry_after_beyond_the_age_of_the_event_gives_up(setting: Setting) -> None:
    setting.server.answers = [Answer(503, headers={"Retry-After": "99999999999999999999"})]
    setting.target(setting.destination(setting.connect()))

    setting.put({})

    (letter,) = setting.letters()
    assert letter["EXHAUSTED_RETRY_CONDITION"] == "MaximumEventAgeInSeconds"


def test_retries_end_with_the_policy_of_the_target(setting: Setting) -> None:
    setting.server.always = Answer(500, "broken")
    setting.target(setting.destination(setting.connect()), RetryPolicy={"MaximumRetryAttempts": 2})

    setting.put({})
    setting.world.advance(hours=1)

    assert len(setting.server.requests) == 3
    (letter,) = setting.letters()
    assert (letter["EXHAUSTED_RETRY_CONDITION"], letter["RETRY_ATTEMPTS"]) == ("MaximumRetryAttempts", "2")


def test_endpoint_that_nobody_serves_is_tried_again(setting: Setting) -> None:
    with LocalServer() as gone:
        url = gone.url
    arn = setting.events.create_api_destination(
        Name="d", ConnectionArn=setting.connect(), InvocationEndpoint=url, HttpMethod="POST"
    )["ApiDestinationArn"]
    setting.target(arn, RetryPolicy={"MaximumRetryAttempts": 1})

    setting.put({})
    before = setting.letters()
    setting.world.advance(minutes=1)

    assert before == []
    assert setting.letters()[0]["ERROR_CODE"] == "CONNECTION_FAILURE"


def test_hosts_elsewhere_are_not_called_and_the_letter_says_so(setting: Setting) -> None:
    arn = setting.events.create_api_destination(
        Name="d", ConnectionArn=setting.connect(), InvocationEndpoint="https://hooks.example.com/a", HttpMethod="POST"
    )["ApiDestinationArn"]
    setting.target(arn)

    setting.put({})

    (letter,) = setting.letters()
    assert "hooks.example.com is not on this machine" in letter["ERROR_MESSAGE"]
    assert "redrive serve --call-host hooks.example.com" in letter["ERROR_MESSAGE"]


def test_allowed_hosts_are_called(monkeypatch: pytest.MonkeyPatch, server: LocalServer) -> None:
    """The name is a foreign one; the test lets it lead to a server of its own."""
    asked: list[tuple[str, int]] = []
    connect = socket.create_connection

    def lead(address: tuple[str, int], **more: Any) -> socket.socket:
        asked.append(address)
        return connect(("127.0.0.1", address[1]), **more)

    monkeypatch.setattr(socket, "create_connection", lead)
    port = urlsplit(server.url).port
    engine = World(settings=Settings(called_hosts=frozenset({"hooks.example.com"}))).engine

    result = engine.perform(Attempt("w", "k", 1, HttpCall(f"http://hooks.example.com:{port}/a")))

    assert isinstance(result, HttpResult)
    assert (result.status, asked) == (200, [("hooks.example.com", port)])


def test_compressed_error_is_quoted_in_plain_text() -> None:
    body = gzip.compress(b"no such hook" + b"!" * 100_000)
    outcome = judge_call(HttpResult(HttpEnding.ANSWERED, 404, (("content-encoding", "gzip"),), body))

    assert isinstance(outcome, Failed)
    assert outcome.message.startswith("HTTP status 404: no such hook!")
    assert len(outcome.message) < 1_100


def test_oauth_token_is_fetched_once_and_used_by_all_calls(setting: Setting) -> None:
    setting.server.answers = [token("t-1")]
    setting.target(setting.destination(setting.connect_by_oauth()))
    setting.world.settle()

    setting.put({"n": 1}, {"n": 2}, {"n": 3})

    assert [request.headers["authorization"] for request in setting.calls()] == ["Bearer t-1"] * 3
    assert len(setting.server.requests) == 4


@pytest.mark.parametrize("status", [401, 407])
def test_refused_token_is_renewed_before_the_retry(setting: Setting, status: int) -> None:
    setting.server.answers = [token("old")]
    setting.target(setting.destination(setting.connect_by_oauth()))
    setting.world.settle()
    setting.server.answers = [Answer(status), token("new")]

    setting.put({})
    setting.world.advance(minutes=1)

    assert [request.headers["authorization"] for request in setting.calls()] == ["Bearer old", "Bearer new"]
    assert setting.letters() == []


def test_late_refusal_of_an_old_token_leaves_the_new_one(setting: Setting) -> None:
    """Several calls are under way with one token: the first refusal renews the token, the others change nothing."""
    setting.server.answers = [token("old")]
    arn = setting.destination(setting.connect_by_oauth())
    setting.world.settle()
    scope, document = Scope(ACCOUNT, "us-east-1"), {"target": {"Arn": arn}, "event": "{}"}
    late = Delivery("id", scope, "events", "rule", arn, document, RetryPolicy(), OUTSIDE, 0, 0)
    call = HttpCall("http://127.0.0.1/", headers=(("Authorization", "Bearer old"),))
    refusal = HttpResult(HttpEnding.ANSWERED, 401)

    def arrive(answer: HttpResult) -> None:
        setting.world.store.run(lambda tx: ApiCalls().answered(tx, late, call, answer))
        setting.world.settle()

    setting.server.answers = [token("new")]
    arrive(refusal)
    arrive(refusal)

    assert [request.path for request in setting.server.requests] == ["/token", "/token"]


def test_header_value_that_no_header_can_have_is_a_permanent_failure(setting: Setting) -> None:
    setting.target(
        setting.destination(setting.connect()), HttpParameters={"HeaderParameters": {"x-from": "$.detail.name"}}
    )

    setting.put({"name": "a\r\nx-evil: 1"}, {"name": "\u65e5"})
    setting.world.advance(minutes=1)

    assert setting.server.requests == []
    assert [letter["ERROR_CODE"] for letter in setting.letters()] == ["INVALID_PARAMETER"] * 2


def test_expired_token_is_renewed_by_the_next_call(setting: Setting) -> None:
    setting.server.answers = [token("old", expires_in=300)]
    setting.target(setting.destination(setting.connect_by_oauth()))
    setting.world.advance(hours=1)
    setting.server.answers = [token("new", expires_in=300)]

    setting.put({})
    setting.world.advance(seconds=1)

    assert [request.headers["authorization"] for request in setting.calls()] == ["Bearer new"]
    assert len(setting.server.requests) == 3


def test_idle_connection_asks_for_no_tokens(setting: Setting) -> None:
    setting.server.answers = [token("old", expires_in=60)]
    setting.target(setting.destination(setting.connect_by_oauth()))

    setting.world.advance(days=1)

    assert len(setting.server.requests) == 1


def test_waiting_for_a_token_is_no_attempt(setting: Setting) -> None:
    setting.server.answers = [Answer(503), Answer(503), token("late")]
    setting.target(setting.destination(setting.connect_by_oauth()), RetryPolicy={"MaximumRetryAttempts": 0})

    setting.put({})
    setting.world.advance(minutes=1)

    assert [request.headers["authorization"] for request in setting.calls()] == ["Bearer late"]
    assert setting.letters() == []


def test_deauthorized_connection_makes_its_destination_inactive_and_calls_wait_for_an_update(
    setting: Setting,
) -> None:
    setting.target(setting.destination(setting.connect()))
    setting.events.deauthorize_connection(Name="c")

    setting.put({})
    state = setting.events.describe_api_destination(Name="d")["ApiDestinationState"]
    before = len(setting.server.requests)
    setting.events.update_connection(Name="c", AuthParameters=API_KEY)
    setting.world.advance(minutes=1)

    assert (state, before, len(setting.server.requests)) == ("INACTIVE", 0, 1)
    assert setting.events.describe_api_destination(Name="d")["ApiDestinationState"] == "ACTIVE"


def test_calls_beyond_the_rate_are_delayed_and_none_is_lost(setting: Setting) -> None:
    setting.target(
        setting.destination(setting.connect(), InvocationRateLimitPerSecond=2),
        RetryPolicy={"MaximumRetryAttempts": 0},
    )  # fmt: skip

    setting.put(*[{"n": n} for n in range(9)])
    counts = [len(setting.server.requests)]
    for _ in range(4):
        setting.world.advance(seconds=1)
        counts.append(len(setting.server.requests))

    assert counts == [2, 4, 6, 8, 9]
    assert sorted(json.loads(request.body)["detail"]["n"] for request in setting.server.requests) == list(range(9))
    assert setting.letters() == []
    (left,) = setting.world.store.connection.execute(
        "SELECT count(*) FROM timers WHERE kind = 'events.call'"
    ).fetchone()  # fmt: skip
    assert left == 0


def test_without_quotas_there_is_no_rate(server: LocalServer) -> None:
    setting = Setting(server, limits=Limits.RELAXED)
    setting.target(setting.destination(setting.connect(), InvocationRateLimitPerSecond=1))

    setting.put(*[{"n": n} for n in range(5)])

    assert len(server.requests) == 5


def test_role_without_permission_may_not_call(setting: Setting) -> None:
    setting.world.client("iam").delete_role_policy(RoleName="caller", PolicyName="call")
    setting.target(setting.destination(setting.connect()))

    setting.put({})

    assert setting.server.requests == []
    assert setting.letters()[0]["ERROR_CODE"] == "NO_PERMISSIONS"


def test_deleted_destination_is_a_missing_resource(setting: Setting) -> None:
    setting.target(setting.destination(setting.connect()))
    setting.events.delete_api_destination(Name="d")
    setting.destination(setting.events.describe_connection(Name="c")["ConnectionArn"])

    setting.put({})

    assert setting.server.requests == []
    assert setting.letters()[0]["ERROR_CODE"] == "NO_RESOURCE"


def test_connection_of_the_same_name_as_a_deleted_one_is_not_used(setting: Setting) -> None:
    setting.target(setting.destination(setting.connect()))
    setting.events.delete_connection(Name="c")
    setting.connect()

    setting.put({})

    assert setting.server.requests == []
    assert setting.letters()[0]["ERROR_CODE"] == "NO_RESOURCE"
    assert setting.events.describe_api_destination(Name="d")["ApiDestinationState"] == "INACTIVE"


def refused(call: Any, **params: object) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        call(**params)
    return error.value.response["Error"]["Code"], error.value.response["Error"]["Message"]


def test_destination_is_described_with_its_default_rate(setting: Setting) -> None:
    arn = setting.destination(setting.connect(), Description="d")

    shown = setting.events.describe_api_destination(Name="d")

    assert re.fullmatch(rf"arn:aws:events:us-east-1:{ACCOUNT}:api-destination/d/[0-9a-f-]{{36}}", arn)
    assert (shown["ApiDestinationArn"], shown["ApiDestinationState"], shown["Description"]) == (arn, "ACTIVE", "d")
    assert (shown["InvocationRateLimitPerSecond"], shown["HttpMethod"]) == (300, "POST")


def test_update_changes_what_was_sent_alone(setting: Setting) -> None:
    setting.destination(setting.connect())

    setting.events.update_api_destination(Name="d", HttpMethod="PUT", InvocationRateLimitPerSecond=5)

    shown = setting.events.describe_api_destination(Name="d")
    assert (shown["HttpMethod"], shown["InvocationRateLimitPerSecond"]) == ("PUT", 5)
    assert shown["InvocationEndpoint"] == f"{setting.server.url}/hook"


def test_destinations_are_listed_by_prefix_and_connection(setting: Setting) -> None:
    arn = setting.connect()
    setting.destination(arn)
    listed = setting.events.list_api_destinations(ConnectionArn=arn)["ApiDestinations"]

    assert [one["Name"] for one in listed] == ["d"]
    assert setting.events.list_api_destinations(NamePrefix="x")["ApiDestinations"] == []
    assert setting.events.list_api_destinations(ConnectionArn=arn[:-1] + "x")["ApiDestinations"] == []


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://example.com/a",
        "ftp://127.0.0.1/a",
        "hook",
        "https:///a",
        "http://127.0.0.1.example.com/",
        "https://h:x/",
    ],
)
def test_endpoint_must_be_https_or_on_this_machine(setting: Setting, endpoint: str) -> None:
    code, message = refused(
        setting.events.create_api_destination, Name="d", ConnectionArn=setting.connect(),
        InvocationEndpoint=endpoint, HttpMethod="POST",
    )  # fmt: skip

    assert code == "ValidationException"
    assert "InvocationEndpoint" in message


def test_refusals_have_the_recorded_sentences(setting: Setting) -> None:
    arn = setting.connect()
    for call in (setting.events.describe_api_destination, setting.events.delete_api_destination):
        assert refused(call, Name="no") == (
            "ResourceNotFoundException",
            "Failed to describe the api-destination(s). An api-destination 'no' does not exist.",
        )
    create = {"Name": "d", "InvocationEndpoint": "https://example.com/", "HttpMethod": "POST"}
    code, _ = refused(setting.events.create_api_destination, **create, ConnectionArn=arn.replace("/c/", "/no/"))
    assert code == "ResourceNotFoundException"
    setting.events.create_api_destination(**create, ConnectionArn=arn)
    code, _ = refused(setting.events.create_api_destination, **create, ConnectionArn=arn)
    assert code == "ResourceAlreadyExistsException"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_methods_without_a_body_send_none(setting: Setting, method: str) -> None:
    setting.target(setting.destination(setting.connect(), method=method))

    setting.put({"n": 1})

    (request,) = setting.server.requests
    assert (request.method, request.body) == (method, b"")


def test_calls_have_five_seconds() -> None:
    """The bound of the whole call, which `tests/unit/invoke/test_http_calls.py` proves to hold."""
    destination = ApiDestination("d", "u", "arn", "https://example.com/", "POST", 0, 0)
    state = ConnectionState.AUTHORIZED
    connection = Connection("c", "u", "s", AuthorizationType.API_KEY, API_KEY, state, 0, 0)

    assert destination_call(destination, connection, {}, "{}").timeout_ms == 5_000


def test_timeout_of_a_call_is_retried() -> None:
    outcome = judge_call(HttpResult(HttpEnding.TIMED_OUT, error="No answer within 5000 ms."))

    assert outcome == Failed("TIMEOUT", "No answer within 5000 ms.", FailureKind.TRANSIENT)
