"""A bad day of a shop, the end of its troubles, and the sum: what was to be done, and how often it was done.

    python run.py day      # deploys the shop, and lets 1,000 pieces of work fail for five causes
    python run.py mend     # the carrier answers again, the rule's target has room, the code and the role are corrected
    python run.py sum      # a table to a terminal, JSON to a pipe; exit code 1 if work is lost or was done twice

It talks to the server in virtual time that AWS_ENDPOINT_URL names (`redrive serve --clock virtual`). LETTERS=100
makes a smaller day.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import boto3

HERE = Path(__file__).parent
os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
ENDPOINT = os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
LETTERS = int(os.environ.get("LETTERS", "1000"))
ORDERS, WITHOUT_ADDRESS, BY_HAND = LETTERS // 2, LETTERS * 8 // 100, LETTERS * 25 // 1000
MAILS, THUMBNAILS, REPORTS = LETTERS // 5, LETTERS * 15 // 100, LETTERS * 15 // 100
THROTTLED = "arn:aws:lambda:us-east-1:000000000000:function:send-mail"


def client(service: str) -> Any:
    """A boto3 client of the server."""
    return boto3.client(service, endpoint_url=ENDPOINT)


def redrive(*arguments: str) -> None:
    """Run a redrive command against the server, as somebody types it."""
    command = [sys.executable, "-m", "redrive.cli", *arguments, "--endpoint-url", ENDPOINT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")


def order(number: int) -> str:
    """An order. Those that the old web page took have no address."""
    name = f"o-{number}"
    return json.dumps({"order": name} | ({"address": f"{number} Main Street"} if number > WITHOUT_ADDRESS else {}))


def send_orders(numbers: Iterable[int]) -> None:
    """Put orders into their queue."""
    sqs = client("sqs")
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    waiting = iter(numbers)
    while some := list(itertools.islice(waiting, 10)):
        sqs.send_message_batch(
            QueueUrl=url, Entries=[{"Id": str(number), "MessageBody": order(number)} for number in some]
        )


def day() -> None:
    """The shop is deployed; then its carrier is down, mails are throttled, a role and a function are wrong."""
    redrive("deploy", str(HERE / "template.yaml"), "--stack", "shop")
    client("dynamodb").put_item(TableName="outages", Item={"service": {"S": "carrier"}})
    redrive("fault", "add", "--target", THROTTLED, "--error", "TooManyRequestsException", "--rate", "1")
    send_orders(range(1, ORDERS + 1))
    events, functions = client("events"), client("lambda")
    for number in range(1, MAILS + 1):
        detail = json.dumps({"order": f"o-{1000 + number}"})
        events.put_events(
            Entries=[{"EventBusName": "shop", "Source": "shop", "DetailType": "Order Shipped", "Detail": detail}]
        )
    for number in range(1, THUMBNAILS + 1):
        picture = json.dumps({"picture": f"p-{number}", "size": [600, 800]})
        functions.invoke(FunctionName="draw-thumbnail", InvocationType="Event", Payload=picture)
    redrive("clock", "advance", f"{REPORTS * 60 - 30}s")


def mend() -> None:
    """All causes end but one, and somebody has sent some of the orders again, by hand."""
    client("dynamodb").delete_item(TableName="outages", Key={"service": {"S": "carrier"}})
    redrive("fault", "clear")
    redrive("deploy", str(HERE / "template.yaml"), "--stack", "shop", "--parameter", "Mended=yes")
    send_orders(range(ORDERS - BY_HAND + 1, ORDERS + 1))
    redrive("clock", "advance", "5m")


def effects() -> dict[str, Counter[int]]:
    """For each kind of work, how many pieces of it were done once, twice and so on."""
    found: dict[str, Counter[int]] = {}
    for page in client("dynamodb").get_paginator("scan").paginate(TableName="effects"):
        for item in page["Items"]:
            found.setdefault(item["id"]["S"].partition("/")[0], Counter())[int(item["times"]["N"])] += 1
    return found


def count() -> int:
    """Print what was to be done and what was done. Returns the exit code."""
    sqs = client("sqs")
    url = sqs.get_queue_url(QueueName="dead-letters")["QueueUrl"]
    asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    letters = int(asked["Attributes"]["ApproximateNumberOfMessages"])
    done = effects()
    due = {"parcel": ORDERS, "mail": MAILS, "thumbnail": THUMBNAILS, "report": REPORTS}
    rows = [
        {
            "work": kind, "due": number, "once": done.get(kind, Counter())[1],
            "twice": sum(count for times, count in done.get(kind, Counter()).items() if times > 1),
            "not": number - sum(done.get(kind, Counter()).values()),
        }
        for kind, number in due.items()
    ]  # fmt: skip
    if not sys.stdout.isatty():
        print(json.dumps({"work": rows, "letters": letters}))
    else:
        print(f"{'work':<10}{'due':>6}{'once':>6}{'twice':>7}{'not done':>10}")
        for row in rows:
            print(f"{row['work']:<10}{row['due']:>6}{row['once']:>6}{row['twice']:>7}{row['not']:>10}")
        print(f"\n{letters} letters are left in dead-letters.")
    return int(any(row["twice"] for row in rows) or sum(row["not"] for row in rows) != WITHOUT_ADDRESS)


if __name__ == "__main__":
    commands = {"day": day, "mend": mend, "sum": count}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        sys.exit(f"usage: python run.py {'|'.join(commands)}")
    sys.exit(commands[sys.argv[1]]())
