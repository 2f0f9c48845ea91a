"""Runs of a plan that die: before each call of AWS that changes something, before and in each write of the journal.

A world has a dead-letter queue with letters of several kinds. A run is killed at one place, and a new run goes on with
the journal that is left. `faults` says which promise was broken.

Nothing outside of a process tells a death after one effect from a death before the next one: that is one place. A
stage is made once; before each death `again` restores its store.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore import UNSIGNED
from botocore.config import Config

from redrive.core.errors import UserError
from redrive.deadletters.account import Account
from redrive.deadletters.causes import cause_of
from redrive.deadletters.contents import Contents
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.gates import Refusal
from redrive.deadletters.hiding import Hidden
from redrive.deadletters.journal import Journal, open_journal
from redrive.deadletters.letter import Letter, Origin
from redrive.deadletters.plan import Action, Canary, Plan, Rule, Stop
from redrive.deadletters.ports import Ports
from redrive.deadletters.running import Redriving
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Wishes
from redrive.deadletters.streams import Streams
from redrive.deadletters.watching import FirstLetters
from redrive.testing.world import World

ACCOUNT = "us-east-1:000000000000"
FUNCTION = f"arn:aws:lambda:{ACCOUNT}:function:worker"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
NONE = Wishes()
CODES = {
    "rule-0": "TIMEOUT", "rule-1": "TIMEOUT", "rule-gated": "TIMEOUT", "bad-0": "INVALID_JSON", "bad-1": "INVALID_JSON",
    "denied-0": "NO_PERMISSIONS", "bus-0": "SDK_CLIENT_ERROR", "bus-1": "SDK_CLIENT_ERROR",
    "topic-0": "INTERNAL_ERROR", "topic-1": "INTERNAL_ERROR", "api-0": "THROTTLING", "api-1": "THROTTLING",
}  # fmt: skip
"""The letters of the rule, and of a schedule those whose names begin with `api`: their names, and their errors."""
TOPIC = f"arn:aws:sns:{ACCOUNT}:told"
DESTINATIONS = {
    "SDK_CLIENT_ERROR": Destination(To.BUS, "default"), "INTERNAL_ERROR": Destination(To.TOPIC, TOPIC),
    "TIMEOUT": Destination(To.FUNCTION, FUNCTION),
}  # fmt: skip
READS = ("get_", "list_", "describe_")
"""How the names of operations begin that change nothing."""
PLAIN = Config(retries={"total_max_attempts": 1}, signature_version=UNSIGNED)
"""A signature takes a third of the time of a call."""
HIDDEN_S = 60
LOOKED_AT_S = 600
"""For how long a check hides the messages that it has counted."""
ROUNDS_MAX = 500


class Killed(BaseException):
    """The process has ended: nobody may catch it."""


@dataclass(slots=True)
class Life:
    """Ends at a place. A dead process does nothing more: its `finally` blocks reach nobody."""

    ends_at: int = 0
    places: int = 0
    is_over: bool = False

    def place(self, *, counts: bool = True) -> None:
        """Die if this is the place, or if the process is dead. What reads is no place of its own."""
        self.places += counts
        self.is_over = self.is_over or (counts and self.places == self.ends_at)
        if self.is_over:
            raise Killed


class MortalClient:
    """A boto3 client whose process may die before each call that changes something."""

    def __init__(self, client: Any, life: Life) -> None:
        self._client = client
        self._life = life
        self.meta = client.meta

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**params: Any) -> Any:
            self._life.place(counts=not name.startswith(READS))
            return getattr(self._client, name)(**params)

        return call


class Disk(io.BytesIO):
    """A file on a disk that keeps, when the power fails, what was synced alone."""

    def __init__(self, content: bytes, life: Life) -> None:
        super().__init__(content)
        self._life = life
        self.synced = content

    def write(self, data: Any, /) -> int:
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            self._life.place()
            super().write(part)
        return len(data)

    def sync(self) -> None:
        self._life.place()
        self.synced = self.getvalue()


class Careful:
    """A gate that refuses the letters whose body says so."""

    def refusal(self, letter: Letter, to: Destination) -> Refusal | None:
        return Refusal("careful", "it was done already") if "gated" in letter.body else None


@dataclass(slots=True)
class Parts:
    """What a run is made of; a planted defect puts another part in."""

    run: type[Redriving] = Redriving
    journal: type[Journal] = Journal


@dataclass(slots=True)
class Stage:
    """A world with letters, and what survives the death of a process: the world, the disk and the export."""

    world: World
    queue: str
    plan: Plan
    letters: Mapping[str, str]
    """By the ids of letters: their names."""
    delivered: Callable[[], Sequence[str]]
    done: list[str] = field(default_factory=list)
    """What the function was given."""
    disk: bytes = b""
    exported: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    """The ids of the letters of which the server was told that they were sent again."""
    watch: FirstLetters | None = None
    fetches: bool = False
    """Whether the work of letters is fetched from streams."""
    _saved: Any = None
    _clients: dict[str, Any] = field(default_factory=dict)

    def save(self) -> None:
        """Keep what the world has stored, for `again`."""
        self._saved = self.world.store.save()

    def again(self) -> Stage:
        """As the stage was when it was saved, but for the time: that does not run backwards."""
        self.world.store.load(self._saved)
        self.disk = b""
        self.exported.clear()
        self.told.clear()
        self.done.clear()
        return self

    def client(self, service: str, life: Life) -> MortalClient:
        if service not in self._clients:
            self._clients[service] = self.world.client(service, config=PLAIN)
        return MortalClient(self._clients[service], life)

    def run(self, parts: Parts, life: Life, wishes: Wishes = NONE, *, loses_power: bool = False) -> Account | None:
        """One process: it runs the plan to its end, or dies; None if it died."""
        disk = Disk(self.disk, life)
        try:
            return self._run(parts, life, wishes, disk)
        except Killed:
            return None
        finally:
            self.disk = disk.synced if loses_power else disk.getvalue()

    def _run(self, parts: Parts, life: Life, wishes: Wishes, disk: Disk) -> Account:
        sqs = self.client("sqs", life)
        journal = open_journal(disk, disk.sync, self.plan.queue)
        journal.__class__ = parts.journal

        def export(letters: Sequence[Letter]) -> None:
            life.place()
            self.exported.extend(letter.message_id for letter in letters)

        def tell(_: Destination, letters: Sequence[tuple[Letter, str]]) -> None:
            life.place()
            self.told.update(letter.message_id for letter, _ in letters)

        ports = Ports(
            sqs, Sender(lambda service: self.client(service, life)), journal, self.world.clock.now,
            lambda seconds: self.world.advance(seconds=seconds) if seconds else None, lambda: (), export, (Careful(),),
            receives=3, watch=self.watch, tell=tell,
            contents=self._contents(life) if self.fetches else None,
        )  # fmt: skip
        hidden = Hidden(sqs, self.queue, io.StringIO(), hidden_s=HIDDEN_S, wait_s=0, now=self.world.clock.now)
        run = parts.run(self.plan, ports, hidden, wishes)
        for number, _ in enumerate(run.rounds()):
            if number > ROUNDS_MAX:
                raise UserError("the run does not end")
        return run.account

    def _contents(self, life: Life) -> Contents:
        def client(service: str) -> MortalClient:
            return self.client(service, life)

        return Contents(client, Streams(client, self.world.clock.now))

    def left(self) -> set[str]:
        """The names of the letters in the dead-letter queue."""
        self.world.advance(seconds=HIDDEN_S)
        return {self.letters.get(one["MessageId"]) or name_in(one["Body"]) for one in received(self.world, self.queue)}


def received(world: World, url: str) -> Iterator[Any]:
    """All messages of a queue; of a FIFO queue in order, because each is deleted."""
    sqs = world.client("sqs")
    ask: dict[str, Any] = {"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": LOOKED_AT_S}
    while messages := sqs.receive_message(**ask).get("Messages"):
        for message in messages:
            yield message
            if url.endswith(".fifo"):
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


@contextmanager
def mixed_stage() -> Iterator[Stage]:
    """Letters of a queue, of a rule and of a schedule: to redrive, to discard, to leave, and gated.

    They go back to a queue, a function, a bus, a topic, and by the request of a schedule.
    """
    world = World(seed=1)
    sqs = world.client("sqs")
    done: list[str] = []

    make_worker(world, lambda event: done.append(event["name"]))
    told = _told_queue(world)
    dead, orders = moved(world, [f"order-{number}" for number in range(13)] + ["order-gated"], fifo=False)
    for name, code in CODES.items():
        sqs.send_message(QueueUrl=dead, **_letter(name, code, told))
    plan = Plan(dead, rules(world, dead), canary=Canary(1, 4), stop=Stop())

    def delivered() -> list[str]:
        world.advance(seconds=5)
        return [name_in(one["Body"]) for url in (orders, told) for one in received(world, url)] + done

    stage = Stage(world, dead, plan, names(world, dead), delivered, done)
    stage.save()
    yield stage
    world.close()


def make_worker(world: World, work: Callable[[Any], object]) -> str:
    """The function that does the work; answers the ARN of its role."""

    def handler(event: Any, _: object) -> None:
        work(event)

    world.functions.register("worker", handler)
    iam = world.client("iam")
    role = str(iam.create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"])
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [everything]})
    iam.put_role_policy(RoleName="worker", PolicyName="all", PolicyDocument=document)
    world.client("lambda").create_function(
        FunctionName="worker", Runtime="python3.12", Handler="index.handler", Code={"ZipFile": packed()}, Role=role
    )
    return role


def _told_queue(world: World) -> str:
    """The queue that gets what is sent to the bus, to the topic, and by the request of the schedule."""
    sqs, arn = world.client("sqs"), f"arn:aws:sqs:{ACCOUNT}:told"
    allowed = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    url = sqs.create_queue(QueueName="told", Attributes={"Policy": policy})["QueueUrl"]
    world.client("sns").create_topic(Name="told")
    world.client("sns").subscribe(
        TopicArn=TOPIC, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"}
    )
    events = world.client("events")
    events.put_rule(Name="told", EventPattern='{"source": ["shop"]}')
    events.put_targets(Rule="told", Targets=[{"Id": "1", "Arn": arn}])
    return str(url)


def _letter(name: str, code: str, told: str) -> dict[str, Any]:
    """A letter of the rule; of the schedule, if its name says so."""
    body: dict[str, Any] = {"name": name}
    named = {"RULE_ARN": f"arn:aws:events:{ACCOUNT}:rule/r", "TARGET_ARN": FUNCTION, "ERROR_CODE": code}
    if name.startswith("bus"):
        body = {"source": "shop", "detail-type": "Order", "detail": body}
    elif name.startswith("api"):
        body = {"QueueUrl": told, "MessageBody": json.dumps(body)}
        named = {
            "SCHEDULE_ARN": f"arn:aws:scheduler:{ACCOUNT}:schedule/default/s", "ERROR_CODE": code,
            "TARGET_ARN": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage", "EXECUTION_ID": name,
        }  # fmt: skip
    attributes = {key: {"DataType": "String", "StringValue": value} for key, value in named.items()}
    return {"MessageBody": json.dumps(body), "MessageAttributes": attributes}


def name_in(body: str) -> str:
    """The name of a letter's work; an event and a request hold it inside."""
    if not body.startswith("{"):
        return body
    told = json.loads(body)
    inside = told.get("detail") or json.loads(told.get("MessageBody", "{}"))
    return str((inside or told)["name"])


@contextmanager
def fifo_stage() -> Iterator[Stage]:
    """Letters of a FIFO queue in two message groups; a gate refuses one in the middle of the second."""
    world = World(seed=1)
    bodies = ["a-0", "b-0", "a-1", "b-1", "a-2", "b-2-gated", "a-3", "b-3"]
    dead, orders = moved(world, bodies, fifo=True)
    rule = rules_of_bodies(world, orders)
    plan = Plan(dead, rule, canary=Canary(0, 0))
    stage = Stage(world, dead, plan, {}, lambda: [one["Body"] for one in received(world, orders)])
    stage.save()
    yield stage
    world.close()


def moved(world: World, bodies: Sequence[str], *, fifo: bool, keeps_policy: bool = False) -> tuple[str, str]:
    """A dead-letter queue and its source; the redrive policy has moved messages from this one to that one."""
    sqs, end = world.client("sqs"), ".fifo" if fifo else ""
    kind = {"FifoQueue": "true"} if fifo else {}
    dead = sqs.create_queue(QueueName=f"dead{end}", Attributes=kind)["QueueUrl"]
    policy = {"deadLetterTargetArn": f"arn:aws:sqs:{ACCOUNT}:dead{end}", "maxReceiveCount": 1}
    attributes = kind | {"RedrivePolicy": json.dumps(policy), "VisibilityTimeout": "0"}
    orders = sqs.create_queue(QueueName=f"orders{end}", Attributes=attributes)["QueueUrl"]
    for body in bodies:
        more = {"MessageGroupId": body[0], "MessageDeduplicationId": body} if fifo else {}
        sqs.send_message(QueueUrl=orders, MessageBody=body, **more)
    world.advance(minutes=6)
    while sqs.receive_message(QueueUrl=orders, MaxNumberOfMessages=10).get("Messages"):
        pass
    if not keeps_policy:
        sqs.set_queue_attributes(QueueUrl=orders, Attributes={"RedrivePolicy": ""})
    return str(dead), str(orders)


def _peeked(world: World, url: str) -> list[Any]:
    sqs = world.client("sqs")
    found = []
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=30, MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
    ).get("Messages"):  # fmt: skip
        found += messages
    world.advance(seconds=31)
    return found


def names(world: World, url: str) -> dict[str, str]:
    """The names of the letters by their ids."""
    found: dict[str, str] = {}
    for one in _peeked(world, url):
        found[str(one["MessageId"])] = name_in(str(one["Body"]))
    return found


def rules(world: World, url: str) -> tuple[Rule, ...]:
    """A rule for each cause: bad letters are discarded, denied ones left, all others redriven."""
    actions = {"INVALID_JSON": Action.DISCARD, "NO_PERMISSIONS": Action.LEAVE}
    causes = {cause_of(read_letter(one)) for one in _peeked(world, url)}
    return tuple(
        Rule(cause, actions.get(cause.code, Action.REDRIVE), DESTINATIONS.get(cause.code), reason="bad")
        for cause in sorted(causes, key=lambda cause: cause.code)
    )


def rules_of_bodies(world: World, orders: str) -> tuple[Rule, ...]:
    """The one rule of the FIFO stage."""
    letter = read_letter({"Attributes": {"DeadLetterQueueSourceArn": f"arn:aws:sqs:{ACCOUNT}:orders.fifo"}})
    assert letter.origin is Origin.QUEUE
    return (Rule(cause_of(letter), Action.REDRIVE, Destination(To.QUEUE, orders)),)


def faults(stage: Stage, account: Account) -> list[str]:
    """The promises that are broken after a run came to its end."""
    doubtful = {stage.letters[one] for one in account.doubtful}
    delivered = Counter(stage.delivered())
    left, exported = stage.left(), {stage.letters.get(one, one) for one in stage.exported}
    found = [f"{name} was sent {count} times" for name, count in delivered.items() if count > 1]
    found += [f"{name} passed its gate" for name in delivered if "gated" in name]
    told = {stage.letters[one] for one in stage.told}
    found += [f"{name} was sent, and nobody was told" for name in set(delivered) - told - left]
    for name in stage.letters.values():
        is_there, is_done = name in left, name in delivered or name in exported
        if not is_there and not is_done:
            found.append(f"{name} is lost")
        if is_there and name in delivered and name not in doubtful:
            found.append(f"{name} was sent, stays, and is not told")
        if not is_there and name in doubtful:
            found.append(f"{name} is doubtful, and gone")
    found += [f"{name} stays without a reason" for name in left & _wanted(stage) - doubtful]
    return found


def _wanted(stage: Stage) -> set[str]:
    return {name for name in stage.letters.values() if "gated" not in name and not name.startswith("denied")}


def killed(stage: Stage, parts: Parts, places: Sequence[int], *, loses_power: bool = False) -> Account:
    """The account of the run that came to its end, after one that died at each of the places."""
    for place in places:
        stage.run(parts, Life(place), loses_power=loses_power)
        stage.world.advance(seconds=HIDDEN_S)
    account = stage.run(parts, Life())
    assert account is not None
    return account


def places_of(stage: Stage) -> int:
    """At how many places a run of the stage may die."""
    life = Life()
    stage.run(Parts(), life)
    stage.again()
    return life.places


def fifo_faults(stage: Stage, account: Account) -> list[str]:
    """The promises that are broken for a FIFO queue: both groups arrive in order, up to the letter that stays."""
    delivered = list(stage.delivered())
    groups = {group: [name for name in delivered if name[0] == group] for group in "ab"}
    expected = {"a": ["a-0", "a-1", "a-2", "a-3"], "b": ["b-0", "b-1"]}
    found = [f"{group}: {names}" for group, names in groups.items() if names != expected[group]]
    if stage.left() != {"b-2-gated", "b-3"}:
        found.append("other letters stay")
    return [*found, *(f"{one} is doubtful" for one in account.doubtful)]


def packed() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("index.py", "def handler(event, context): pass\n")
    return file.getvalue()
