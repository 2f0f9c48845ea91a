"""Servers as users run them: a process of their own, reached over HTTP by boto3 and by the aws CLI."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

ROOT = Path(__file__).parents[2]
AWS_CLI = ROOT / ".venv" / "awscli" / "bin" / "aws"
TEMPLATE = ROOT / "examples" / "scheduled-processing" / "template.yaml"


class ServerProcess:
    """A `redrive serve` in a process of its own."""

    def __init__(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "redrive.cli", "serve", "--port", "0", *options],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert self._process.stderr is not None
        said = ""
        found = None
        while found is None:  # Warnings may come first.
            line = self._process.stderr.readline()
            assert line, f"the server said: {said}"
            said += line
            found = re.search(r"redrive serves (http://\S+)", line)
        self.endpoint_url = found[1]
        self.pid = self._process.pid

    def log_line(self, event: str) -> str:
        """The next line of the log that tells of an event; waits for it."""
        assert self._process.stderr is not None
        return next(line for line in self._process.stderr if event in line)

    def client(self, service: str) -> Any:
        """A boto3 client of this server."""
        config = Config(retries={"total_max_attempts": 1}, read_timeout=60)
        return boto3.session.Session("test", "test", region_name="us-east-1").client(
            service, endpoint_url=self.endpoint_url, config=config
        )

    def aws(self, *arguments: str) -> Any:
        """Run the aws CLI against this server; answers its JSON, or its text where it prints none."""
        done = subprocess.run(
            [str(AWS_CLI), *arguments], capture_output=True, text=True, timeout=120, check=False, env=self.environment
        )
        assert done.returncode == 0, done.stderr
        try:
            return json.loads(done.stdout)
        except ValueError:
            return done.stdout

    def redrive(self, *arguments: str) -> str:
        """Run another redrive command against this server; answers what it prints on stdout."""
        done = subprocess.run(
            [sys.executable, "-m", "redrive.cli", *arguments],
            capture_output=True, text=True, timeout=120, check=False, env=self.environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        """What points AWS tools at this server."""
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
        }

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._end()

    def stop(self) -> int:
        """SIGTERM; answers the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._end()

    def _end(self) -> int:
        code = self._process.wait(30)
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code


@pytest.fixture
def start() -> Iterator[Callable[..., ServerProcess]]:
    """Starts servers with the given options; those that still run at the end are killed."""
    servers: list[ServerProcess] = []

    def start_one(*options: str) -> ServerProcess:
        servers.append(ServerProcess(*options))
        return servers[-1]

    yield start_one
    for server in servers:
        server.kill()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """One server in virtual time for the tests of a module."""
    one = ServerProcess("--clock", "virtual")
    yield one
    one.kill()
