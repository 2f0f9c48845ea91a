"""boto3's clients for commands that work on a server and, with `--aws`, on AWS.

Without `--aws` no request goes to AWS, whatever the environment says.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from redrive.cli.endpoint import DEFAULT_ENDPOINT_URL, ask, endpoint_option
from redrive.core.clock import SystemClock
from redrive.core.errors import UserError

REGION = "us-east-1"

CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")
"""The variables that say who calls."""

USER_AGENT = "redrive"
"""Named, because boto3 builds its own text anew for each request, which is a sixth of the time of a request."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place that a command reads: a server at a URL, or AWS itself."""

    endpoint_url: str | None
    region: str | None

    @property
    def is_aws(self) -> bool:
        """Whether the place is AWS itself."""
        return self.endpoint_url is None

    @property
    def options(self) -> str:
        """The command-line options for this place, to paste; each with a space before it."""
        region = f" --region {self.region}" if self.region not in (None, REGION) else ""
        if self.is_aws:
            return f" --aws{region}"
        return f"{region}{self.endpoint_options}"

    @property
    def endpoint_options(self) -> str:
        """The options that name a server, for commands on servers alone; with a space before them."""
        is_usual = self.endpoint_url == (os.environ.get("AWS_ENDPOINT_URL") or DEFAULT_ENDPOINT_URL)
        return "" if is_usual else f" --endpoint-url {self.endpoint_url}"

    @property
    def region_shown(self) -> str:
        """The region, for messages."""
        return self.region or "the region"

    def client(self, service: str) -> Any:
        """A boto3 client. For a server any credentials work; for AWS boto3 finds the credentials."""
        if self.is_aws:
            return self._made(service, ignore_configured_endpoint_urls=True)
        return self._made(service, retries={"total_max_attempts": 1})

    def client_once(self, service: str) -> Any:
        """A boto3 client that makes each request once: a repetition after a lost answer may do the work twice."""
        once = {"total_max_attempts": 1}
        if service == "lambda":  # A batch waits for the function's answer, for a quarter of an hour at most.
            return self._made(service, ignore_configured_endpoint_urls=self.is_aws, retries=once, read_timeout=920)
        if self.is_aws:
            return self._made(service, ignore_configured_endpoint_urls=True, retries=once)
        return self._made(service, retries=once)

    def _made(self, service: str, **settings: Any) -> Any:
        from botocore.config import Config

        config = Config(user_agent=USER_AGENT, **settings)
        named = tuple(os.environ.get(name) for name in CREDENTIALS)
        session = _session(self.region, named, is_aws=self.is_aws)
        return session.client(service, endpoint_url=self.endpoint_url, config=config)

    def check(self) -> None:
        """Check that a server answers at the place. Errors: UserError."""
        if self.endpoint_url is not None:
            ask(self.endpoint_url, "health")

    def now(self) -> int:
        """The current time of the place, in milliseconds: a server's clock may be virtual. Errors: UserError."""
        if self.endpoint_url is None:
            return SystemClock().now()
        return int(ask(self.endpoint_url, "clock")["now_ms"])


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that choose its place, as its parameter `place`. A server there has to answer."""

    @functools.wraps(function)
    def given(*args: Any, place: Place, **options: Any) -> Any:
        place.check()
        return function(*args, place=place, **options)

    return named_place_options(given)


def named_place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `place_options`, for commands that may need no place: the command itself calls `place.check`."""

    @endpoint_option
    @click.option("--aws", "is_aws", is_flag=True, help="Ask AWS itself, with the credentials that boto3 finds.")
    @click.option(
        "--region", envvar="AWS_DEFAULT_REGION", default=None, help=f"The region; of a server {REGION} by default."
    )
    @functools.wraps(function)
    def given(*args: Any, endpoint_url: str, is_aws: bool, region: str | None, **options: Any) -> Any:
        place = Place(None, region) if is_aws else Place(endpoint_url, region or REGION)
        with told(place):
            return function(*args, place=place, **options)

    return given


@contextmanager
def told(place: Place) -> Iterator[None]:
    """Turn AWS's refusal, or a missing answer, into a sentence. Errors: UserError."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        from redrive.deadletters.setbacks import lacks_credentials

        found = error.response["Error"]
        code = str(found.get("Code", ""))
        step = "Renew the credentials, and run the command again." if lacks_credentials(code) else ""
        raise UserError(f"{found.get('Message') or error} ({code})", next_step=step, exit_code=1) from error
    except BotoCoreError as error:
        step = "Set up credentials and a region: aws configure" if place.is_aws else ""
        raise UserError(f"{error}".rstrip(".") + ".", next_step=step) from error


@functools.cache
def _session(region: str | None, named: tuple[str | None, ...], *, is_aws: bool) -> Any:
    """One session for all clients of a command: it keeps the models that it has read.

    `named` are the values of CREDENTIALS: others are another session.
    """
    import boto3

    if is_aws:
        return boto3.session.Session(region_name=region)
    key_id, secret, token, _ = named
    return boto3.session.Session(key_id or "test", secret or "test", token, region_name=region)
