"""What a server has accepted in a directory is there after the way to PostgreSQL and back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e.conftest import ServerProcess
from tests.e2e.test_crash import drain
from tests.e2e.test_store import ENVIRONMENT


def copied(source: str, target: str) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "redrive.cli", "store", "copy", source, target],
        capture_output=True, text=True, timeout=120, check=False, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables: dict[str, int] = json.loads(done.stdout)["tables"]
    return tables


def test_store_of_a_killed_server_survives_the_way_to_postgresql_and_back(
    start: Callable[..., ServerProcess], tmp_path: Path, postgresql_store_url: str
) -> None:
    server = start("--data", str(tmp_path / "data"))
    sqs, dynamodb = server.client("sqs"), server.client("dynamodb")
    queue = sqs.create_queue(QueueName="jobs.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    sent = [f"é{number}" for number in range(30)]
    for number, body in enumerate(sent):
        sqs.send_message(QueueUrl=queue, MessageBody=body, MessageGroupId="g", MessageDeduplicationId=str(number))
    sequence = sqs.send_message(QueueUrl=queue, MessageBody="31st", MessageGroupId="h", MessageDeduplicationId="31")
    dynamodb.create_table(
        TableName="items", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
    )  # fmt: skip
    item = {"id": {"B": b"\x00\xff"}, "n": {"N": "1.50"}, "s": {"S": "a\x00b"}}
    dynamodb.put_item(TableName="items", Item=item)
    server.kill()

    there = copied(str(tmp_path / "data"), postgresql_store_url)
    back = copied(postgresql_store_url, str(tmp_path / "back"))

    again = start("--data", str(tmp_path / "back"))
    sqs = again.client("sqs")
    found = sqs.get_queue_url(QueueName="jobs.fifo")["QueueUrl"]
    later = sqs.send_message(QueueUrl=found, MessageBody="32nd", MessageGroupId="h", MessageDeduplicationId="32")
    bodies = drain(sqs, found)
    assert there == back
    assert there["messages"] == 31
    assert [body for body in bodies if body in sent] == sent
    assert int(later["SequenceNumber"]) > int(sequence["SequenceNumber"])
    assert again.client("dynamodb").get_item(TableName="items", Key={"id": item["id"]})["Item"] == {
        **item, "n": {"N": "1.5"},
    }  # fmt: skip
