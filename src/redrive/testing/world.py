"""A world: an engine in memory, on a virtual clock, that boto3 clients reach without a socket."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redrive.core.clock import Instant, VirtualClock, parse_instant
from redrive.core.documents import Document
from redrive.core.entropy import SeededEntropy, new_uuid
from redrive.core.errors import UserError
from redrive.core.knobs import PRODUCTION, Knobs
from redrive.core.log import LineLog
from redrive.core.scope import Caller, Scope
from redrive.core.sessions import Issuer
from redrive.delivery.assets import BUCKET
from redrive.delivery.outside.invocation import (
    Invocation,
    InvocationResult,
    Invoker,
    ResponseStream,
    invoke_streaming,
)
from redrive.engine.build import build_engine
from redrive.engine.settings import DEFAULTS, Settings
from redrive.engine.virtual import VirtualTime
from redrive.gateway.chain import Gateway
from redrive.gateway.identity import DEFAULT_REGION, Identity
from redrive.invoke.inline import InlineInvoker
from redrive.packaging.template import TEMPLATE_BYTES_MAX
from redrive.store.sqlite import SqliteStore
from redrive.testing.clients import client_of, resource_of
from redrive.testing.code import packed
from redrive.testing.interception import ENDPOINT_URL, Reachable, reached
from redrive.testing.surroundings import settings_for, surroundings, without_outside
from redrive.wire.model.files import Models

if TYPE_CHECKING:
    from redrive.testing.endpoint import Endpoint

START = parse_instant("2025-01-01T00:00:00Z")
DEFAULT_ACCOUNT = "000000000000"


class World:
    """An engine in virtual time. Time stands still until `advance` moves it; the same seed gives the same ids.

        world = World()
        queue = world.client("sqs").create_queue(QueueName="orders")
        world.advance(hours=3)

    Functions run in this process. `world.functions.register("name", handler)` makes functions of that name call the
    test's handler instead of their code.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        start: Instant = START,
        account: str = DEFAULT_ACCOUNT,
        region: str = DEFAULT_REGION,
        invoker: Invoker | None = None,
        settings: Settings = DEFAULTS,
        knobs: Knobs = PRODUCTION,
    ) -> None:
        self.clock = VirtualClock(start)
        self.entropy = SeededEntropy(seed)
        self.account = account
        self.region = region
        log = LineLog(self.clock)
        models = _models()
        self.store = self.open_store(knobs)
        issuer = Issuer(self.store.secret)
        self.functions = InlineInvoker(
            self._load_code, endpoint_url=ENDPOINT_URL, clock=self.clock, entropy=self.entropy.fork("functions"),
            issuer=issuer,
        )  # fmt: skip
        self.outputs: dict[str, str] = {}
        self._endpoint: Endpoint | None = None
        within = _Within(invoker or self.functions)
        self.engine = build_engine(
            self.store, run=self.store.run, models=models, invoker=within, log=log, settings=settings, knobs=knobs
        )
        identity = Identity(issuer, account=account, clocks=[self.clock])
        self.gateway = Gateway(self.engine, models, identity=identity, entropy=self.entropy.fork("gateway"), log=log)
        self._reachable = within.world = Reachable(self.gateway, account, self._own_url)
        self._time = VirtualTime(self.engine, self.clock, stops_max=knobs.stops_per_transaction)

    def open_store(self, knobs: Knobs) -> SqliteStore:
        """A new store in memory. Tests of redrive itself put another store in its place."""
        return SqliteStore(None, clock=self.clock, entropy=self.entropy, knobs=knobs)

    @property
    def now(self) -> Instant:
        """The virtual time, in milliseconds since the epoch."""
        return self.clock.now()

    @property
    def endpoint_url(self) -> str:
        """The engine's URL for other processes and for clients in other languages: it listens from the first read on.

        Botocore's clients in this process need no endpoint. One function runs at a time: while another process invokes
        a function, the test should not run another function.
        """
        if self._endpoint is None:
            from redrive.testing.endpoint import Endpoint  # noqa: PLC0415 - few tests need a server.

            self._endpoint = Endpoint(self.gateway)
        return self._endpoint.url

    @property
    def environment(self) -> dict[str, str]:
        """This process's variables, with AWS's for this engine: `subprocess.run(…, env=redrive.environment)`."""
        return without_outside(os.environ) | settings_for(self.account, self.region, self.endpoint_url)

    def export(self) -> None:
        """Make later child processes reach this engine; undone at the end of the fixture, or of `reached`."""
        os.environ.update(settings_for(self.account, self.region, self.endpoint_url))

    @contextmanager
    def reached(self) -> Iterator[None]:
        """While entered, every botocore and aiobotocore client of this process calls this engine, and none calls AWS.

        The fixture `redrive` does this for its test. Clients use the account and its region unless their arguments
        differ.
        """
        with surroundings(self.account, self.region), reached(self._reachable):
            yield

    def client(self, service: str, *, region: str | None = None, account: str | None = None, **options: Any) -> Any:
        """A boto3 client of this world. `account` is 12 digits."""
        return client_of(
            self.gateway,
            service,
            region=region or self.region,
            account=account or self.account,
            own_url=self._own_url,
            **options,
        )

    def resource(self, service: str, *, region: str | None = None, account: str | None = None, **options: Any) -> Any:
        """The same for a boto3 resource."""
        return resource_of(
            self.gateway,
            service,
            region=region or self.region,
            account=account or self.account,
            own_url=self._own_url,
            **options,
        )

    def caller(self, *, region: str | None = None, account: str | None = None) -> Caller:
        """The account itself, as a caller."""
        return Caller(Scope(account or self.account, region or self.region), new_uuid(self.entropy))

    def call(self, service: str, operation: str, **params: object) -> Document:
        """Run one operation without the wire. Errors: ServiceError."""
        return self.engine.call(self.caller(), service, operation, params)

    def deploy(self, template: str | Path, *, stack: str = "stack", **parameters: str) -> dict[str, str]:
        """Deploy a SAM or CloudFormation template and answer its outputs, which `outputs` keeps as well.

        `template` is a path, or a text. Local code that a template names is packed first, with its dependencies, if it
        is a path. Errors: UserError with the reason, if the code cannot be packed, or the stack not be created.
        """
        is_path = isinstance(template, Path) or "\n" not in template
        body = packed(Path(template), parameters, self._bring) if is_path else str(template)
        client = self.client("cloudformation")
        place = {"TemplateBody": body}
        if len(body.encode()) > TEMPLATE_BYTES_MAX:
            place = {"TemplateURL": f"https://s3.amazonaws.com/{BUCKET}/{self._bring(body.encode())}"}
        given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
        capabilities = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
        client.create_stack(StackName=stack, Parameters=given, Capabilities=capabilities, **place)
        self.settle()
        made = client.describe_stacks(StackName=stack)["Stacks"][0]
        if made["StackStatus"] != "CREATE_COMPLETE":
            events = client.describe_stack_events(StackName=stack)["StackEvents"]
            reasons = [event.get("ResourceStatusReason", "") for event in events if "FAILED" in event["ResourceStatus"]]
            raise UserError(f"The stack {stack} was not created: {made['StackStatus']}: {'; '.join(reasons)}")
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in made.get("Outputs", [])}
        return self.outputs

    def advance(
        self, *, seconds: float = 0, minutes: float = 0, hours: float = 0, days: float = 0,
        moved: Callable[[Instant], None] | None = None,
    ) -> None:  # fmt: skip
        """Advance time: everything that comes due happens, in order, each at its own instant."""
        total_s = seconds + 60 * (minutes + 60 * (hours + 24 * days))
        self.advance_to(self.now + round(total_s * 1000), moved=moved)

    def advance_to(self, instant: Instant, *, moved: Callable[[Instant], None] | None = None) -> None:
        """Advance time to this instant. Errors: ValueError if it is in the past."""
        self._time.advance_to(instant, moved=moved)

    def settle(self) -> None:
        """Do what is due now, without moving time."""
        self._time.settle_due()

    def close(self) -> None:
        """Release all resources."""
        if self._endpoint is not None:
            self._endpoint.close()
        self.engine.invoker.close()
        self.store.close()

    def _bring(self, content: bytes) -> str:
        key = hashlib.sha256(content).hexdigest()
        self.call("redrive", "PutAsset", bucket=BUCKET, key=key, content=content)
        return key

    def _own_url(self) -> str:
        return ENDPOINT_URL if self._endpoint is None else self._endpoint.url

    def _load_code(self, digest: str) -> bytes:
        content = self.store.run(lambda tx: tx.blobs.get(digest))
        if content is None:
            raise KeyError(digest)
        return content


@functools.cache
def _models() -> Models:
    """AWS's models, read once for all worlds of a process: they do not change."""
    return Models()


class _Within:
    """An invoker that makes the boto3 clients of a function reach the world in which the function runs."""

    world: Reachable

    def __init__(self, invoker: Invoker) -> None:
        self._invoker = invoker

    def invoke(self, invocation: Invocation) -> InvocationResult:
        with reached(self.world):
            return self._invoker.invoke(invocation)

    def invoke_streaming(self, invocation: Invocation, response: ResponseStream) -> InvocationResult:
        """See StreamingInvoker."""
        with reached(self.world):
            return invoke_streaming(self._invoker, invocation, response)

    def close(self) -> None:
        self._invoker.close()
