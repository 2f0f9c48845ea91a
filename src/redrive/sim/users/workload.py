"""What users create before the weather turns bad: queues, functions, mappings, schedules, and their users."""

from __future__ import annotations

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document, dump_json
from redrive.core.entropy import Entropy
from redrive.sim.checkers.buses import BusTargets, RuleRetries, RulesAndReplays
from redrive.sim.checkers.executions import Ends, Executions, Metrics, RetriedSchedule
from redrive.sim.checkers.final_state import ALARMS, history_and_metrics, occurrence, rule_histories
from redrive.sim.checkers.groups import GroupsInOrder
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
from redrive.sim.users.acts import (
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
from redrive.sim.users.exchange import Exchange
from redrive.sim.users.machines import executions_read, open_machines
from redrive.sim.users.publishers import rule_arn
from redrive.sim.users.resources import Resources, arn_of
from redrive.sim.users.shop import HITS, HITS_LETTERS, open_shop
from redrive.sim.users.streams import Streams
from redrive.sim.users.uploads import open_uploads
from redrive.sim.users.watching import Watching
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

BUS_SHARE = 0.5
EXCHANGE_SHARE = 0.2
STREAMS_SHARE = 0.25
UPLOADS_SHARE = 0.25
MACHINES_SHARE = 0.25
WATCHING_SHARE = 0.15
SETTLING_MS = 24 * HOUR_MS
"""How long all work may take to end after the weather."""


class Workload(Resources):
    """The whole workload, drawn from one source of randomness. Each part also works alone, for tests of one hazard."""

    def __init__(self, simulation: Simulation, entropy: Entropy, *, until: Instant) -> None:
        """`until`: the instant at which users stop to submit work."""
        super().__init__(simulation, entropy, until=until)
        self._planned: list[Planned] = []
        self.schedules_made: list[Document] = []
        self._alarms: dict[str, RetriedSchedule] = {}
        self._retries_max: dict[str, int] = {}
        self._age_ms_max: dict[str, int] = {}
        self._rules: dict[str, int] = {}
        self._exchange: Exchange | None = None
        self._streams: Streams | None = None
        self._has_machines = False
        self._watching: Watching | None = None
        apart_ms = simulation.weather.disagreement_ms
        simulation.watch(
            Slots(inside_max=simulation.knobs.deliveries_per_claim), Settlements(),
            Receives(disagreement_ms=apart_ms), EffectsOnce(),
            GroupsInOrder(disagreement_ms=apart_ms), NothingInvented(), Conservation(), Drained(self.drained),
            Retries(retries_max=self._retries_max, age_ms_max=self._age_ms_max, disagreement_ms=apart_ms),
            DeadLetters(self.letters, self.sources), ScheduledInstants(self._planned),
            Executions(self._alarms, PERMANENT), Ends(self._alarms, skew_ms=simulation.weather.skew_ms),
            Metrics(ALARMS, throttled=THROTTLED, permanent=PERMANENT),
            RulesAndReplays(BusTargets(queues=[HITS], letters=HITS_LETTERS)),
            RuleRetries(self._rules, HITS_LETTERS, PERMANENT),
        )  # fmt: skip

    def establish(self) -> None:
        """Create a random selection of the parts."""
        parts = (self.mail, self.ledger, self.orders, self.events, self.schedules, self.payroll, self.alarms)
        chosen = [part for part in parts if self.dice.chance(0.75)] or [self.orders]
        for part in chosen:
            part()
        # Drawn from a fork, so that seeds without a bus have the history that they had before there was one.
        if self.fork("with a bus").chance(BUS_SHARE):
            open_shop(self, self._rules, self.fork("bus"))
        if self.fork("with an exchange").chance(EXCHANGE_SHARE):
            self.exchange()
        if self.fork("with streams").chance(STREAMS_SHARE):
            self.streams()
        if self.fork("with uploads").chance(UPLOADS_SHARE):
            self.uploads()
        if self.fork("with machines").chance(MACHINES_SHARE):
            self.machines()
        if self.fork("with watching").chance(WATCHING_SHARE):
            self.watching()
        if self.schedules_made:
            simulation, dice = self.simulation, self.fork("editor")
            editor = Editor(simulation, simulation.client("editor"), self.schedules_made, dice=dice, until=self.until)
            simulation.add(editor, at=simulation.now + MINUTE_MS)

    def finish(self) -> None:
        """End the weather, let the fleet finish, then let the checkers judge. Errors: SimulationFailed."""
        simulation = self.simulation
        simulation.heal()
        if self._exchange is not None:
            self._exchange.close()
        simulation.run_until_quiet(within_ms=SETTLING_MS)
        simulation.run_until(simulation.awake_at + HOUR_MS)
        left = [message for url in self.queues.values() for message in drain(simulation, url)]
        seen = [happening for message in left if (happening := occurrence(message, simulation.now)) is not None]
        exchanged = [] if self._exchange is None else list(self._exchange.told(left))
        alarms = history_and_metrics(simulation, list(self._alarms))
        told = [*exchanged, *alarms, *rule_histories(simulation, self._rule_arns())]
        streamed = [] if self._streams is None else list(self._streams.told())
        watched = [] if self._watching is None else list(self._watching.told())
        executed = executions_read(simulation) if self._has_machines else ()
        simulation.finish(left, [*seen, *told, *streamed, *watched, *executed])

    def _rule_arns(self) -> dict[str, str]:
        """The ARNs of all rules, by name."""
        arns = {name: rule_arn(name) for name in self._rules}
        return arns if self._exchange is None else {**arns, **self._exchange.rule_arns}

    def exchange(self) -> None:
        """A bus with targets of all kinds."""
        self._exchange = Exchange(self, self.fork("exchange"))
        self._exchange.open()

    def streams(self) -> None:
        """Streams of Kinesis and of a table, with functions that are mapped to them."""
        self._streams = Streams(self, self.fork("streams"))
        self._streams.open()

    def uploads(self) -> None:
        """A bucket that tells a queue and the default bus."""
        open_uploads(self, self.fork("uploads"))

    def machines(self) -> None:
        """A state machine with a function, messages, tokens and a Map."""
        self._has_machines = True
        open_machines(self, self.fork("machines"))

    def watching(self) -> None:
        """Alarms on metrics with gaps, and a topic that they tell."""
        self._watching = Watching(self, self.fork("watching"))
        self._watching.open()

    def mail(self) -> None:
        """Producers, a queue with a dead-letter queue, consumers that are sometimes too slow."""
        url = self.queue("mail", receives_max=self.dice.between(2, 4))
        self.drained.append("mail")
        for number in range(1, self.dice.between(1, 2) + 1):
            self.producer(f"mail-{number}", self.sender(f"mail-{number}", url), poison_share=0.05)
            self.consumer(f"reader-{number}", url, message_handler(self.simulation))

    def ledger(self) -> None:
        """A producer, a FIFO queue with several groups, parallel consumers."""
        url = self.queue("ledger.fifo", is_fifo=True)
        self.drained.append("ledger.fifo")
        self.producer("ledger", self.sender_in_order("ledger", url), poison_share=0.0)
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
        self.drained.append("orders")
        self.mapping("orders", "charge", batch_size=dice.between(1, 10), reports_failures=reports)
        self.producer("orders", self.sender("orders", url), poison_share=0.1)
        if dice.chance(0.5):
            redriver = Redriver(
                simulation, "redriver", simulation.client("redriver"), from_url=self.queues["orders-dlq"],
                to_url=url, gap_ms=20 * MINUTE_MS, until=self.until,
            )  # fmt: skip
            simulation.add(redriver, at=simulation.now + HOUR_MS)

    def events(self) -> None:
        """Asynchronous events to a function with a dead-letter queue."""
        simulation, dice = self.simulation, self.dice
        self.queue("notify-dlq")
        self.letters["notify-dlq"] = LAMBDA_LETTER
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
        self.letters["ticks-dlq"] = SCHEDULER_LETTER
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
        self.letters[f"{ALARMS}-dlq"] = SCHEDULER_LETTER
        self.queue("siren-dlq")
        self.letters["siren-dlq"] = LAMBDA_LETTER
        self.function(ALARM_FUNCTION, alarm_handler(simulation), dead_letters="siren-dlq")
        targets = [arn_of("sqs", ALARMS), arn_of("lambda", f"function:{ALARM_FUNCTION}"), WAITING]
        for number, expression in enumerate(ALARM_EXPRESSIONS):
            letters = (f"{ALARMS}-dlq", f"{ALARMS}-dlq", "nowhere", None)[dice.between(0, 3)]
            self.alarm(
                f"alarm-{number}", expression, targets[dice.between(0, 2)], letters=letters,
                retries_max=RETRIES_DRAWN[dice.between(0, 4)], age_s_max=AGES_S_DRAWN[dice.between(0, 2)],
            )  # fmt: skip
        self.consumer("watchman", url, reached_handler(simulation))
        adder = FaultAdder(simulation, targets, dice=self.fork("saboteur"), until=self.until)
        simulation.add(adder, at=simulation.now)

    def payroll(self) -> None:
        """A producer, a FIFO queue with several groups, and a mapping to a function that stops at its first failure."""
        simulation, dice = self.simulation, self.dice
        url = self.queue("payroll.fifo", is_fifo=True)
        self.table("payslips")
        reports = dice.chance(0.5)
        client = simulation.client("pay")
        self.function("pay", batch_handler(simulation, client, "payslips", reports_failures=reports, in_order=True))
        self.drained.append("payroll.fifo")
        self.mapping("payroll.fifo", "pay", batch_size=dice.between(1, 10), reports_failures=reports)
        self.producer("payroll", self.sender_in_order("payroll", url), poison_share=0.0)

    def schedule(self, name: str, expression: str, zone: str, *, target: str) -> None:
        """Create a schedule that sends to the queue `target` until users stop. Its dead letters go to `ticks-dlq`."""
        scheduled_at = "<aws.scheduler.scheduled-time>"
        destination: Document = {
            "Arn": arn_of("sqs", target), "RoleArn": self.role_arn,
            "Input": dump_json({"schedule": name, "scheduled_at": scheduled_at}),
            "DeadLetterConfig": {"Arn": arn_of("sqs", "ticks-dlq")},
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
            "Arn": target_arn, "RoleArn": self.role_arn, "Input": dump_json(sent),
            "RetryPolicy": {"MaximumRetryAttempts": retries_max, "MaximumEventAgeInSeconds": age_s_max},
        }  # fmt: skip
        if letters is not None:
            destination["DeadLetterConfig"] = {"Arn": arn_of("sqs", letters)}
        planned = self._schedule(name, expression, "UTC", destination, GroupName=ALARMS)
        self._alarms[name] = RetriedSchedule(planned, retries_max, age_s_max * SECOND_MS, waits)

    def _schedule(self, name: str, expression: str, zone: str, target: Document, **more: str) -> Planned:
        params: Document = {
            "Name": name, "ScheduleExpression": expression, "ScheduleExpressionTimezone": zone,
            "EndDate": self.until, "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": target, **more,
        }  # fmt: skip
        self.simulation.reliable.call("scheduler", "CreateSchedule", **params)
        self.schedules_made.append(params)
        self.undo("scheduler", "UpdateSchedule", **{**params, "State": "DISABLED"})
        return Planned(name, expression, zone, self.simulation.now, self.until)
