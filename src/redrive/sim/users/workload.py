"""What users create before the weather turns bad: queues, functions, mappings, schedules, and their users."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import Entropy
from redrive.core.scope import Caller
from redrive.sim.checkers.buses import RuleRetries, RulesAndReplays
from redrive.sim.checkers.executions import Ends, Executions, Metrics, RetriedSchedule
from redrive.sim.checkers.final_state import ALARMS, history_and_metrics, occurrence, rule_histories
from redrive.sim.checkers.groups import GroupsInOrder
from redrive.sim.checkers.happenings import RuleSet
from redrive.sim.checkers.rules import (
    Conservation,
    DeadLetters,
    Drained,
    EffectsOnce,
    NothingInvented,
    Receives,
    Retries,
    Settlements,
    Slots,
)
from redrive.sim.checkers.schedules import Planned, ScheduledInstants
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import SCOPE
from redrive.sim.users.acts import (
    Consumer,
    Handle,
    Producer,
    Redriver,
    alarm_handler,
    batch_handler,
    drain,
    event,
    event_handler,
    message_handler,
    occurrence_handler,
    reached_handler,
)
from redrive.sim.users.editors import PERMANENT, THROTTLED, Editor, FaultAdder
from redrive.sim.users.functions import Handler
from redrive.sim.users.publishers import (
    ARCHIVE,
    ARCHIVED,
    BUS,
    PATTERNS,
    Publisher,
    Replayer,
    RuleEditor,
    arrival_handler,
)
from redrive.sim.world import Simulation

LAMBDA_LETTER = ("RequestID", "ErrorCode", "ErrorMessage")
SCHEDULER_LETTER = (
    "ERROR_CODE", "ERROR_MESSAGE", "EXECUTION_ID", "IS_PAYLOAD_TRUNCATED", "RETRY_ATTEMPTS", "SCHEDULED_TIME",
    "SCHEDULE_ARN", "TARGET_ARN",
)  # fmt: skip

EXPRESSIONS = (
    ("rate(7 minutes)", "UTC"), ("rate(1 hour)", "UTC"), ("cron(0/10 * * * ? *)", "UTC"),
    ("cron(30 * * * ? *)", "Europe/Berlin"), ("cron(15 1-3 * * ? *)", "Europe/London"),
    ("cron(5 0/2 ? * SAT,SUN *)", "America/New_York"), ("cron(45 9 * * ? *)", "Asia/Kolkata"),
)  # fmt: skip

ALARM_EXPRESSIONS = (
    "rate(2 minutes)", "rate(25 minutes)", "cron(0/5 * * * ? *)", "cron(7/20 * * * ? *)", "at(2025-03-29T13:17:00)",
)  # fmt: skip
ALARM_FUNCTION = "siren"
WAITING = "arn:aws:scheduler:::aws-sdk:lambda:invoke"
"""The target of schedules that wait for a function's answer."""
RETRIES_DRAWN = (0, 1, 2, 5, 185)
AGES_S_DRAWN = (60, 300, 3_600)

HITS = "hits"
"""The queue that is the target of all rules."""
HIT = '{"rule": <aws.events.rule-name>, "event": <aws.events.event.json>}'
"""What a rule sends."""
RULES_MAX = 5
BUS_SHARE = 0.5
RULE_LETTER = ("ERROR_CODE", "ERROR_MESSAGE", "RETRY_ATTEMPTS", "RULE_ARN", "TARGET_ARN")
_ANYBODY = {"Principal": "*", "Action": "sqs:*", "Resource": "*"}

ROLE = "everything"
CLOSING_MS = 10 * MINUTE_MS
"""How long consumers stay after the last work is submitted."""
TIMEOUT_S = 10
VISIBILITY_S = 60
SETTLING_MS = 24 * HOUR_MS
"""How long all work may take to end after the weather."""


class Workload:
    """The whole workload, drawn from one source of randomness. Each part also works alone, for tests of one hazard."""

    def __init__(self, simulation: Simulation, entropy: Entropy, *, until: Instant) -> None:
        """`until`: the instant at which users stop to submit work."""
        self.simulation = simulation
        self.dice = Dice(entropy)
        self._entropy = entropy
        self._until = until
        self._queues: dict[str, str] = {}
        self._planned: list[Planned] = []
        self.schedules_made: list[Document] = []
        self._alarms: dict[str, RetriedSchedule] = {}
        self._retries_max: dict[str, int] = {}
        self._age_ms_max: dict[str, int] = {}
        self._letters: dict[str, tuple[str, ...]] = {}
        self._sources: dict[str, str] = {}
        self._drained: list[str] = []
        self._rules: dict[str, int] = {}
        self._role_arn = self._create_role()
        apart_ms = simulation.weather.disagreement_ms
        simulation.watch(
            Slots(inside_max=simulation.knobs.deliveries_per_claim), Settlements(),
            Receives(disagreement_ms=apart_ms), EffectsOnce(),
            GroupsInOrder(disagreement_ms=apart_ms), NothingInvented(), Conservation(), Drained(self._drained),
            Retries(retries_max=self._retries_max, age_ms_max=self._age_ms_max, disagreement_ms=apart_ms),
            DeadLetters(self._letters, self._sources), ScheduledInstants(self._planned),
            Executions(self._alarms, PERMANENT), Ends(self._alarms, skew_ms=simulation.weather.skew_ms),
            Metrics(ALARMS, throttled=THROTTLED, permanent=PERMANENT),
            RulesAndReplays(HITS, f"{HITS}-letters"), RuleRetries(self._rules, f"{HITS}-letters", PERMANENT),
        )  # fmt: skip

    def establish(self) -> None:
        """Create a random selection of the parts."""
        parts = (self.mail, self.ledger, self.orders, self.events, self.schedules, self.payroll, self.alarms)
        chosen = [part for part in parts if self.dice.chance(0.75)] or [self.orders]
        for part in chosen:
            part()
        # Drawn from a fork, so that seeds without a bus have the history that they had before there was one.
        if Dice(self._entropy.fork("with a bus")).chance(BUS_SHARE):
            self.bus(Dice(self._entropy.fork("bus")))
        if self.schedules_made:
            simulation, dice = self.simulation, Dice(self._entropy.fork("editor"))
            editor = Editor(simulation, simulation.client("editor"), self.schedules_made, dice=dice, until=self._until)
            simulation.add(editor, at=simulation.now + MINUTE_MS)

    def finish(self) -> None:
        """End the weather, let the fleet finish, then let the checkers judge. Errors: SimulationFailed."""
        simulation = self.simulation
        simulation.heal()
        simulation.run_until_quiet(within_ms=SETTLING_MS)
        simulation.run_until(simulation.awake_at + HOUR_MS)
        left = [message for url in self._queues.values() for message in drain(simulation, url)]
        seen = [happening for message in left if (happening := occurrence(message, simulation.now)) is not None]
        told = [*history_and_metrics(simulation, list(self._alarms)), *rule_histories(simulation, list(self._rules))]
        simulation.finish(left, [*seen, *told])

    def mail(self) -> None:
        """Producers, a queue with a dead-letter queue, consumers that are sometimes too slow."""
        url = self.queue("mail", receives_max=self.dice.between(2, 4))
        self._drained.append("mail")
        for number in range(1, self.dice.between(1, 2) + 1):
            self.producer(f"mail-{number}", self._sender(f"mail-{number}", url), poison_share=0.05)
            self.consumer(f"reader-{number}", url, message_handler(self.simulation))

    def ledger(self) -> None:
        """A producer, a FIFO queue with several groups, parallel consumers."""
        url = self.queue("ledger.fifo", is_fifo=True)
        self._drained.append("ledger.fifo")
        self.producer("ledger", self._sender_in_order("ledger", url), poison_share=0.0)
        for number in range(1, self.dice.between(1, 3) + 1):
            self.consumer(f"bookkeeper-{number}", url, message_handler(self.simulation))

    def orders(self) -> None:
        """Producers, a queue, a mapping to a function with a conditional effect, and a redrive of its dead letters."""
        simulation, dice = self.simulation, self.dice
        url = self.queue("orders", receives_max=dice.between(2, 4))
        self.table("effects")
        reports = dice.chance(0.5)
        client = simulation.client("charge")
        self.function("charge", batch_handler(simulation, client, "effects", reports_failures=reports))
        self._drained.append("orders")
        self.mapping("orders", "charge", batch_size=dice.between(1, 10), reports_failures=reports)
        self.producer("orders", self._sender("orders", url), poison_share=0.1)
        if dice.chance(0.5):
            redriver = Redriver(
                simulation, "redriver", simulation.client("redriver"), from_url=self._queues["orders-dlq"],
                to_url=url, gap_ms=20 * MINUTE_MS, until=self._until,
            )  # fmt: skip
            simulation.add(redriver, at=simulation.now + HOUR_MS)

    def events(self) -> None:
        """Asynchronous events to a function with a dead-letter queue."""
        simulation, dice = self.simulation, self.dice
        self.queue("notify-dlq")
        self._letters["notify-dlq"] = LAMBDA_LETTER
        self.function("notify", event_handler(simulation), dead_letters="notify-dlq")
        retries, age_s = dice.between(0, 2), 60 * dice.between(10, 300)
        self._retries_max["notify"], self._age_ms_max["notify"] = retries, age_s * SECOND_MS
        simulation.reliable.call(
            "lambda", "PutFunctionEventInvokeConfig", FunctionName="notify", MaximumRetryAttempts=retries,
            MaximumEventAgeInSeconds=age_s,
        )  # fmt: skip
        client = simulation.client("notifier")

        def invoke(key: str) -> None:
            client.call("lambda", "Invoke", FunctionName="notify", InvocationType="Event", Payload=event(key).encode())

        self.producer("notify", invoke, poison_share=0.1)

    def schedules(self) -> None:
        """Schedules of all kinds that send to a queue, and one whose target does not exist."""
        url = self.queue("ticks")
        self.queue("ticks-dlq")
        self._letters["ticks-dlq"] = SCHEDULER_LETTER
        for number, (expression, zone) in enumerate(EXPRESSIONS):
            if self.dice.chance(0.6):
                self.schedule(f"tick-{number}", expression, zone, target="ticks")
        self.schedule("doomed", "rate(50 minutes)", "UTC", target="nowhere")
        self.consumer("clerk", url, occurrence_handler(self.simulation))

    def alarms(self) -> None:
        """Schedules with retry policies, to a queue, to a function, or waiting for it; some without dead letters."""
        simulation, dice = self.simulation, self.dice
        simulation.reliable.call("scheduler", "CreateScheduleGroup", Name=ALARMS)
        url = self.queue(ALARMS)
        self.queue(f"{ALARMS}-dlq")
        self._letters[f"{ALARMS}-dlq"] = SCHEDULER_LETTER
        self.queue("siren-dlq")
        self._letters["siren-dlq"] = LAMBDA_LETTER
        self.function(ALARM_FUNCTION, alarm_handler(simulation), dead_letters="siren-dlq")
        targets = [_arn("sqs", ALARMS), _arn("lambda", f"function:{ALARM_FUNCTION}"), WAITING]
        for number, expression in enumerate(ALARM_EXPRESSIONS):
            letters = (f"{ALARMS}-dlq", f"{ALARMS}-dlq", "nowhere", None)[dice.between(0, 3)]
            self.alarm(
                f"alarm-{number}", expression, targets[dice.between(0, 2)], letters=letters,
                retries_max=RETRIES_DRAWN[dice.between(0, 4)], age_s_max=AGES_S_DRAWN[dice.between(0, 2)],
            )  # fmt: skip
        self.consumer("watchman", url, reached_handler(simulation))
        adder = FaultAdder(simulation, targets, dice=Dice(self._entropy.fork("saboteur")), until=self._until)
        simulation.add(adder, at=simulation.now)

    def payroll(self) -> None:
        """A producer, a FIFO queue with several groups, and a mapping to a function that stops at its first failure."""
        simulation, dice = self.simulation, self.dice
        url = self.queue("payroll.fifo", is_fifo=True)
        self.table("payslips")
        reports = dice.chance(0.5)
        client = simulation.client("pay")
        self.function("pay", batch_handler(simulation, client, "payslips", reports_failures=reports, in_order=True))
        self._drained.append("payroll.fifo")
        self.mapping("payroll.fifo", "pay", batch_size=dice.between(1, 10), reports_failures=reports)
        self.producer("payroll", self._sender_in_order("payroll", url), poison_share=0.0)

    def bus(self, dice: Dice) -> None:
        """An event bus with an archive, rules that are changed, a publisher, replays, and a queue as target of all."""
        simulation = self.simulation
        call = simulation.reliable.call
        url, letters = self.queue(HITS), f"{HITS}-letters"
        self.queue(letters)
        self._letters[letters] = RULE_LETTER
        call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": _policy(_ANYBODY)})
        call("sqs", "SetQueueAttributes", QueueUrl=self._queues[letters], Attributes={"Policy": _policy(_ANYBODY)})
        bus_arn = call("events", "CreateEventBus", Name=BUS)["EventBusArn"]
        call("events", "CreateArchive", ArchiveName=ARCHIVE, EventSourceArn=bus_arn)
        edited = [f"rule-{number}" for number in range(dice.between(1, RULES_MAX))]
        self._rule(ARCHIVED, {"source": [{"prefix": ""}]}, retries_max=dice.between(0, 5))
        for name in edited:
            self._rule(name, PATTERNS[dice.between(0, len(PATTERNS) - 1)], retries_max=dice.between(0, 5))
        self.consumer("listener", url, arrival_handler(simulation))

        def fork(name: str) -> Dice:
            return Dice(self._entropy.fork(name))

        users = (
            Publisher(simulation, simulation.client("publisher"), dice=fork("publisher"), until=self._until),
            RuleEditor(simulation, simulation.client("rule editor"), edited, dice=fork("rules"), until=self._until),
            Replayer(simulation, simulation.client("replayer"), dice=fork("replayer"), until=self._until),
            FaultAdder(
                simulation, [_arn("sqs", HITS)], dice=fork("bus faults"), until=self._until, name="bus saboteur"
            ),
        )  # fmt: skip
        for user in users:
            simulation.add(user, at=simulation.now + SECOND_MS)

    def _rule(self, name: str, pattern: Document, *, retries_max: int) -> None:
        call, text = self.simulation.reliable.call, dump_json(pattern)
        self._rules[name] = retries_max
        call("events", "PutRule", Name=name, EventBusName=BUS, EventPattern=text)
        target: Document = {
            "Id": HITS, "Arn": _arn("sqs", HITS), "RetryPolicy": {"MaximumRetryAttempts": retries_max},
            "DeadLetterConfig": {"Arn": _arn("sqs", f"{HITS}-letters")},
            "InputTransformer": {"InputPathsMap": {}, "InputTemplate": HIT},
        }  # fmt: skip
        call("events", "PutTargets", Rule=name, EventBusName=BUS, Targets=[target])
        self.simulation.observe(RuleSet(name, text))

    def queue(self, name: str, *, receives_max: int | None = None, is_fifo: bool = False) -> str:
        """Create a queue; with `receives_max`, also a dead-letter queue `NAME-dlq`. Returns its URL."""
        attributes = {"VisibilityTimeout": str(VISIBILITY_S)}
        if is_fifo:
            attributes["FifoQueue"] = "true"
        call = self.simulation.reliable.call
        if receives_max is not None:
            self._sources[f"{name}-dlq"] = name
            policy = {"deadLetterTargetArn": _arn("sqs", f"{name}-dlq"), "maxReceiveCount": receives_max}
            attributes["RedrivePolicy"] = dump_json(policy)
            dlq_url = call("sqs", "CreateQueue", QueueName=f"{name}-dlq")["QueueUrl"]
        url = str(call("sqs", "CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"])
        self._queues[name] = url
        in_order = {"MessageGroupId": "undone", "MessageDeduplicationId": "undone"} if is_fifo else {}
        self._undo("sqs", "SendMessage", QueueUrl=url, MessageBody=event("undone"), **in_order)
        if receives_max is not None:
            self._queues[f"{name}-dlq"] = dlq_url
        return url

    def url(self, queue: str) -> str:
        """The URL of a queue of the workload."""
        return self._queues[queue]

    def table(self, name: str) -> None:
        """Create a table whose items have a `key`."""
        self.simulation.reliable.call(
            "dynamodb", "CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        )  # fmt: skip

    def function(self, name: str, handler: Handler, *, dead_letters: str | None = None) -> None:
        """Create a function whose code is this handler."""
        letters = {"DeadLetterConfig": {"TargetArn": _arn("sqs", dead_letters)}} if dead_letters else {}
        self.simulation.functions.register(name, handler)
        self.simulation.reliable.call(
            "lambda", "CreateFunction", FunctionName=name, Role=self._role_arn, Runtime="python3.12",
            Handler="app.handler", Code={"ZipFile": _archive()}, Timeout=TIMEOUT_S, **letters,
        )  # fmt: skip
        # Lambda refuses to run a function that is still being created; a node's clock may be behind by the skew.
        whole_s = self.simulation.weather.skew_ms // SECOND_MS + 2
        self.simulation.run_until(self.simulation.now + whole_s * SECOND_MS)

    def mapping(self, queue: str, function: str, *, batch_size: int, reports_failures: bool) -> None:
        """Create a mapping that passes a queue's messages to a function."""
        made = self.simulation.reliable.call(
            "lambda", "CreateEventSourceMapping", FunctionName=function, EventSourceArn=_arn("sqs", queue),
            BatchSize=batch_size, FunctionResponseTypes=["ReportBatchItemFailures"] if reports_failures else [],
        )  # fmt: skip
        self._undo("lambda", "UpdateEventSourceMapping", UUID=made["UUID"], Enabled=False)

    def schedule(self, name: str, expression: str, zone: str, *, target: str) -> None:
        """Create a schedule that sends to the queue `target` until users stop. Its dead letters go to `ticks-dlq`."""
        scheduled_at = "<aws.scheduler.scheduled-time>"
        destination: Document = {
            "Arn": _arn("sqs", target), "RoleArn": self._role_arn,
            "Input": dump_json({"schedule": name, "scheduled_at": scheduled_at}),
            "DeadLetterConfig": {"Arn": _arn("sqs", "ticks-dlq")},
        }  # fmt: skip
        self._planned.append(self._schedule(name, expression, zone, destination))

    def alarm(
        self, name: str, expression: str, target_arn: str, *, letters: str | None, retries_max: int, age_s_max: int
    ) -> None:  # fmt: skip
        """Create a schedule with a retry policy in a separate group. Its input contains the attempt's number."""
        told = {
            "schedule": name,
            "scheduled_at": "<aws.scheduler.scheduled-time>",
            "attempt": "<aws.scheduler.attempt-number>",
        }
        waits = target_arn == WAITING
        sent = {"FunctionName": ALARM_FUNCTION, "Payload": dump_json(told)} if waits else told
        destination: Document = {
            "Arn": target_arn, "RoleArn": self._role_arn, "Input": dump_json(sent),
            "RetryPolicy": {"MaximumRetryAttempts": retries_max, "MaximumEventAgeInSeconds": age_s_max},
        }  # fmt: skip
        if letters is not None:
            destination["DeadLetterConfig"] = {"Arn": _arn("sqs", letters)}
        planned = self._schedule(name, expression, "UTC", destination, GroupName=ALARMS)
        self._alarms[name] = RetriedSchedule(planned, retries_max, age_s_max * SECOND_MS, waits)

    def _schedule(self, name: str, expression: str, zone: str, target: Document, **more: str) -> Planned:
        params: Document = {
            "Name": name, "ScheduleExpression": expression, "ScheduleExpressionTimezone": zone,
            "EndDate": self._until, "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target, **more,
        }  # fmt: skip
        self.simulation.reliable.call("scheduler", "CreateSchedule", **params)
        self.schedules_made.append(params)
        self._undo("scheduler", "UpdateSchedule", **{**params, "State": "DISABLED"})
        return Planned(name, expression, zone, self.simulation.now, self._until)

    def producer(self, name: str, hand_in: Callable[[str], object], *, poison_share: float) -> None:
        """Add a user who submits a piece of work every few minutes."""
        simulation = self.simulation
        producer = Producer(
            simulation, name, hand_in, dice=Dice(self._entropy.fork(name)),
            gap_ms=self.dice.between(MINUTE_MS, 6 * MINUTE_MS), poison_share=poison_share, until=self._until,
        )  # fmt: skip
        simulation.add(producer, at=simulation.now)

    def consumer(self, name: str, url: str, handle: Handle) -> None:
        """Add a user who receives, works and deletes."""
        simulation = self.simulation
        consumer = Consumer(
            simulation, name, simulation.client(name), url, handle, dice=Dice(self._entropy.fork(name)),
            visibility_s=VISIBILITY_S, until=self._until + CLOSING_MS,
        )  # fmt: skip
        simulation.add(consumer, at=simulation.now)

    def _sender(self, name: str, url: str) -> Callable[[str], object]:
        client = self.simulation.client(f"{name} sender")
        return lambda key: client.call("sqs", "SendMessage", QueueUrl=url, MessageBody=event(key))

    def _sender_in_order(self, name: str, url: str) -> Callable[[str], object]:
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

    def _undo(self, service: str, operation: str, **params: object) -> None:
        """Add requests that make this call and then fail."""
        caller = Caller(SCOPE, "undone")
        self.simulation.undo(lambda tx: tx.services.call(tx, caller, service, operation, params))

    def _create_role(self) -> str:
        """One role for everything, because permissions are not tested here."""
        call = self.simulation.reliable.call
        services = ["lambda.amazonaws.com", "scheduler.amazonaws.com"]
        trust = _policy({"Principal": {"Service": services}, "Action": "sts:AssumeRole"})
        role = call("iam", "CreateRole", RoleName=ROLE, AssumeRolePolicyDocument=trust)["Role"]
        everything = _policy({"Action": "*", "Resource": "*"})
        call("iam", "PutRolePolicy", RoleName=ROLE, PolicyName=ROLE, PolicyDocument=everything)
        return str(role["Arn"])


def _arn(service: str, name: str) -> str:
    return f"arn:aws:{service}:{SCOPE.region}:{SCOPE.account}:{name}"


def _policy(statement: Mapping[str, object]) -> str:
    return dump_json({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


def _archive() -> bytes:
    """A function's code archive. Nothing runs it, because handlers are registered."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr(zipfile.ZipInfo("app.py"), "")
    return archive.getvalue()
