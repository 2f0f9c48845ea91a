"""What became of first letters, asked at the end of their watch: of the ledger, and of the metrics of their functions.

That a letter has come back to its queue tells the run by itself. Two things tell earlier:

    the ledger     the execution of a first letter has failed, and that was not recorded before the letter was sent
    the metrics    since the first letters were sent, half of the invocations of the function or more have failed

A function that others use has errors of its own, so single errors stop nothing. What may not be asked says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.deadletters.destinations import Destination
from redrive.deadletters.findings import Finding
from redrive.deadletters.letter import Letter
from redrive.deadletters.memories import FAILED, Memory
from redrive.deadletters.sources import Client
from redrive.deadletters.targets import Targets, addressee_of

FAILING = 0.5
"""The part of a function's invocations that have failed, from which on nothing more is sent."""


class FirstLetters:
    """Asks what became of letters. `memory` is the ledger, if one is named."""

    def __init__(self, client: Client, now: Callable[[], Instant], memory: Memory | None = None) -> None:
        self._client = client
        self._now = now
        self._memory = memory
        self._targets = Targets(client, now)
        self._before: dict[str, Sequence[Finding]] = {}

    def begin(self, letter: Letter) -> None:
        """Remember what the ledger says of a first letter before it is sent."""
        if self._memory is not None:
            with suppress(ClientError, BotoCoreError):
                (self._before[letter.message_id],) = self._memory.findings([letter])

    def bad_news(self, letters: Sequence[tuple[Letter, Destination]], since: Instant) -> str:
        """Why no more letters should follow the first ones, sent at an instant; empty if nothing speaks against it."""
        try:
            return self._by_ledger([letter for letter, _ in letters]) or self._by_metrics(letters, since)
        except (ClientError, BotoCoreError):
            return ""

    def _by_ledger(self, letters: Sequence[Letter]) -> str:
        if self._memory is None:
            return ""
        for letter, findings in zip(letters, self._memory.findings(letters), strict=True):
            known = self._before.get(letter.message_id, ())
            if any(one.reason == FAILED and one not in known for one in findings):
                return f"the ledger says that {letter.message_id}, a first letter of its group, has failed again"
        return ""

    def _by_metrics(self, letters: Sequence[tuple[Letter, Destination]], since: Instant) -> str:
        targets = {addressee_of(to, letter) for letter, to in letters}
        for name in sorted({one.name for target in targets for one in self._targets.state(target).functions}):
            errors, invocations = (self._sum(name, metric, since) for metric in ("Errors", "Invocations"))
            if errors and errors >= FAILING * invocations:
                return f"{errors:.0f} of {invocations:.0f} invocations of {name} have failed since the first letters"
        return ""

    def _sum(self, function: str, metric: str, since: Instant) -> float:
        """The sum of a metric over the whole minutes from an instant on."""
        begin = since // MINUTE_MS * MINUTE_MS
        told = self._client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Lambda", MetricName=metric, Dimensions=[{"Name": "FunctionName", "Value": function}],
            StartTime=_date(begin), EndTime=_date(self._now() + MINUTE_MS), Period=60, Statistics=["Sum"],
        )  # fmt: skip
        return float(sum(point["Sum"] for point in told["Datapoints"]))


def _date(at: Instant) -> datetime:
    return datetime.fromtimestamp(at / SECOND_MS, UTC)
