"""The exchange: a bus with targets of all kinds, some of which fail or vanish, and with rules that come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redrive.core.clock import MINUTE_MS, SECOND_MS, parse_instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.sim.checkers.bells import Bell, RuleInstants
from redrive.sim.checkers.buses import BusTargets, RuleRetries, RulesAndReplays
from redrive.sim.checkers.event_order import PublishedInOrder
from redrive.sim.checkers.happenings import Happening, LeftMessage, Lined, Rang, ReplayRead, RuleSet
from redrive.sim.dice import Dice
from redrive.sim.users.acts import Handle
from redrive.sim.users.editors import PERMANENT, FaultAdder
from redrive.sim.users.functions import Handler
from redrive.sim.users.publishers import Publisher, arrival, arrival_handler
from redrive.sim.users.replayers import FickleReplayer
from redrive.sim.users.resources import Resources, arn_of, policy_of
from redrive.sim.users.rule_keepers import KeptRule, QueueVandal, RuleKeeper
from redrive.sim.users.shop import ANYBODY, HIT, RULE_LETTER
from redrive.sim.world import Simulation

EXCHANGE = "exchange"
BRANCH = "branch"
"""The bus that is a target of the exchange."""
ARCHIVE = "ledger-of-events"

NOTICES = "notices"
"""The queue of the rules that come and go, and of the branch."""
FLEETING = "fleeting"
"""The queue that is deleted and made again."""
LINED = "lined.fifo"
BELLS = "bells"
LETTERS = "exchange-letters"
WITNESS = "witness"
WITNESS_LETTERS = "witness-dlq"
SITE = "https://hook.example/events"

CALLED, FORWARDED, LANDED, HOOKED, FLEES, IN_LINE = "called", "forwarded", "landed", "hooked", "flees", "in-line"
EVERYTHING = dump_json({"source": [{"prefix": ""}]})
GONE = ("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")
"""The codes of a queue that is not there, which are not retried."""

BELL_EXPRESSIONS = ("rate(7 minutes)", "rate(1 hour)", "cron(0/10 * * * ? *)", "cron(15 12-14 * * ? *)")
KEPT_MAX = 3
LAMBDA_LETTER = ("RequestID", "ErrorCode", "ErrorMessage")


class Exchange:
    """The bus, its targets and its users."""

    def __init__(self, resources: Resources, dice: Dice) -> None:
        self._resources = resources
        self._simulation: Simulation = resources.simulation
        self._dice = dice
        self._bells: list[Bell] = []
        self._retries_max: dict[str, int] = {}
        self._replayer: FickleReplayer | None = None
        self.rule_arns: dict[str, str] = {}
        """All rules, by name."""
        targets = BusTargets(
            EXCHANGE, queues=[NOTICES, LINED], letters=LETTERS, function_letters=[WITNESS_LETTERS],
            forwarded={LANDED: FORWARDED}, repeating=[HOOKED], vanishing=[FLEES],
        )  # fmt: skip
        self._simulation.watch(
            RulesAndReplays(targets),
            RuleRetries(self._retries_max, LETTERS, (*PERMANENT, *GONE), outside=[HOOKED]),
            RuleInstants(self._bells, disagreement_ms=self._simulation.weather.disagreement_ms),
            PublishedInOrder(EXCHANGE),
        )

    def open(self) -> None:
        """Create everything, and let the users begin."""
        call = self._simulation.reliable.call
        self._queues()
        for bus in (EXCHANGE, BRANCH):
            call("events", "CreateEventBus", Name=bus)
        call("events", "CreateArchive", ArchiveName=ARCHIVE, EventSourceArn=arn_of("events", f"event-bus/{EXCHANGE}"))
        targets = {
            CALLED: self._function(), HOOKED: self._site(), FLEES: {"Arn": arn_of("sqs", FLEETING)},
            FORWARDED: {"Arn": arn_of("events", f"event-bus/{BRANCH}"), "RoleArn": self._resources.role_arn},
            IN_LINE: {"Arn": arn_of("sqs", LINED), "SqsParameters": {"MessageGroupId": "line"}},
        }  # fmt: skip
        for name, target in targets.items():
            self._rule(EXCHANGE, name, target)
        self._rule(BRANCH, LANDED, {"Arn": arn_of("sqs", NOTICES)})
        for number, expression in enumerate(BELL_EXPRESSIONS):
            if self._dice.chance(0.5):
                self._bell(f"bell-{number}", expression)
        self._users([target["Arn"] for name, target in targets.items() if name != IN_LINE])

    def close(self) -> None:
        """Disable or delete the rules on schedules, once every node is awake and has done what is due."""
        simulation, call = self._simulation, self._simulation.reliable.call
        simulation.run_until(simulation.awake_at + 10 * MINUTE_MS)
        for bell in self._bells:
            if self._dice.chance(0.5):
                call("events", "DisableRule", Name=bell.name)
            else:
                call("events", "RemoveTargets", Rule=bell.name, Ids=[bell.name])
                call("events", "DeleteRule", Name=bell.name)
            bell.ended_at = simulation.now

    def told(self, left: Sequence[LeftMessage]) -> Iterator[Happening]:
        """What the end tells: unread messages of rules on schedules, and the states of all replays."""
        yield from (_rang(message.body) for message in left if message.queue == BELLS)
        for name in self._replayer.names if self._replayer is not None else ():
            shown = self._simulation.reliable.call("events", "DescribeReplay", ReplayName=name)
            yield ReplayRead(name, shown["State"], shown.get("EventLastReplayedTime"))

    def _queues(self) -> None:
        resources, simulation = self._resources, self._simulation
        call, policy = simulation.reliable.call, {"Policy": policy_of(ANYBODY)}
        urls = {name: resources.queue(name) for name in (NOTICES, FLEETING, BELLS, LETTERS)}
        urls[LINED] = resources.queue(LINED, is_fifo=True)
        for name, url in urls.items():
            more = {"ContentBasedDeduplication": "true"} if name == LINED else {}
            call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={**policy, **more})
        resources.letters[LETTERS] = RULE_LETTER
        resources.drained.append(LINED)
        resources.consumer("reader of notices", urls[NOTICES], arrival_handler(simulation, EXCHANGE))
        resources.consumer("reader of the line", urls[LINED], _line_handler(simulation))
        resources.consumer("ringer", urls[BELLS], _bell_handler(simulation))

    def _function(self) -> Document:
        """A function that EventBridge may call."""
        resources, simulation = self._resources, self._simulation
        resources.queue(WITNESS_LETTERS)
        resources.letters[WITNESS_LETTERS] = LAMBDA_LETTER
        resources.function(WITNESS, _witness(simulation), dead_letters=WITNESS_LETTERS)
        simulation.reliable.call(
            "lambda", "AddPermission", FunctionName=WITNESS, StatementId="rules", Action="lambda:InvokeFunction",
            Principal="events.amazonaws.com",
        )  # fmt: skip
        return {"Arn": arn_of("lambda", f"function:{WITNESS}")}

    def _site(self) -> Document:
        """An API destination, and the web site that it calls."""
        simulation, call = self._simulation, self._simulation.reliable.call
        simulation.sites.register(SITE, lambda told: simulation.observe(arrival(told, "called", EXCHANGE)))
        key = {"ApiKeyAuthParameters": {"ApiKeyName": "X-Key", "ApiKeyValue": "value"}}
        connection = call(
            "events", "CreateConnection", Name="hook", AuthorizationType="API_KEY", AuthParameters=key
        )  # fmt: skip
        made = call(
            "events", "CreateApiDestination", Name="hook", ConnectionArn=connection["ConnectionArn"],
            InvocationEndpoint=SITE, HttpMethod="POST",
        )  # fmt: skip
        return {"Arn": made["ApiDestinationArn"], "RoleArn": self._resources.role_arn}

    def _rule(self, bus: str, name: str, target: Document) -> None:
        """A rule that nobody changes."""
        call = self._simulation.reliable.call
        call("events", "PutRule", Name=name, EventBusName=bus, EventPattern=EVERYTHING)
        call("events", "PutTargets", Rule=name, EventBusName=bus, Targets=[self._target(bus, name, target)])
        if bus == EXCHANGE:
            self._simulation.observe(RuleSet(name, EVERYTHING, EXCHANGE))

    def _target(self, bus: str, rule: str, target: Document) -> Document:
        self._retries_max[rule] = self._dice.between(0, 5)
        self.rule_arns[rule] = arn_of("events", f"rule/{bus}/{rule}")
        transformer = {"InputPathsMap": {}, "InputTemplate": HIT}
        return {
            "Id": rule, "RetryPolicy": {"MaximumRetryAttempts": self._retries_max[rule]},
            "DeadLetterConfig": {"Arn": arn_of("sqs", LETTERS)},
            **({} if rule == FORWARDED else {"InputTransformer": transformer}), **target,
        }  # fmt: skip

    def _bell(self, name: str, expression: str) -> None:
        """A rule on a schedule, of the default bus."""
        call = self._simulation.reliable.call
        call("events", "PutRule", Name=name, ScheduleExpression=expression)
        self._bells.append(Bell(name, expression, self._simulation.now))
        self.rule_arns[name] = arn_of("events", f"rule/{name}")
        target = {
            "Id": name,
            "Arn": arn_of("sqs", BELLS),
            "InputTransformer": {"InputPathsMap": {}, "InputTemplate": HIT},
        }
        call("events", "PutTargets", Rule=name, Targets=[target])

    def _users(self, faulty: list[str]) -> None:
        """Let the users begin. `faulty`: the targets that may fail."""
        resources, simulation, until = self._resources, self._simulation, self._resources.until
        kept = [
            KeptRule(name, self._target(EXCHANGE, name, {"Arn": arn_of("sqs", NOTICES)}))
            for name in (f"kept-{number}" for number in range(1, self._dice.between(1, KEPT_MAX) + 1))
        ]
        fork, client = resources.fork, simulation.client
        replayed = [self.rule_arns[name] for name in (FORWARDED, CALLED, *(rule.name for rule in kept))]
        self._replayer = FickleReplayer(
            simulation, client("fickle replayer"), archive=ARCHIVE, bus=EXCHANGE, rule_arns=replayed,
            dice=fork("fickle replayer"), until=until,
        )  # fmt: skip
        queue = {"QueueName": FLEETING, "Attributes": {"Policy": policy_of(ANYBODY)}}
        url, targets = resources.queues[FLEETING], [*faulty, arn_of("sqs", NOTICES)]
        users = (
            Publisher(simulation, client("teller"), dice=fork("teller"), until=until, bus=EXCHANGE),
            RuleKeeper(simulation, client("rule keeper"), EXCHANGE, kept, dice=fork("rule keeper"), until=until),
            self._replayer,
            QueueVandal(simulation, client("vandal"), queue, url, dice=fork("vandal"), until=until),
            FaultAdder(simulation, targets, dice=fork("exchange faults"), until=until, name="exchange saboteur"),
        )
        for user in users:
            simulation.add(user, at=simulation.now + SECOND_MS)


def _witness(simulation: Simulation) -> Handler:
    """A function for the events of a rule. It may run again for the same event, under the same request id."""
    return lambda run: simulation.observe(arrival(run.event, run.request_id, EXCHANGE))


def _line_handler(simulation: Simulation) -> Handle:
    """The handler for a consumer of a FIFO queue that is a target."""

    def handle(message: Document) -> None:
        told = load_json(message["Body"])
        simulation.observe(arrival(told, message["MessageId"], EXCHANGE))
        simulation.observe(Lined(told["event"]["id"], int(message["Attributes"]["SequenceNumber"])))

    return handle


def _bell_handler(simulation: Simulation) -> Handle:
    """The handler for a consumer of what rules on schedules send."""

    return lambda message: simulation.observe(_rang(message["Body"]))


def _rang(body: str) -> Rang:
    told = load_json(body)
    return Rang(told["rule"], parse_instant(told["event"]["time"]), told["event"]["id"])
