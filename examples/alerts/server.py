"""A server in virtual time, its clock, and commands against it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import boto3

DAY = "2025-01-01"  # Where the clock of a new server in virtual time starts.


@contextmanager
def server() -> Iterator[None]:
    """The server that AWS_ENDPOINT_URL names, or one in virtual time that ends with the program."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    if "AWS_ENDPOINT_URL" in os.environ:
        yield
        return
    command = [sys.executable, "-m", "redrive.cli", "serve", "--port", "0", "--clock", "virtual"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = next(line for line in process.stderr or () if "redrive serves" in line)
            os.environ["AWS_ENDPOINT_URL"] = re.findall(r"http://\S+", said)[0]
            yield
        finally:
            process.terminate()


def client(service: str, **options: Any) -> Any:
    """A boto3 client of the server. Only the endpoint, in the environment, tells it from AWS."""
    return boto3.client(service, endpoint_url=os.environ["AWS_ENDPOINT_URL"], **options)


def redrive(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a redrive command against the server, as somebody types it."""
    command = [sys.executable, "-m", "redrive.cli", *arguments, "--endpoint-url", os.environ["AWS_ENDPOINT_URL"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return done


def advance_to(time: str) -> None:
    """Move the clock on to a time of the day, 02:00, as `redrive clock advance --to` does."""
    body = json.dumps({"to": f"{DAY}T{time}:00Z"}).encode()
    with urlopen(Request(f"{os.environ['AWS_ENDPOINT_URL']}/_redrive/clock", body, method="POST")) as answer:
        answer.read()
