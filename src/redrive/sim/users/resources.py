"""What users create, and register for the checkers: queues, tables, functions, mappings, producers, consumers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import dump_json
from redrive.core.entropy import Entropy
from redrive.core.scope import Caller
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import SCOPE
from redrive.sim.users.acts import Consumer, Handle, Producer, event
from redrive.sim.users.functions import Handler
from redrive.sim.world import Simulation

ROLE = "everything"
CLOSING_MS = 10 * MINUTE_MS
"""How long consumers stay after the last work is submitted."""
TIMEOUT_S = 10
VISIBILITY_S = 60


class Resources:
    """Creates resources by the client without hazards. What the checkers must know of them is kept by name."""

    def __init__(self, simulation: Simulation, entropy: Entropy, *, until: Instant) -> None:
        """`until`: the instant at which users stop to submit work."""
        self.simulation = simulation
        self.dice = Dice(entropy)
        self.entropy = entropy
        self.until = until
        self.queues: dict[str, str] = {}
        """The URL of each queue."""
        self.letters: dict[str, tuple[str, ...]] = {}
        """The attributes of the dead letters in a queue."""
        self.sources: dict[str, str] = {}
        """The queue whose messages a dead-letter queue gets."""
        self.drained: list[str] = []
        """The queues that are empty at the end."""
        self.role_arn = self._role()

    def fork(self, name: str) -> Dice:
        """Dice of their own for a user. The name determines the draws."""
        return Dice(self.entropy.fork(name))

    def queue(self, name: str, *, receives_max: int | None = None, is_fifo: bool = False) -> str:
        """Create a queue; with `receives_max`, also a dead-letter queue `NAME-dlq`. Returns its URL."""
        attributes = {"VisibilityTimeout": str(VISIBILITY_S)}
        if is_fifo:
            attributes["FifoQueue"] = "true"
        call = self.simulation.reliable.call
        if receives_max is not None:
            self.sources[f"{name}-dlq"] = name
            policy = {"deadLetterTargetArn": arn_of("sqs", f"{name}-dlq"), "maxReceiveCount": receives_max}
            attributes["RedrivePolicy"] = dump_json(policy)
            dlq_url = call("sqs", "CreateQueue", QueueName=f"{name}-dlq")["QueueUrl"]
        url = str(call("sqs", "CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"])
        self.queues[name] = url
        in_order = {"MessageGroupId": "undone", "MessageDeduplicationId": "undone"} if is_fifo else {}
        self.undo("sqs", "SendMessage", QueueUrl=url, MessageBody=event("undone"), **in_order)
        if receives_max is not None:
            self.queues[f"{name}-dlq"] = dlq_url
        return url

    def url(self, queue: str) -> str:
        """The URL of a queue of the workload."""
        return self.queues[queue]

    def table(self, name: str) -> None:
        """Create a table whose items have a `key`."""
        self.simulation.reliable.call(
            "dynamodb", "CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        )  # fmt: skip

    def function(self, name: str, handler: Handler, *, dead_letters: str | None = None) -> None:
        """Create a function whose code is this handler."""
        letters = {"DeadLetterConfig": {"TargetArn": arn_of("sqs", dead_letters)}} if dead_letters else {}
        self.simulation.functions.register(name, handler)
        self.simulation.reliable.call(
            "lambda", "CreateFunction", FunctionName=name, Role=self.role_arn, Runtime="python3.12",
            Handler="app.handler", Code={"ZipFile": _archive()}, Timeout=TIMEOUT_S, **letters,
        )  # fmt: skip
        # Lambda refuses to run a function that is still being created; a node's clock may be behind by the skew.
        whole_s = self.simulation.weather.skew_ms // SECOND_MS + 2
        self.simulation.run_until(self.simulation.now + whole_s * SECOND_MS)

    def mapping(self, queue: str, function: str, *, batch_size: int, reports_failures: bool) -> None:
        """Create a mapping that passes a queue's messages to a function."""
        made = self.simulation.reliable.call(
            "lambda", "CreateEventSourceMapping", FunctionName=function, EventSourceArn=arn_of("sqs", queue),
            BatchSize=batch_size, FunctionResponseTypes=["ReportBatchItemFailures"] if reports_failures else [],
        )  # fmt: skip
        self.undo("lambda", "UpdateEventSourceMapping", UUID=made["UUID"], Enabled=False)

    def producer(self, name: str, hand_in: Callable[[str], object], *, poison_share: float) -> None:
        """Add a user who submits a piece of work every few minutes."""
        simulation = self.simulation
        producer = Producer(
            simulation, name, hand_in, dice=Dice(self.entropy.fork(name)),
            gap_ms=self.dice.between(MINUTE_MS, 6 * MINUTE_MS), poison_share=poison_share, until=self.until,
        )  # fmt: skip
        simulation.add(producer, at=simulation.now)

    def consumer(self, name: str, url: str, handle: Handle) -> None:
        """Add a user who receives, works and deletes."""
        simulation = self.simulation
        consumer = Consumer(
            simulation, name, simulation.client(name), url, handle, dice=Dice(self.entropy.fork(name)),
            visibility_s=VISIBILITY_S, until=self.until + CLOSING_MS,
        )  # fmt: skip
        simulation.add(consumer, at=simulation.now)

    def sender(self, name: str, url: str) -> Callable[[str], object]:
        """Sends pieces of work to a queue."""
        client = self.simulation.client(f"{name} sender")
        return lambda key: client.call("sqs", "SendMessage", QueueUrl=url, MessageBody=event(key))

    def sender_in_order(self, name: str, url: str) -> Callable[[str], object]:
        """Sends to several groups of a FIFO queue in turn."""
        groups = self.dice.between(1, 4)
        client = self.simulation.client(f"{name} sender")

        def send(key: str) -> None:
            group = f"{name}-group-{int(key.rpartition('-')[2]) % groups}"
            client.call(
                "sqs", "SendMessage", QueueUrl=url, MessageBody=event(key), MessageGroupId=group,
                MessageDeduplicationId=key,
            )  # fmt: skip

        return send

    def undo(self, service: str, operation: str, **params: object) -> None:
        """Add requests that make this call and then fail."""
        caller = Caller(SCOPE, "undone")
        self.simulation.undo(lambda tx: tx.services.call(tx, caller, service, operation, params))

    def _role(self) -> str:
        """One role for everything, because permissions are not tested here."""
        call = self.simulation.reliable.call
        services = [f"{name}.amazonaws.com" for name in ("events", "lambda", "scheduler", "states")]
        trust = policy_of({"Principal": {"Service": services}, "Action": "sts:AssumeRole"})
        role = call("iam", "CreateRole", RoleName=ROLE, AssumeRolePolicyDocument=trust)["Role"]
        everything = policy_of({"Action": "*", "Resource": "*"})
        call("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=ROLE, PolicyDocument=everything)
        return str(role["Arn"])


def arn_of(service: str, name: str) -> str:
    """The ARN of a resource of the account."""
    return f"arn:aws:{service}:{SCOPE.region}:{SCOPE.account}:{name}"


def policy_of(statement: Mapping[str, object]) -> str:
    """A policy of one statement that allows something."""
    return dump_json({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


def _archive() -> bytes:
    """A function's code archive. Nothing runs it, because handlers are registered."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr(zipfile.ZipInfo("app.py"), "")
    return archive.getvalue()
