"""A server in virtual time, and the commands as somebody types them, their output going into a pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from click.testing import CliRunner

from redrive.cli.endpoint import ask
from redrive.cli.main import main
from redrive.core.log import SilentLog
from redrive.gateway.server import Options, running


class Terminal:
    """A server, and commands that talk to it."""

    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url

    def run(self, *arguments: str, typed: str = "") -> Any:
        """Run a command against the server; answers click's result."""
        return CliRunner().invoke(main, [*arguments, "--endpoint-url", self.endpoint_url], input=typed)

    def json(self, *arguments: str) -> Any:
        """What a command prints, which has to succeed."""
        done = self.run(*arguments)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def client(self, service: str) -> Any:
        """A boto3 client of the server."""
        session = boto3.session.Session("test", "test", region_name="us-east-1")
        return session.client(service, endpoint_url=self.endpoint_url)

    def deploy(self, template: dict[str, Any], name: str = "mine") -> None:
        """Make a stack; in virtual time that is done when time may pass."""
        self.client("cloudformation").create_stack(
            StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_NAMED_IAM"]
        )
        self.advance(1)
        assert self.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == (
            "CREATE_COMPLETE"
        )

    def advance(self, seconds: int) -> None:
        """Let virtual time pass."""
        ask(self.endpoint_url, "clock", {"advance_s": seconds})


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running(Options(port=0, virtual=True), SilentLog()) as one:
        yield one.endpoint_url


@contextmanager
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    yield


@pytest.fixture
def terminal(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    with _no_keys(monkeypatch):
        yield Terminal(server)
    ask(server, "reset", {})
