"""A bucket that tells: users put and delete objects, a queue and the default bus are told, and S3 is in disorder."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote_plus

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import Conflict
from redrive.delivery.faults import Fault, add_fault, clear_faults
from redrive.delivery.told_faults import DELAY, DUPLICATE, REORDER
from redrive.sim.checkers.happenings import LeftMessage, ObjectChanged, ObjectTold
from redrive.sim.checkers.uploads import ChangesTold
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.users.acts import Handle
from redrive.sim.users.editors import THROTTLED, TIMES_MAX, TRANSIENT
from redrive.sim.users.resources import Resources, arn_of, policy_of
from redrive.sim.users.shop import ANYBODY
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

BUCKET = "uploads"
TOLD, ON_BUS = "told", "told-by-bus"
"""The queue that S3 tells, and the queue of a rule of the default bus."""
KEYS = ("in/a.csv", "in/b c.csv", "in/ä@d.csv", "out/e.csv")
APART_MS_MAX = 10 * MINUTE_MS

_CHANGE_GAP_MS_MAX = 6 * MINUTE_MS
_DISORDER_GAP_MS_MAX = 30 * MINUTE_MS


def open_uploads(resources: Resources, dice: Dice) -> None:
    """Create the bucket, its destinations and its users."""
    simulation, call = resources.simulation, resources.simulation.reliable.call
    for queue in (TOLD, ON_BUS):
        url = resources.queue(queue)
        call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy_of(ANYBODY)})
    call("s3", "CreateBucket", Bucket=BUCKET)
    pattern = {"source": ["aws.s3"], "detail": {"bucket": {"name": [BUCKET]}}}
    call("events", "PutRule", Name=BUCKET, EventPattern=dump_json(pattern))
    call("events", "PutTargets", Rule=BUCKET, Targets=[{"Id": ON_BUS, "Arn": arn_of("sqs", ON_BUS)}])
    asked = {"QueueArn": arn_of("sqs", TOLD), "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}
    call(
        "s3", "PutBucketNotificationConfiguration", Bucket=BUCKET, SkipDestinationValidation=True,
        NotificationConfiguration={"QueueConfigurations": [asked], "EventBridgeConfiguration": {}},
    )  # fmt: skip
    resources.undo("s3", "PutObject", Bucket=BUCKET, Key=KEYS[0], Body=b"undone")
    simulation.watch(ChangesTold((TOLD, ON_BUS), _left))
    fork, until, client = resources.fork, resources.until, simulation.client
    for queue in (TOLD, ON_BUS):
        if dice.chance(0.5):
            resources.consumer(f"reader of {queue}", resources.queues[queue], _handler(simulation, queue))
    users = (
        Uploader(simulation, client("uploader"), "u", dice=fork("uploader"), until=until),
        Uploader(simulation, client("second uploader"), "v", dice=fork("second uploader"), until=until),
        Disorder(simulation, [arn_of("sqs", TOLD), arn_of("sqs", ON_BUS)], dice=fork("disorder"), until=until),
    )  # fmt: skip
    for user in users:
        simulation.add(user, at=simulation.now + SECOND_MS)


class Uploader:
    """Puts and deletes objects. What has no answer is left to its fate: the checkers know of the commit."""

    def __init__(self, simulation: Simulation, client: Client, name: str, *, dice: Dice, until: Instant) -> None:
        """`name` begins the bodies, so that no two puts are of the same bytes."""
        self.name = f"uploader {name}"
        self._simulation = simulation
        self._client = client
        self._prefix = name
        self._dice = dice
        self._until = until
        self._count = 0

    def act(self) -> Instant | None:
        """Change an object."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        key = KEYS[dice.between(0, len(KEYS) - 1)]
        operation = "DeleteObject" if dice.chance(0.3) else "PutObject"
        self._count += 1
        body = {"Body": f"{self._prefix}-{self._count}".encode()} if operation == "PutObject" else {}

        def seen(answer: Document) -> None:
            simulation.observe(ObjectChanged(key, str(answer.get("ETag", "")).strip('"')))

        try:
            self._client.call_seen(seen, "s3", operation, Bucket=BUCKET, Key=key, **body)
            simulation.trace.write(simulation.now, "object changed", key=key, by=operation)
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "object in doubt", key=key, error=type(error).__name__)
        return simulation.now + dice.between(1, _CHANGE_GAP_MS_MAX)


class Disorder:
    """Has S3 tell twice, late and out of order, and has destinations fail for a while."""

    def __init__(self, simulation: Simulation, targets: Sequence[str], *, dice: Dice, until: Instant) -> None:
        """`targets` by ARN."""
        self.name = "disorder of S3"
        self._simulation = simulation
        self._targets = targets
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Add a fault, or remove all."""
        simulation, dice = self._simulation, self._dice
        is_over = simulation.now >= self._until
        if is_over or dice.chance(0.3):
            simulation.run(clear_faults)
        if is_over:
            return None
        drawn = self._drawn()
        simulation.run(lambda tx: add_fault(tx, drawn))
        simulation.trace.write(simulation.now, "fault added", target=drawn.target, s3=drawn.s3, code=drawn.code)
        return simulation.now + dice.between(MINUTE_MS, _DISORDER_GAP_MS_MAX)

    def _drawn(self) -> Fault:
        dice = self._dice
        rate = dice.share() if dice.chance(0.5) else None
        times = dice.between(1, TIMES_MAX) if rate is None else None
        if dice.chance(0.5):
            codes = (*TRANSIENT, *THROTTLED)
            target = self._targets[dice.between(0, len(self._targets) - 1)]
            return Fault("", target, codes[dice.between(0, len(codes) - 1)], times=times, rate=rate)
        kind = (DUPLICATE, REORDER, DELAY)[dice.between(0, 2)]
        target = f"arn:aws:s3:::{BUCKET}/{('', 'in/')[dice.between(0, 1)]}*"
        return Fault("", target, times=times, rate=rate, latency_ms=dice.between(1, APART_MS_MAX), s3=kind)


def _handler(simulation: Simulation, queue: str) -> Handle:
    """The handler for a consumer of a destination."""
    return lambda message: simulation.observe(_told(queue, message["Body"]))


def _left(message: LeftMessage) -> ObjectTold:
    return _told(message.queue, message.body)


def _told(queue: str, body: str) -> ObjectTold:
    """What a record, or an event of the bus, says."""
    document = load_json(body)
    if queue == ON_BUS:
        told = document["detail"]["object"]
        return ObjectTold(queue, told["key"], told["sequencer"], told.get("etag", ""))
    (record,) = document["Records"]
    told = record["s3"]["object"]
    return ObjectTold(queue, unquote_plus(told["key"]), told["sequencer"], told.get("eTag", ""))
