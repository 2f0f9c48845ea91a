"""A page of another origin, in a real browser, harms nobody; a page that is allowed may call."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.browser import CHROMIUM, Site, text_of, visiting
from tests.e2e.conftest import ServerProcess

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium")

PAGES = Path(__file__).parent / "pages"
ROLE = "arn:aws:iam::000000000000:role/kept"
Start = Callable[..., ServerProcess]
Visit = Callable[..., Site]


def archive(invoked: Path) -> bytes:
    """A function that leaves a file when it is invoked."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr("index.py", f"def handler(event, context):\n    open({str(invoked)!r}, 'w').close()\n")
    return content.getvalue()


@pytest.fixture
def site() -> Iterator[Callable[[str, str, bytes], Site]]:
    """Serves pages with the address of a server in them."""
    sites: list[Site] = []

    def serve(name: str, server: str, code: bytes = b"") -> Site:
        page = (PAGES / name).read_text(encoding="utf-8").replace("@SERVER@", server)
        sites.append(Site(page.replace("@ZIP@", base64.b64encode(code).decode())))
        return sites[-1]

    yield serve
    for one in sites:
        one.close()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_page_of_another_origin_executes_nothing(start: Start, site: Visit, tmp_path: Path, host: str) -> None:
    """From another site, and from another port of the same one; all that once ran code on its visitor's machine."""
    invoked = tmp_path / "invoked"
    server = start()
    sqs, functions = server.client("sqs"), server.client("lambda")
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    server.client("iam").create_role(RoleName="kept", AssumeRolePolicyDocument=policy)
    kept = sqs.create_queue(QueueName="kept")["QueueUrl"]
    functions.create_function(
        FunctionName="kept", Runtime="python3.11", Role=ROLE, Handler="index.handler",
        Code={"ZipFile": archive(invoked)},
    )  # fmt: skip
    page = site("hostile.html", server.endpoint_url, archive(invoked))

    with visiting(page.origin(host), tmp_path / "profile"):
        tried = page.report()

    assert {tried.pop("asked"), tried.pop("reading")} == {"refused"}
    assert set(tried.values()) == {"tried"}
    assert len(tried) == 22
    assert [role["RoleName"] for role in server.client("iam").list_roles()["Roles"]] == ["kept"]
    assert [function["FunctionName"] for function in functions.list_functions()["Functions"]] == ["kept"]
    assert sqs.list_queues()["QueueUrls"] == [kept]
    assert "Messages" not in sqs.receive_message(QueueUrl=kept)
    assert server.redrive("fault", "list", "--output", "json").split() == ["[]"]
    assert not invoked.exists()


def test_allowed_page_calls_and_reads_answers_and_errors(start: Start, site: Visit, tmp_path: Path) -> None:
    port_known_later = start()  # The origin of the page is known once it is served, and it names a server.
    page = site("friendly.html", port_known_later.endpoint_url)
    with visiting(page.origin("localhost"), tmp_path / "first"):
        before = page.report()
    port = urlsplit(port_known_later.endpoint_url).port
    port_known_later.stop()
    server = start("--port", str(port), "--allow-origin", page.origin("localhost"))

    with visiting(page.origin("localhost"), tmp_path / "second"):
        made, missing = page.report()
    with visiting(page.origin("127.0.0.1"), tmp_path / "third"):
        other = page.report()

    assert ["refused" in answer for answer in before + other] == [True] * 4
    assert made["status"] == 200
    assert made["id"]
    assert missing["status"] == 400
    assert missing["body"]["__type"].endswith("QueueDoesNotExist")
    assert server.client("sqs").list_queues()["QueueUrls"] == [made["body"]["QueueUrl"]]


def test_name_that_is_bound_to_this_machine_later_reads_nothing(start: Start, tmp_path: Path) -> None:
    """DNS rebinding: to the browser, the page and this server have one origin."""
    server = start()
    port = urlsplit(server.endpoint_url).port
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"

    rebound = text_of(f"http://evil.example:{port}/_redrive/health", tmp_path / "a", resolver_rules=rules)
    typed = text_of(f"http://127.0.0.1:{port}/_redrive/health", tmp_path / "b")

    assert "evil.example, which is not known as a name of this server" in rebound
    assert '"status": "ok"' not in rebound
    assert '"status": "ok"' in typed
