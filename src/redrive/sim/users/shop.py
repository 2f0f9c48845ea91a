"""The shop: a bus with an archive, rules that are changed, a publisher, replays, and a queue as the target of all."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.sim.checkers.happenings import RuleSet
from redrive.sim.dice import Dice
from redrive.sim.users.editors import FaultAdder
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
from redrive.sim.users.resources import Resources, arn_of, policy_of

HITS = "hits"
"""The queue that is the target of all rules."""
HITS_LETTERS = f"{HITS}-letters"
HIT = '{"rule": <aws.events.rule-name>, "event": <aws.events.event.json>}'
"""What a rule sends."""
RULES_MAX = 5
RULE_LETTER = ("ERROR_CODE", "ERROR_MESSAGE", "RETRY_ATTEMPTS", "RULE_ARN", "TARGET_ARN")
ANYBODY = {"Principal": "*", "Action": "sqs:*", "Resource": "*"}


def open_shop(resources: Resources, rules: dict[str, int], dice: Dice) -> None:
    """Create the bus and its users. `rules` gets each rule with its greatest number of retries."""
    simulation = resources.simulation
    call = simulation.reliable.call
    url, letters = resources.queue(HITS), HITS_LETTERS
    resources.queue(letters)
    resources.letters[letters] = RULE_LETTER
    call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy_of(ANYBODY)})
    call("sqs", "SetQueueAttributes", QueueUrl=resources.queues[letters], Attributes={"Policy": policy_of(ANYBODY)})
    bus_arn = call("events", "CreateEventBus", Name=BUS)["EventBusArn"]
    call("events", "CreateArchive", ArchiveName=ARCHIVE, EventSourceArn=bus_arn)
    edited = [f"rule-{number}" for number in range(dice.between(1, RULES_MAX))]
    _put_rule(resources, rules, ARCHIVED, {"source": [{"prefix": ""}]}, retries_max=dice.between(0, 5))
    for name in edited:
        _put_rule(resources, rules, name, PATTERNS[dice.between(0, len(PATTERNS) - 1)], retries_max=dice.between(0, 5))
    resources.consumer("listener", url, arrival_handler(simulation))

    fork, until, client = resources.fork, resources.until, simulation.client
    users = (
        Publisher(simulation, client("publisher"), dice=fork("publisher"), until=until),
        RuleEditor(simulation, client("rule editor"), edited, dice=fork("rules"), until=until),
        Replayer(simulation, client("replayer"), dice=fork("replayer"), until=until),
        FaultAdder(simulation, [arn_of("sqs", HITS)], dice=fork("bus faults"), until=until, name="bus saboteur"),
    )  # fmt: skip
    for user in users:
        simulation.add(user, at=simulation.now + SECOND_MS)


def _put_rule(resources: Resources, rules: dict[str, int], name: str, pattern: Document, *, retries_max: int) -> None:
    call, text = resources.simulation.reliable.call, dump_json(pattern)
    rules[name] = retries_max
    call("events", "PutRule", Name=name, EventBusName=BUS, EventPattern=text)
    target: Document = {
        "Id": HITS, "Arn": arn_of("sqs", HITS), "RetryPolicy": {"MaximumRetryAttempts": retries_max},
        "DeadLetterConfig": {"Arn": arn_of("sqs", HITS_LETTERS)},
        "InputTransformer": {"InputPathsMap": {}, "InputTemplate": HIT},
    }  # fmt: skip
    call("events", "PutTargets", Rule=name, EventBusName=BUS, Targets=[target])
    resources.simulation.observe(RuleSet(name, text))
