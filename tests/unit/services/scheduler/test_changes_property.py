"""Whatever is done to a schedule, and whenever: each instant at which it was due is promised once, or missed.

The reference is a few lines of arithmetic: which instants an expression names, and during which spans of time it was in
force and enabled. It knows no windows, no timers and no worker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Instant, parse_instant
from redrive.core.uuid7 import time_of_uuid7

START = parse_instant("2025-01-01T00:00:00Z")
NEVER: Instant = START + 1_000 * HOUR_MS
ARN = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/nightly"
ZONES = {"UTC": 0, "Etc/UTC": 0, "Asia/Tokyo": 9 * HOUR_MS}
WINDOWS: dict[int, dict[str, Any]] = {
    0: {"Mode": "OFF"},
    3: {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 3},
}


@dataclass
class Life:
    """From one creation of a schedule to its deletion: when it was due, what was promised, what was missed."""

    must: set[Instant] = field(default_factory=set)
    may: set[Instant] = field(default_factory=set)
    promised: list[Instant] = field(default_factory=list)
    missed: list[tuple[Instant, Instant]] = field(default_factory=list)
    chosen: dict[str, Any] = field(default_factory=dict)
    anchor: Instant = 0
    since: Instant = 0

    def change(self, chosen: dict[str, Any], now: Instant) -> None:
        """End what was in force, and begin what is from now on."""
        self.end(now)
        is_anew = any(chosen.get(name) != self.chosen.get(name) for name in ("ScheduleExpression", "StartDate"))
        if is_anew or (chosen["State"] == "ENABLED" and self.chosen["State"] == "DISABLED"):
            self.anchor = now
        self.chosen, self.since = chosen, now
        if chosen["State"] == "ENABLED":
            named = self._named(now)
            if chosen["ScheduleExpression"].startswith("rate") and self.anchor == now:
                self.must |= named & {now}
            if chosen["ScheduleExpression"].startswith("at"):
                self.may |= {at for at in named if at >= now - now % MINUTE_MS}

    def end(self, now: Instant) -> None:
        """What came due until now, while it was enabled, was due."""
        if self.chosen and self.chosen["State"] == "ENABLED":
            self.must |= {at for at in self._named(now) if at > self.since}

    def _named(self, until: Instant) -> set[Instant]:
        """The instants that the expression names, until one inclusive."""
        kind, _, rest = self.chosen["ScheduleExpression"].rstrip(")").partition("(")
        start, end = self.chosen.get("StartDate"), self.chosen.get("EndDate", NEVER)
        if kind == "at":
            at = parse_instant(f"{rest}Z") - ZONES[self.chosen["ScheduleExpressionTimezone"]]
            return {at} if at <= until else set()
        first = self.anchor if start is None else start
        step = (2 if "2" in rest else 1) * MINUTE_MS
        if kind == "cron":
            first = START if start is None else start + (START - start) % step
        return {at for at in range(first, until + 1, step) if at < end}


class Story:
    """A schedule, what is done to it, and the lives that it had."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk
        self.lives: list[Life] = []
        self.execution_ids: list[str] = []
        self.is_there = False
        self._read: set[str] = set()

    @property
    def now(self) -> Instant:
        return int(self.desk.world.now)

    def work(self, span: int) -> None:
        """Let time pass, and the workers work."""
        self.desk.world.advance(seconds=span / SECOND_MS)

    def outage(self, span: int) -> None:
        """Let time pass while nobody works."""
        self.desk.world.clock.move_to(self.now + span)

    def put(self, chosen: dict[str, Any]) -> None:
        """Make the schedule, or replace all its settings. Members that are numbers of minutes count from now."""
        dates: dict[str, Any] = {
            name: self.now + chosen[name] * MINUTE_MS for name in ("StartDate", "EndDate") if name in chosen
        }
        self._send({**chosen, **dates})

    def change(self, members: dict[str, Any]) -> None:
        """Change some members and send the others again, but for dates that are too old for that."""
        if self.is_there:
            kept = {**self.lives[-1].chosen, **members}
            if kept.get("StartDate", self.now) < self.now - 5 * MINUTE_MS:
                del kept["StartDate"]
            if kept.get("EndDate", NEVER) <= max(self.now, kept.get("StartDate", 0)):
                del kept["EndDate"]
            self._send(kept)

    def delete(self) -> None:
        """Delete the schedule, if it is there."""
        if self.is_there:
            self.desk.world.call("scheduler", "DeleteSchedule", Name="nightly")
            self.lives[-1].end(self.now)
            self.is_there = False

    def end(self) -> None:
        """Bring it to an end, and read what was promised and what is written down as missed."""
        self.delete()
        self.work(HOUR_MS)
        for body in self.desk.bodies():
            life, _, execution_id = body.partition(" ")
            self.execution_ids.append(execution_id)
            self.lives[int(life)].promised.append(time_of_uuid7(execution_id) or 0)

    def read_missed(self) -> None:
        """Count what is newly written down to the latest life."""
        for run, _ in self.desk.world.store.run(lambda tx: tx.attempts.unattempted(ARN)):
            if run.delivery_id not in self._read:
                self._read.add(run.delivery_id)
                self.lives[-1].missed.append((run.first_at, run.left_out_until or 0))

    def _send(self, chosen: dict[str, Any]) -> None:
        if not self.is_there:
            self.lives.append(Life())
        text = f"{len(self.lives) - 1} <aws.scheduler.execution-id>"
        params = self.desk.params(**chosen, Target=self.desk.target(Input=text))
        self.desk.world.call("scheduler", "UpdateSchedule" if self.is_there else "CreateSchedule", **params)
        self.lives[-1].change(chosen, self.now)
        self.is_there = True


expressions = st.sampled_from(
    ["rate(1 minute)", "rate(2 minutes)", "cron(* * * * ? *)", "cron(0/2 * * * ? *)"]
    + [f"at(2025-01-01T00:{time})" for time in ("02:00", "03:30", "05:00")]
)
states, zones = st.sampled_from(["ENABLED", "ENABLED", "DISABLED"]), st.sampled_from(list(ZONES))
windows = st.sampled_from([WINDOWS[0], WINDOWS[0], WINDOWS[3]])
all_members = st.fixed_dictionaries(
    {
        "ScheduleExpression": expressions, "ScheduleExpressionTimezone": zones, "State": states,
        "FlexibleTimeWindow": windows,
    },
    optional={"StartDate": st.sampled_from([-1, 1]), "EndDate": st.sampled_from([2, 4])},
)  # fmt: skip
some_members = st.fixed_dictionaries(
    {},
    optional={
        "ScheduleExpressionTimezone": zones, "State": states, "FlexibleTimeWindow": windows,
        "EndDate": st.just(START + 20 * MINUTE_MS), "Description": st.just("described"),
    },
)  # fmt: skip
spans = st.sampled_from([20 * SECOND_MS, MINUTE_MS, 150 * SECOND_MS, MINUTE_MS - 1, 0, 1, 3])
waits = st.tuples(st.sampled_from(["work", "work", "outage"]), spans)
deeds = st.one_of(
    st.tuples(st.just("put"), all_members), st.tuples(st.just("change"), some_members), st.just(("delete",))
)
rounds = st.lists(st.tuples(waits, deeds), min_size=3, max_size=8)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=all_members, rounds=rounds)
def test_each_instant_at_which_a_schedule_was_due_is_promised_once_or_missed(
    first: dict[str, Any], rounds: list[tuple[Any, Any]], new_desk: Any
) -> None:
    story = Story(new_desk())

    for name, *given_to_it in [("put", first), *chain(*rounds), ("end",)]:
        getattr(story, name)(*given_to_it)
        story.read_missed()

    assert len(set(story.execution_ids)) == len(story.execution_ids)
    for life in story.lives:
        promised, missed = set(life.promised), life.missed
        assert promised <= life.must | life.may
        assert not {at for at in promised if any(start <= at <= last for start, last in missed)}
        neither = {at for at in life.must - promised if not any(start <= at < last + 1_000 for start, last in missed)}
        assert not neither
