"""A stage for a recovery in stages: a function fails some times for each message, and its letters come back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from redrive.deadletters.account import Account
from redrive.deadletters.causes import cause_of
from redrive.deadletters.destinations import Destination, To
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.plan import Action, Canary, Plan, Rule, plan_document, read_plan
from redrive.deadletters.recovery import STAGES_S, Steps, recover
from redrive.deadletters.sorting import Wishes
from redrive.testing.world import World
from tests.unit.deadletters.killing import ACCOUNT, HIDDEN_S, Killed, Life, Parts, Stage, make_worker, moved, received

FAILURES = {"once": 1, "twice": 2, "thrice": 3, "always": 99, "fine": 0}
"""How often the function fails for a message after it was a dead letter."""

RETENTION_S = 14 * 86_400


@dataclass
class Recovering:
    """A recovery that may die; what survives is the stage, and the plans on disk."""

    stage: Stage
    attempts: Counter[str]
    succeeded: Counter[str]
    plans: dict[int, str] = field(default_factory=dict)

    def again(self) -> Recovering:
        """As it was in the beginning."""
        self.stage.again()
        for kept in (self.attempts, self.succeeded, self.plans):
            kept.clear()
        return self

    def go(self, parts: Parts, life: Life) -> list[Account] | None:
        """One process: the accounts of its stages, or None if it died."""
        accounts: list[Account] = []

        def run(plan: Plan, number: int) -> Account:
            self.stage.plan = plan
            account = self.stage.run(parts, life, Wishes(stage=number))
            if account is None:
                raise Killed
            accounts.append(account)
            return account

        wait = self.stage.world.advance
        steps = Steps(plan=lambda: self.stage.plan, run=run, wait=lambda seconds: wait(seconds=seconds))
        try:
            recover(_Disk(self.plans, life), steps)
        except Killed:
            return None
        return accounts

    def faults(self, accounts: Sequence[Account]) -> list[str]:
        """The promises that are broken when the recovery has come to its end."""
        self.stage.world.advance(seconds=HIDDEN_S + 60)
        doubtful = [one for account in accounts for one in account.doubtful]
        left = Counter(str(one["Body"]) for one in received(self.stage.world, self.stage.queue))
        found = [f"{name} was done {count} times" for name, count in self.succeeded.items() if count > 1]
        found += [f"{name} is there {count} times" for name, count in left.items() if count > 1 and not doubtful]
        for name, failures in FAILURES.items():
            # A letter whose answer was lost is not known when it comes back: it has one try more.
            if self.attempts[name] > min(failures + 1, len(STAGES_S) + bool(doubtful)):
                found.append(f"{name} was tried {self.attempts[name]} times")
            is_done = self.succeeded[name] == 1
            if not is_done and name not in left:
                found.append(f"{name} is lost")
            if is_done and name in left and not doubtful:
                found.append(f"{name} is done, stays, and is not told")
            if not is_done and failures < len(STAGES_S) and not doubtful:
                found.append(f"{name} was not recovered")
        return found


class _Disk:
    """The plans of the stages: a process may die before and after one is kept."""

    def __init__(self, plans: dict[int, str], life: Life) -> None:
        self._plans = plans
        self._life = life

    def get(self, number: int) -> Plan | None:
        return read_plan(self._plans[number]) if number in self._plans else None

    def put(self, number: int, plan: Plan) -> None:
        self._life.place()
        self._plans[number] = json.dumps(plan_document(plan))
        self._life.place()

    def has_ended(self, number: int) -> bool:
        return -number in self._plans

    def end(self, number: int) -> None:
        self._life.place()
        self._plans[-number] = "ended"
        self._life.place()


@contextmanager
def recovery_stage() -> Iterator[Recovering]:
    """Letters of a queue whose function fails for each message as often as FAILURES says."""
    world = World(seed=1)
    attempts, succeeded = Counter[str](), Counter[str]()
    dead, orders = moved(world, list(FAILURES), fifo=False, keeps_policy=True)

    def work(event: dict[str, list[dict[str, str]]]) -> None:
        (name,) = (one["body"] for one in event["Records"])
        attempts[name] += 1
        if attempts[name] <= FAILURES[name]:
            raise TimeoutError(name)
        succeeded[name] += 1

    make_worker(world, work)
    sqs = world.client("sqs")
    sqs.set_queue_attributes(QueueUrl=orders, Attributes={"VisibilityTimeout": "20"})
    for url in (dead, orders):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"MessageRetentionPeriod": str(RETENTION_S)})
    source = f"arn:aws:sqs:{ACCOUNT}:orders"
    world.client("lambda").create_event_source_mapping(EventSourceArn=source, FunctionName="worker", BatchSize=1)
    letters = {str(one["MessageId"]): str(one["Body"]) for one in received(world, dead)}
    world.advance(minutes=11)
    cause = cause_of(read_letter({"Attributes": {"DeadLetterQueueSourceArn": source}}))
    plan = Plan(dead, (Rule(cause, Action.REDRIVE, Destination(To.QUEUE, source)),), canary=Canary(0, 0))
    stage = Stage(world, dead, plan, letters, list)
    stage.save()
    yield Recovering(stage, attempts, succeeded)
    world.close()


def killed_recovery(recovering: Recovering, parts: Parts, place: int) -> list[str]:
    """The broken promises of a recovery that died at a place, and of the one that went on."""
    recovering.again().go(parts, Life(place))
    recovering.stage.world.advance(seconds=HIDDEN_S)
    accounts = recovering.go(parts, Life())
    assert accounts is not None
    return recovering.faults(accounts)
