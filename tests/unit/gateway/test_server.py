"""A server and the next one over the same store: what goes on, what is said, what never comes twice."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import shutil
import threading
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, Instant, SystemClock, parse_instant
from redrive.core.errors import UserError
from redrive.core.log import SilentLog
from redrive.gateway.identity import RootKey
from redrive.gateway.server import Options, Server, running
from redrive.wire.message import HttpRequest
from redrive.wire.signatures.verify import format_stamp, sign

TRAIL = {"Name": "redrive", "IsMultiRegionTrail": True, "HomeRegion": "us-east-1"}
NOON = parse_instant("2026-06-01T12:00:00Z")
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": ["lambda.amazonaws.com", "scheduler.amazonaws.com"]},
                "Action": "sts:AssumeRole",
            }
        ],
    }
)
ALLOWED = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})


class Heard(SilentLog):
    """A log that keeps its warnings."""

    def __init__(self) -> None:
        self.warnings: list[tuple[str, dict[str, object]]] = []

    def warning(self, event: str, **facts: object) -> None:
        self.warnings.append((event, facts))


def options(data: Path, *, virtual: bool = True) -> Options:
    return Options(port=0, data=data, virtual=virtual)


@functools.cache
def session() -> boto3.session.Session:
    """One for all clients: it reads AWS's models once."""
    return boto3.session.Session("test", "test", region_name="us-east-1")


def client(server: Server, service: str) -> Any:
    config = Config(retries={"total_max_attempts": 1})
    return session().client(service, endpoint_url=server.endpoint_url, config=config)


def ask(server: Server, method: str, path: str, body: object = None) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{server.endpoint_url}/_redrive/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
    )
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def settle(server: Server) -> None:
    """Wait until all that is due has been done: it draws, too."""
    assert ask(server, "POST", "clock", {"advance_s": 0})[0] == 200


def code() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", "def handler(event, context):\n    raise ValueError('as the test wants')\n")
    return packed.getvalue()


def draw_ids(server: Server, first: bool) -> list[str]:
    """Ids of every kind that a server gives."""
    sqs, iam, functions = client(server, "sqs"), client(server, "iam"), client(server, "lambda")
    number = len(sqs.list_queues().get("QueueUrls", []))
    created = sqs.create_queue(QueueName=f"orders{number}")
    url = created["QueueUrl"]
    ids = [created["ResponseMetadata"]["RequestId"]]
    for _ in range(3):
        sent = sqs.send_message(QueueUrl=url, MessageBody="hello")
        (got,) = sqs.receive_message(QueueUrl=url)["Messages"]
        ids += [sent["MessageId"], got["ReceiptHandle"], sent["ResponseMetadata"]["RequestId"]]
    role = iam.create_role(RoleName=f"work{number}", AssumeRolePolicyDocument=TRUST)
    ids += [role["Role"]["RoleId"], role["ResponseMetadata"]["RequestId"]]
    if first:
        functions.create_function(
            FunctionName="work", Role=role["Role"]["Arn"], Runtime="python3.12", Handler="app.handler",
            Code={"ZipFile": code()},
        )  # fmt: skip
    for _ in range(3):
        # An event whose run fails stays an open delivery, under the id of its request.
        ids.append(functions.invoke(FunctionName="work", InvocationType="Event")["ResponseMetadata"]["RequestId"])
        settle(server)
    stack = client(server, "cloudformation").create_stack(
        StackName=f"stack{number}", TemplateBody='{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}'
    )
    settle(server)
    return [*ids, stack["StackId"], stack["ResponseMetadata"]["RequestId"]]


def draw_over_restarts(data: Path, starts: int) -> list[str]:
    ids: list[str] = []
    for start in range(starts):
        with running(options(data), SilentLog()) as server:
            ids += draw_ids(server, first=start == 0)
            if start == 1:
                ask(server, "POST", "reset")
                ids += draw_ids(server, first=True)
    return ids


def test_no_id_is_given_twice_in_the_life_of_a_store_and_the_same_starts_give_the_same_ids(tmp_path: Path) -> None:
    first = draw_over_restarts(tmp_path / "one", 3)
    second = draw_over_restarts(tmp_path / "two", 3)

    assert len(set(first)) == len(first) > 60
    assert first == second


def test_clock_goes_on_from_the_instant_that_the_last_server_saw(tmp_path: Path) -> None:
    """At half speed, as if the server had run on: set back by an hour, nobody waits an hour longer."""
    machine = [NOON]
    heard = Heard()
    with_clock(tmp_path, machine, SilentLog(), lambda server: send_and_receive(server, timeout_s=60))
    machine[0] = NOON - HOUR_MS
    seen: list[Any] = []

    def look(server: Server) -> None:
        seen.append(ask(server, "GET", "clock")[1]["now_ms"])
        machine[0] += 2 * MINUTE_MS + 1_000
        seen.append(ask(server, "GET", "clock")[1]["now_ms"])
        seen.append(len(client(server, "sqs").receive_message(QueueUrl=url(server)).get("Messages", [])))

    with_clock(tmp_path, machine, heard, look)

    assert seen == [NOON, NOON + MINUTE_MS + 500, 1]
    ((event, facts),) = heard.warnings
    assert event == "clock was set back since the store was used last"
    assert facts["behind_s"] == 3_600


def test_clock_that_was_far_ahead_is_forgotten_and_what_it_hid_is_visible_at_once(tmp_path: Path) -> None:
    machine = [NOON + 300 * DAY_MS]
    heard = Heard()
    with_clock(tmp_path, machine, SilentLog(), lambda server: send_and_receive(server, timeout_s=43_200))
    machine[0] = NOON
    seen: list[Any] = []

    def look(server: Server) -> None:
        seen.append(ask(server, "GET", "clock")[1]["now_ms"])
        seen.append(len(client(server, "sqs").receive_message(QueueUrl=url(server)).get("Messages", [])))

    with_clock(tmp_path, machine, heard, look)

    assert seen == [NOON, 1]
    assert heard.warnings[0][1]["time"] == "is the machine's"


def test_server_that_was_killed_knows_the_time_of_the_minute_before(tmp_path: Path) -> None:
    """The instant is written down while the server runs, too; here it is what a copy of its files says."""
    machine = [NOON]

    def copy(server: Server) -> None:
        send_and_receive(server, timeout_s=60)
        server.note_time()
        shutil.copytree(tmp_path / "data", tmp_path / "killed")

    with_clock(tmp_path, machine, SilentLog(), copy)
    machine[0] = NOON - HOUR_MS
    heard = Heard()
    server = Server(options(tmp_path / "killed", virtual=False), heard, machine=lambda: machine[0])
    server.close()

    assert [facts["behind_s"] for _, facts in heard.warnings] == [3_600]


def with_clock(tmp_path: Path, machine: list[Instant], log: SilentLog, work: Any) -> None:
    """A server in real time on a machine whose clock the test sets."""
    with running(options(tmp_path / "data", virtual=False), log, machine=lambda: machine[0]) as server:
        work(server)


def url(server: Server) -> str:
    return str(client(server, "sqs").get_queue_url(QueueName="orders")["QueueUrl"])


def send_and_receive(server: Server, *, timeout_s: int) -> None:
    sqs = client(server, "sqs")
    made = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": str(timeout_s)})["QueueUrl"]
    sqs.send_message(QueueUrl=made, MessageBody="hello")
    assert len(sqs.receive_message(QueueUrl=made)["Messages"]) == 1


def test_second_server_is_refused_though_the_lock_file_was_deleted(tmp_path: Path) -> None:
    with running(options(tmp_path), SilentLog()):
        (tmp_path / "redrive.lock").unlink()

        with pytest.raises(UserError, match="in use by another redrive server"):
            Server(options(tmp_path), SilentLog())


def test_server_that_cannot_listen_lets_go_of_its_directory(tmp_path: Path) -> None:
    with running(options(tmp_path / "one"), SilentLog()) as server:
        taken = Options(port=server.port, data=tmp_path / "two")
        with pytest.raises(UserError, match="Cannot listen"):
            Server(taken, SilentLog())

    with running(options(tmp_path / "two"), SilentLog()) as server:
        assert ask(server, "GET", "health")[0] == 200


def busy(server: Server) -> None:
    """A schedule that is due each minute, so that years never end."""
    role = client(server, "iam").create_role(RoleName="work", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    client(server, "iam").put_role_policy(RoleName="work", PolicyName="all", PolicyDocument=ALLOWED)
    client(server, "sqs").create_queue(QueueName="orders")
    client(server, "scheduler").create_schedule(
        Name="often", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": "arn:aws:sqs:us-east-1:000000000000:orders", "RoleArn": role},
    )  # fmt: skip


class Advance(threading.Thread):
    """A request for fifty years, under way in a thread of its own."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.answer: tuple[int, Any] | None = None
        self._server = server
        self.start()
        while "moves_to" not in ask(server, "GET", "health")[1]:
            pass

    def run(self) -> None:
        self.answer = ask(self._server, "POST", "clock", {"advance_s": 50 * 366 * 86_400})


def test_clock_that_moves_is_shown_and_can_be_stopped(tmp_path: Path) -> None:
    with running(options(tmp_path), SilentLog()) as server:
        busy(server)
        before = ask(server, "GET", "clock")[1]["now_ms"]
        advance = Advance(server)
        while ask(server, "GET", "clock")[1]["now_ms"] == before:
            pass

        ask(server, "DELETE", "clock")
        advance.join()
        stands = ask(server, "GET", "clock")[1]

        assert advance.answer is not None
        status, said = advance.answer
        assert status == 409
        assert stands["now"] in said["error"]
        assert before < stands["now_ms"] < before + 50 * 366 * DAY_MS
        assert "moves_to" not in stands
        assert ask(server, "POST", "clock", {"advance_s": 60})[1]["now_ms"] == stands["now_ms"] + MINUTE_MS


def test_clock_stops_when_whoever_moved_it_has_gone(tmp_path: Path) -> None:
    with running(options(tmp_path), SilentLog()) as server:
        busy(server)
        with pytest.raises(OSError, match="timed out"):
            urllib.request.urlopen(
                urllib.request.Request(
                    f"{server.endpoint_url}/_redrive/clock", method="POST", data=b'{"advance_s": 1576800000}'
                ),
                timeout=0.5,
            )

        while "moves_to" in ask(server, "GET", "clock")[1]:
            pass  # Else the server would go on for hours.
        first = ask(server, "GET", "clock")[1]["now_ms"]

        assert ask(server, "POST", "clock", {"advance_s": 0})[1]["now_ms"] == first


def test_server_stops_though_its_clock_moves_and_keeps_where_it_stands(tmp_path: Path) -> None:
    with running(options(tmp_path), SilentLog()) as server:
        busy(server)
        start = ask(server, "GET", "clock")[1]["now_ms"]
        advance = Advance(server)
        while (seen := ask(server, "GET", "clock")[1]["now_ms"]) == start:
            pass
    advance.join()

    with running(options(tmp_path), SilentLog()) as server:
        assert ask(server, "GET", "clock")[1]["now_ms"] >= seen > start


def test_backup_through_the_servers_own_surface_is_a_store_with_all_that_was_accepted(tmp_path: Path) -> None:
    with running(options(tmp_path / "data"), SilentLog()) as server:
        send_and_receive(server, timeout_s=60)
        made = ask(server, "POST", "store/backup", {})[1]
        (tmp_path / "restored").mkdir()
        with urllib.request.urlopen(
            f"{server.endpoint_url}/_redrive/store/backup/content?id={made['id']}&offset=0"
        ) as response:
            (tmp_path / "restored" / "redrive.sqlite").write_bytes(response.read())
        ask(server, "DELETE", "store/backup")

        assert ask(server, "GET", f"store/backup/content?id={made['id']}&offset=0")[0] == 404
        assert not (tmp_path / "data" / "redrive.backup").exists()

    with running(options(tmp_path / "restored"), SilentLog()) as server:
        assert ask(server, "GET", "store/check")[1]["tables"]["messages"] == 1


def test_store_in_memory_has_no_file_to_check_or_copy() -> None:
    with running(Options(port=0, virtual=True), SilentLog()) as server:
        for method, path in (("GET", "store/check"), ("POST", "store/backup")):
            status, said = ask(server, method, path, {} if method == "POST" else None)

            assert (status, "--data DIR" in said["next"]) == (400, True)


def test_signed_post_to_health_is_answered_and_so_is_what_follows() -> None:
    """Who signs it is looked up in the store, which nobody may wait for on the loop: only reads are answered there."""
    secret = "0123456789abcdef0123"
    keys = [RootKey("AKIALOCAL", secret, "000000000000")]
    with running(Options(port=0, require_signatures=True, keys=keys), SilentLog()) as server:
        headers = {"host": f"127.0.0.1:{server.port}", "x-amz-date": format_stamp(SystemClock().now())}
        headers["authorization"] = sign(
            HttpRequest("POST", "/_redrive/health", "", headers, b""), access_key_id="AKIALOCAL", secret=secret,
            region="us-east-1", service="redrive", signed_headers=tuple(headers),
        )  # fmt: skip
        request = urllib.request.Request(f"{server.endpoint_url}/_redrive/health", method="POST", headers=headers)

        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)
        refused.value.close()
        with urllib.request.urlopen(f"{server.endpoint_url}/_redrive/health", timeout=10) as health:
            assert health.status == 200
        assert refused.value.code == 404


def test_server_with_a_trail_makes_calls_events_from_the_start(tmp_path: Path) -> None:
    """The next server finds the trail, and lets it log again."""
    with_trail = dataclasses.replace(options(tmp_path), has_trail=True)

    for _ in range(2):
        with running(with_trail, SilentLog()) as server:
            trails = client(server, "cloudtrail")
            (shown,) = trails.describe_trails()["trailList"]
            is_logging = trails.get_trail_status(Name="redrive")["IsLogging"]
            trails.stop_logging(Name="redrive")

        assert {name: shown[name] for name in TRAIL} == TRAIL
        assert is_logging is True
