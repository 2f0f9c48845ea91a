"""A store on the disk as people meet it: checked, backed up, restored, refused when something is missing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ROOT, ServerProcess
from tests.e2e.test_crash import Sender, drain

Start = Callable[..., ServerProcess]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def redrive(*arguments: str, server: ServerProcess | None = None) -> subprocess.CompletedProcess[str]:
    environment = ENVIRONMENT if server is None else server.environment
    return subprocess.run(
        [sys.executable, "-m", "redrive.cli", *arguments],
        capture_output=True, text=True, timeout=120, check=False, env=environment,
    )  # fmt: skip


def begun(*arguments: str, server: ServerProcess) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "redrive.cli", *arguments], stderr=subprocess.PIPE, text=True, env=server.environment
    )


def send(server: ServerProcess, count: int) -> list[str]:
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    for number in range(count):
        sqs.send_message(QueueUrl=url, MessageBody=f"m{number}")
    return [f"m{number}" for number in range(count)]


def received(server: ServerProcess) -> list[str]:
    sqs = server.client("sqs")
    return drain(sqs, sqs.get_queue_url(QueueName="orders")["QueueUrl"])


def test_backup_under_load_restores_every_message_accepted_before_it(start: Start, tmp_path: Path) -> None:
    server = start("--data", str(tmp_path / "data"))
    server.client("sqs").create_queue(QueueName="orders")
    url = server.client("sqs").get_queue_url(QueueName="orders")["QueueUrl"]
    sender = Sender(server.client("sqs"), url, "s")
    sender.start()
    while len(sender.accepted) < 50:
        server.client("sqs").list_queues()
    before = list(sender.accepted)

    made = redrive("store", "backup", str(tmp_path / "backup.sqlite"), server=server)

    assert made.returncode == 0, made.stderr
    went_on = len(sender.accepted) > len(before)
    server.kill()
    sender.join()
    (tmp_path / "restored").mkdir()
    shutil.copy(tmp_path / "backup.sqlite", tmp_path / "restored" / "redrive.sqlite")
    kept = received(start("--data", str(tmp_path / "restored")))
    assert went_on
    assert set(before) <= set(kept) <= set(sender.accepted) | {f"s-{len(sender.accepted) + 1}"}
    assert stat.S_IMODE((tmp_path / "backup.sqlite").stat().st_mode) == 0o600


def test_backup_that_is_killed_leaves_nothing_under_its_name_and_can_be_made_again(
    start: Start, tmp_path: Path
) -> None:
    server = start("--data", str(tmp_path / "data"))
    send(server, 3)
    file = tmp_path / "backup.sqlite"
    killed = begun("store", "backup", str(file), server=server)
    while not (tmp_path / "backup.sqlite.part").exists() and killed.poll() is None:
        pass
    killed.kill()
    killed.communicate()
    if file.exists():  # It was faster than the signal.
        file.unlink()

    again = redrive("store", "backup", str(file), server=server)

    assert again.returncode == 0, again.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.sqlite", "data"]


def test_backup_of_a_stopped_directory_needs_no_server(start: Start, tmp_path: Path) -> None:
    server = start("--data", str(tmp_path / "data"))
    sent = send(server, 5)
    server.kill()

    made = redrive("store", "backup", str(tmp_path / "backup.sqlite"), "--data", str(tmp_path / "data"))

    assert made.returncode == 0, made.stderr
    (tmp_path / "restored").mkdir()
    shutil.copy(tmp_path / "backup.sqlite", tmp_path / "restored" / "redrive.sqlite")
    assert sorted(received(start("--data", str(tmp_path / "restored")))) == sent


def test_existing_file_is_never_overwritten_by_a_backup(start: Start, tmp_path: Path) -> None:
    server = start("--data", str(tmp_path / "data"))
    (tmp_path / "backup.sqlite").write_text("precious")

    refused = redrive("store", "backup", str(tmp_path / "backup.sqlite"), server=server)

    assert refused.returncode == 3
    assert "is there already" in refused.stderr
    assert (tmp_path / "backup.sqlite").read_text() == "precious"


def test_check_says_what_there_is_by_its_exit_code_and_as_json(start: Start, tmp_path: Path) -> None:
    server = start("--data", str(tmp_path / "data"))
    send(server, 30)
    running = redrive("store", "check", server=server)
    in_use = redrive("store", "check", str(tmp_path / "data"), server=server)
    server.kill()
    whole = redrive("store", "check", str(tmp_path / "data"))
    os.truncate(tmp_path / "data" / "redrive.sqlite-wal", 40_000)
    cut = redrive("store", "check", str(tmp_path / "data"))
    nowhere = redrive("store", "check", str(tmp_path))

    codes = [done.returncode for done in (running, in_use, whole, cut, nowhere)]
    assert codes == [0, 3, 0, 1, 3]
    assert json.loads(running.stdout)["tables"]["messages"] == json.loads(whole.stdout)["tables"]["messages"] == 30
    assert "its log ends or is damaged" in json.loads(cut.stdout)["findings"][0]


def test_store_with_a_damaged_log_is_refused_until_its_loss_is_accepted(start: Start, tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = start("--data", str(data))
    sent = send(server, 100)
    server.kill()
    log = bytearray((data / "redrive.sqlite-wal").read_bytes())
    log[len(log) // 2] ^= 0xFF
    (data / "redrive.sqlite-wal").write_bytes(log)

    refused = redrive("serve", "--port", "0", "--data", str(data))
    accepted = redrive("store", "accept", str(data))

    assert refused.returncode == 3
    assert "is damaged" in refused.stderr
    assert f"redrive store check {data}" in refused.stderr
    assert accepted.returncode == 0, accepted.stderr
    assert 0 < len(received(start("--data", str(data)))) < len(sent)


def test_stopped_store_is_one_file_that_holds_everything(start: Start, tmp_path: Path) -> None:
    server = start("--data", str(tmp_path / "data"))
    sent = send(server, 5)
    server.stop()
    (tmp_path / "copy").mkdir()

    shutil.copy(tmp_path / "data" / "redrive.sqlite", tmp_path / "copy" / "redrive.sqlite")

    assert sorted(received(start("--data", str(tmp_path / "copy")))) == sent


def test_interrupted_advance_leaves_the_clock_where_it_stands(start: Start, tmp_path: Path) -> None:
    server = start("--clock", "virtual", "--data", str(tmp_path / "data"))
    busy(server)
    before = clock(server)
    advancing = begun("clock", "advance", "18000d", server=server)
    while clock(server)["now_ms"] == before["now_ms"]:
        pass

    advancing.send_signal(signal.SIGINT)
    _, said = advancing.communicate(timeout=60)

    stands = clock(server)
    assert advancing.returncode == 130
    assert f"stopped at {stands['now']}" in said
    assert "moves_to" not in stands
    assert clock(server) == stands


def test_server_ends_though_its_clock_is_on_its_way(start: Start, tmp_path: Path) -> None:
    server = start("--clock", "virtual", "--data", str(tmp_path / "data"))
    busy(server)
    before = clock(server)
    advancing = begun("clock", "advance", "18000d", server=server)
    while clock(server)["now_ms"] == before["now_ms"]:
        pass

    assert server.stop() in (0, -15)

    advancing.communicate(timeout=60)
    assert advancing.returncode != 0


def busy(server: ServerProcess) -> None:
    """A schedule that is due each minute, so that years take hours."""
    trust = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
    role = server.client("iam").create_role(
        RoleName="work", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    )["Role"]["Arn"]
    server.client("sqs").create_queue(QueueName="orders")
    server.client("scheduler").create_schedule(
        Name="often", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": "arn:aws:sqs:us-east-1:000000000000:orders", "RoleArn": role},
    )  # fmt: skip


def clock(server: ServerProcess) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(server.redrive("clock", "show", "-o", "json"))
    return shown
