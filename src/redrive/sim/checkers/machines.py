"""Checks executions of a state machine by their histories, by the messages that they have sent, and by tokens.

The machine is that of `users/machines.py`: a function with Retry and Catch, a message, a token, a Map of messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redrive.core.documents import load_json
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import ExecutionRead, Happening, LeftMessage, MachineSent, TokenReturned

TRIES_MAX = 4
"""Retry allows three retries after the first try."""
ITEMS = 3


class MachinesExact:
    """Each transition of a standard execution is made once, whatever the weather."""

    rule = "a transition of a standard execution happens once"
    retry_rule = "Retry tries as often as it says"
    catch_rule = "Catch follows a failure, and nothing else"
    token_rule = "a token that was taken ends its task"
    end_rule = "every execution ends"

    def __init__(self, queue: str) -> None:
        """`queue`: where the machine's messages go."""
        self._queue = queue
        self._sent: dict[str, Counter[str]] = {}
        self._messages: set[str] = set()
        self._returned: set[str] = set()
        self._read: list[ExecutionRead] = []

    def observe(self, happening: Happening) -> None:
        match happening:
            case MachineSent(name, step, message_id):
                self._take(name, step, message_id)
            case TokenReturned(name):
                self._returned.add(name)
            case ExecutionRead():
                self._read.append(happening)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for message in left:
            if message.queue == self._queue:
                body = load_json(message.body)
                self._take(body["name"], body["step"], message.message_id)
        for read in self._read:
            self._judge(read)

    def _take(self, name: str, step: str, message_id: str) -> None:
        if message_id not in self._messages:  # A message may be received several times.
            self._messages.add(message_id)
            self._sent.setdefault(name, Counter())[step] += 1

    def _judge(self, read: ExecutionRead) -> None:
        if read.status == "RUNNING":
            raise RuleBroken(self.end_rule, f"{read.name} still runs")
        kinds = [kind for kind, _ in read.events]
        entered = Counter(name for kind, name in read.events if kind.endswith("StateEntered"))
        if any(count > (ITEMS if name == "Each" else 1) for name, count in entered.items()):
            raise RuleBroken(self.rule, f"{read.name} has entered its states {dict(entered)}")
        sent = self._sent.get(read.name, Counter())
        told = Counter(name for kind, name in read.events if kind == "TaskSucceeded" and name in ("Send", "Each"))
        if sent != told:
            raise RuleBroken(self.rule, f"{read.name} has sent {dict(sent)}, and its history tells of {dict(told)}")
        self._judge_errors(read, kinds, entered)

    def _judge_errors(self, read: ExecutionRead, kinds: Sequence[str], entered: Counter[str]) -> None:
        tries, failures = kinds.count("LambdaFunctionScheduled"), kinds.count("LambdaFunctionFailed")
        succeeded = kinds.count("LambdaFunctionSucceeded")
        if tries > TRIES_MAX or (not succeeded and tries != TRIES_MAX) or tries != failures + succeeded:
            raise RuleBroken(self.retry_rule, f"{read.name} tried {tries} times, {failures} failed")
        if bool(entered["Caught"]) == bool(succeeded):
            raise RuleBroken(
                self.catch_rule, f"{read.name} was caught {entered['Caught']} times, {succeeded} successes"
            )
        if read.name in self._returned and "TaskTimedOut" in kinds:
            raise RuleBroken(self.token_rule, f"the token of {read.name} was taken, and its task has timed out")
