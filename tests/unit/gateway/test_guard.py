"""Who may ask: tables of what is refused, and of what is let through. Source: https://fetch.spec.whatwg.org/."""

from __future__ import annotations

import pytest

from redrive.core.errors import UserError
from redrive.engine.build import SERVICES
from redrive.gateway.guard import HOSTS_REMEMBERED_MAX, Guard, Preflight, Refused, Shared, host_name
from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models

HERE = {"host": "localhost:4566"}
EVIL = {"origin": "https://evil.example"}
APP = {"origin": "http://localhost:3000"}
SCOPE = "test/20261122/us-east-1/sqs/aws4_request"
SIGNED = {"authorization": f"AWS4-HMAC-SHA256 Credential={SCOPE}, SignedHeaders=host, Signature=0"}
CHROME = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
LINK = f"Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-east-1:000000000000:t&Token={'0a' * 32}"
SUBSCRIPTION = "arn:aws:sns:us-east-1:000000000000:t:fef4b8cc-dc4d-47a0-ba8f-2d4071bd98ac"
PRESIGNED = "Action=ListQueues&X-Amz-Credential=a%2F20261122%2Fus-east-1%2Fsqs%2Faws4_request&X-Amz-Signature=0"

GUARD = Guard(address="127.0.0.1")


def asked(method: str, target: str, **headers: str) -> HttpRequest:
    path, _, query = target.partition("?")
    return HttpRequest(
        method, path, query, HERE | {name.replace("_", "-"): text for name, text in headers.items()}, b""
    )


def browser(method: str, target: str, site: str, mode: str, dest: str, **headers: str) -> HttpRequest:
    return asked(method, target, sec_fetch_site=site, sec_fetch_mode=mode, sec_fetch_dest=dest, **headers)


@pytest.mark.parametrize(
    "request_",
    [
        # An image, a script, a style: no Origin. An old browser, or a server without TLS that is not on loopback,
        # gets no Sec-Fetch-* either.
        browser("GET", "/?Action=CreateRole&Version=2010-05-08&RoleName=r", "cross-site", "no-cors", "image"),
        asked("GET", "/?Action=CreateRole&Version=2010-05-08&RoleName=r"),
        asked("GET", "/?Action=CreateRole&Version=2010-05-08&RoleName=r", **CHROME),
        asked("GET", "/?%41ction=CreateRole&RoleName=r", **FORM),
        asked("HEAD", "/?Action=CreateRole&Version=2010-05-08&RoleName=r"),
        asked("GET", "/?X-Amz-Credential=a/b/c/iam/aws4_request&%41ction=CreateRole"),
        # A presigned URL whose signature nobody may have checked, in an image.
        asked("GET", f"/?{PRESIGNED}", **CHROME),
        browser("GET", f"/?{PRESIGNED}", "cross-site", "no-cors", "image"),
        asked("GET", f"/?{PRESIGNED}", referer="https://evil.example/page"),
        # A link that was clicked, or typed.
        browser("GET", "/?Action=CreateRole&RoleName=r", "none", "navigate", "document"),
        browser("GET", f"/?{PRESIGNED}", "none", "navigate", "document"),
        browser("GET", "/2015-03-31/functions", "cross-site", "navigate", "document"),
        # Forms.
        asked("POST", "/", **FORM, **EVIL),
        browser("POST", "/", "cross-site", "navigate", "document", **FORM, **EVIL),
        browser("POST", "/", "same-site", "navigate", "iframe", **FORM, **APP),
        asked("POST", "/2015-03-31/functions", content_type="text/plain", **EVIL),
        asked("POST", "/2015-03-31/functions", content_type="text/plain;charset=UTF-8"),
        asked("POST", "/2015-03-31/functions", content_type="multipart/form-data; boundary=x"),
        asked("POST", "/_redrive/reset", content_type="Text/Plain"),
        # no-cors fetches, beacons, with and without a body's type; a sandboxed frame, a file.
        browser("POST", "/2015-03-31/functions/f/invocations", "cross-site", "no-cors", "empty", **EVIL),
        asked("POST", "/_redrive/reset", **EVIL),
        asked("POST", "/_redrive/faults", origin="null"),
        asked("POST", "/_redrive/reset", referer="https://evil.example/"),
        asked("POST", "/_redrive/reset", sec_fetch_mode="no-cors"),
        asked("POST", "/_redrive/reset", sec_fetch_mode="navigate"),
        asked("GET", f"/?{PRESIGNED}", sec_fetch_dest="image"),
        # A link of a message with an operation hidden beside it: readers differ in which of two Actions they take.
        asked("GET", f"/?{LINK}&Action=DeleteQueue&QueueUrl=q", user_agent="Mozilla/5.0"),
        asked("GET", f"/?Action=DeleteQueue&QueueUrl=q&{LINK}", user_agent="Mozilla/5.0"),
        asked("GET", f"/?{LINK}&%41ction=DeleteQueue", user_agent="Mozilla/5.0"),
        asked("GET", "/?Action=Unsubscribe&SubscriptionArn=guessed", user_agent="Mozilla/5.0"),
        asked("GET", "/?Action=ConfirmSubscription&Token=short", user_agent="Mozilla/5.0"),
        asked("GET", f"/2015-03-31/functions?{LINK}", user_agent="Mozilla/5.0"),
        # A WebSocket.
        asked("GET", "/_redrive/health", upgrade="websocket", connection="Upgrade", **EVIL),
        asked("GET", "/_redrive/health", upgrade="websocket", sec_fetch_mode="websocket"),
        # A preflight of a page that is not allowed.
        asked("OPTIONS", "/", access_control_request_method="POST", **EVIL),
        # A signature that a page has does not make it another page.
        asked("POST", "/", **SIGNED, **EVIL),
        # A page at this very address: there is none, but another program may have had the port before.
        asked("POST", "/_redrive/reset", origin="http://localhost:4566"),
        browser("GET", "/_redrive/schedules", "same-origin", "cors", "empty"),
        browser("GET", "/_redrive/health", "same-site", "no-cors", "image"),
        asked("GET", "/_redrive/health", **EVIL),
        # Two origins are none.
        asked("POST", "/", origin="http://localhost:4566, https://evil.example"),
    ],
)  # fmt: skip
def test_what_a_page_can_make_a_browser_send_is_refused(request_: HttpRequest) -> None:
    assert isinstance(GUARD.judge(request_), Refused)


@pytest.mark.parametrize(
    "request_",
    [
        asked("POST", "/", x_amz_target="AmazonSQS.SendMessage", content_type="application/x-amz-json-1.0", **SIGNED),
        asked("POST", "/", **FORM, **SIGNED),
        asked("POST", "/", user_agent="aws-cli/2.15", **FORM),  # AssumeRoleWithWebIdentity is never signed.
        asked("POST", "/2015-03-31/functions", content_type="application/json"),
        asked("POST", "/_redrive/clock", user_agent="curl/8.5", **FORM),  # What curl -d sends.
        asked("POST", "/_redrive/clock", user_agent="Python-urllib/3.11", **FORM),
        asked("POST", "/_redrive/reset"),
        asked("POST", "/2015-03-31/functions/f/invocations", content_type="text/plain", **SIGNED),
        asked("POST", "/", content_type="text/plain", x_amz_target="AmazonSQS.SendMessage"),
        # fetch of Node.js says its mode, and nothing of a page.
        asked("POST", "/", sec_fetch_mode="cors", user_agent="node", content_type="application/json"),
        asked("GET", f"/?{PRESIGNED}"),
        asked("PUT", "/b/k?AWSAccessKeyId=a&Signature=0&Expires=1", **FORM),  # What urllib sends to a presigned URL.
        asked("GET", "/?Action=ListQueues", **SIGNED),
        asked("GET", f"/?{LINK}", user_agent="Mozilla/5.0"),
        asked("GET", f"/?Action=Unsubscribe&SubscriptionArn={SUBSCRIPTION}", user_agent="Mozilla/5.0"),
        asked("GET", "/2015-03-31/functions"),
        asked("DELETE", "/2015-03-31/functions/f", **SIGNED),
        asked("GET", "/_redrive/health"),
        asked("OPTIONS", "/"),
        # A person types the address of our own surface, and a page of this address looks whether we are there.
        browser("GET", "/_redrive/schedules", "none", "navigate", "document", **CHROME),
        browser("GET", "/_redrive/health", "same-origin", "cors", "empty"),
        asked("GET", "/_redrive/health", origin="http://localhost:4566"),
    ],
)  # fmt: skip
def test_clients_that_are_no_browsers_notice_nothing(request_: HttpRequest) -> None:
    assert GUARD.judge(request_) is None


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "localhost.", "127.0.0.1:4566", "127.9.8.7", "[::1]:4566",
    "sqs.us-east-1.localhost:4566", "a.b.localhost", "[0:0:0:0:0:0:0:1]"])  # fmt: skip
def test_names_of_loopback_are_names_of_the_server(host: str) -> None:
    assert GUARD.judge(HttpRequest("GET", "/", "", {"host": host}, b"")) is None


@pytest.mark.parametrize("host", [
    "", "evil.example", "evil.example:4566", "localhost.evil.example", "evillocalhost", "127.0.0.1.evil.example",
    "127.1", "2130706433", "0x7f.0.0.1", "0.0.0.0", "192.168.1.7:4566", "[::1", "::1", "localhost:x",
    "localhost:123456", "me@localhost", "localhost, evil.example", "evil.example#localhost", "localhost..",
    ".localhost", "[::2]", "host.docker.internal:4566",
])  # fmt: skip
def test_foreign_host_is_refused_whoever_sends_it(host: str) -> None:
    """A name of an attacker's that leads to this address makes their page one of this address: DNS rebinding."""
    refused = GUARD.judge(HttpRequest("GET", "/_redrive/health", "", {"host": host}, b""))

    assert isinstance(refused, Refused)
    assert refused.what.startswith("The header Host ")


def test_refusal_of_a_host_says_how_to_allow_it() -> None:
    refused = GUARD.judge(HttpRequest("POST", "/", "", {"host": "host.docker.internal:4566"}, b""))

    assert isinstance(refused, Refused)
    assert "--allow-host host.docker.internal." in refused.next_step


def test_absent_host_is_nobodys_name() -> None:
    """HTTP/1.0 needs none; no browser leaves it out."""
    assert GUARD.judge(HttpRequest("GET", "/_redrive/health", "", {}, b"")) is None


@pytest.mark.parametrize(
    ("guard", "host", "is_allowed"),
    [
        (Guard(address="127.0.0.1", hosts=["redrive"]), "redrive:4566", True),
        (Guard(address="127.0.0.1", hosts=["Redrive"]), "REDRIVE", True),
        (Guard(address="127.0.0.1", hosts=["redrive"]), "x.redrive", False),
        (Guard(address="127.0.0.1", hosts=["*.aws.test"]), "sqs.us-east-1.aws.test", True),
        (Guard(address="127.0.0.1", hosts=["*.aws.test"]), "aws.test", False),
        (Guard(address="127.0.0.1", hosts=["*.aws.test"]), "evilaws.test", False),
        (Guard(address="192.168.1.7"), "192.168.1.7:4566", True),
        (Guard(address="192.168.1.7"), "192.168.1.8", False),
        (Guard(address="10.0.0.1", host="box.lan"), "box.lan", True),
        (Guard(address="::1"), "[::1]:4566", True),
        (Guard(address="0.0.0.0"), "192.168.1.7:4566", True),
        (Guard(address="::"), "[fe80::1]:4566", True),
        (Guard(address="0.0.0.0"), "evil.example", False),
    ],
)  # fmt: skip
def test_hosts_that_were_given_are_allowed_and_no_others(guard: Guard, host: str, is_allowed: bool) -> None:
    """A server that listens on every address answers to every address: no name server is asked for one."""
    assert (guard.judge(HttpRequest("GET", "/", "", {"host": host}, b"")) is None) is is_allowed


def test_strangers_fill_no_memory_with_spellings_of_a_host() -> None:
    guard = Guard(address="127.0.0.1")

    verdicts = {guard.judge(HttpRequest("GET", "/", "", {"host": f"localhost:{port}"}, b"")) for port in range(1_000)}

    assert verdicts == {None}
    assert len(guard.known_hosts) == HOSTS_REMEMBERED_MAX


ALLOWING = Guard(address="127.0.0.1", origins=["http://localhost:3000"])
ALLOWING_ALL = Guard(address="127.0.0.1", origins=["*"])


@pytest.mark.parametrize(
    ("guard", "origin", "shown"),
    [
        (ALLOWING, "http://localhost:3000", "http://localhost:3000"),
        (Guard(address="127.0.0.1", origins=["https://app.test:443/"]), "https://app.test", "https://app.test"),
        (Guard(address="127.0.0.1", origins=["null"]), "null", "null"),
        (ALLOWING_ALL, "https://anything.example", "*"),
    ],
)
def test_allowed_page_may_call_and_read_the_answer(guard: Guard, origin: str, shown: str) -> None:
    shared = guard.judge(browser("POST", "/", "cross-site", "cors", "empty", origin=origin, **SIGNED))

    assert isinstance(shared, Shared)
    headers = dict(shared.headers)
    assert headers["Access-Control-Allow-Origin"] == shown
    assert "x-amzn-requestid" in headers["Access-Control-Expose-Headers"]
    assert headers["Vary"] == "Origin"


@pytest.mark.parametrize(
    ("guard", "origin"),
    [
        (ALLOWING, "http://localhost:3001"),
        (ALLOWING, "https://localhost:3000"),
        (ALLOWING, "http://localhost:3000.evil.example"),
        (ALLOWING, "null"),
        (ALLOWING_ALL, "null"),
    ],
)
def test_origins_are_compared_whole(guard: Guard, origin: str) -> None:
    assert isinstance(guard.judge(asked("POST", "/", origin=origin)), Refused)


def test_allowed_page_needs_an_allowed_host_too() -> None:
    request = HttpRequest("POST", "/", "", {"host": "evil.example", "origin": "http://localhost:3000"}, b"")

    assert isinstance(ALLOWING.judge(request), Refused)


def test_operation_in_a_url_is_signed_for_an_allowed_page_too() -> None:
    """Its browser shows the refusal to it."""
    refused = ALLOWING.judge(asked("GET", "/?Action=ListQueues", **APP))

    assert isinstance(refused, Refused)
    assert refused.code == "MissingAuthenticationToken"
    assert dict(refused.headers)["Access-Control-Allow-Origin"] == "http://localhost:3000"


def test_preflight_of_an_allowed_page_allows_the_headers_of_the_sdk() -> None:
    wanted = (
        "amz-sdk-invocation-id,amz-sdk-request,authorization,content-type,x-amz-content-sha256,x-amz-date,x-amz-target"
    )
    preflight = ALLOWING.judge(
        asked(
            "OPTIONS",
            "/",
            access_control_request_method="POST",
            access_control_request_headers=f"{wanted},x-evil\u00e9",
            access_control_request_private_network="true",
            **APP,
        )
    )

    assert isinstance(preflight, Preflight)
    headers = dict(preflight.headers)
    assert headers["Access-Control-Allow-Headers"] == wanted.replace(",", ", ")
    assert headers["Access-Control-Allow-Origin"] == "http://localhost:3000"
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    assert "DELETE" in headers["Access-Control-Allow-Methods"]


@pytest.mark.parametrize("name", ["http://redrive", "redrive:4566", "*", "*.*.a", "a b", "", "*redrive"])
def test_host_that_could_never_match_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(UserError, match="--allow-host"):
        Guard(address="127.0.0.1", hosts=[name])


@pytest.mark.parametrize(
    "origin", ["localhost:3000", "http://localhost:3000/app", "http://", "http://a:b", "*.test", ""]
)
def test_origin_that_could_never_match_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(UserError, match="--allow-origin"):
        Guard(address="127.0.0.1", origins=[origin])


@pytest.mark.parametrize(
    ("host", "name"), [("A.b:1", "a.b"), ("[::1]", "[::1]"), ("a.:80", "a"), ("a:", None), ("a b", None), ("é", None)]
)
def test_name_is_read_from_a_host(host: str, name: str | None) -> None:
    assert host_name(host) == name


def test_no_operation_that_is_read_by_get_changes_anything() -> None:
    """An old browser's image may ask for any path: that is safe as long as those that GET and HEAD reach only read."""
    models = Models()
    reached = [
        operation.name
        for service in SERVICES
        if "rest-json" in models.specs[service].protocols
        for operation in models.service(service).operations.values()
        if operation.method in ("GET", "HEAD")
    ]

    assert reached
    assert [name for name in reached if not name.startswith(("Get", "List", "Describe"))] == []
