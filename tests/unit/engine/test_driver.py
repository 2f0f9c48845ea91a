"""The drivers at their start: what an earlier process left under way."""

from __future__ import annotations

import json

from redrive.core.clock import VirtualClock
from redrive.core.log import SilentLog
from redrive.engine.driver import VirtualDrive
from redrive.store.tables.deliveries import OUTSIDE
from redrive.testing.world import World
from tests.unit.services.lambda_.functions import archive

TRUST = {
    "Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
}


def test_event_that_was_running_when_its_server_died_runs_again_at_the_next_start() -> None:
    """A lease outlives the process that held it; its successor does not wait for the lease to end."""
    world = World()
    assert isinstance(world.clock, VirtualClock)
    ran: list[object] = []
    world.functions.register("work", lambda event, _: ran.append(event))
    role = world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    world.client("lambda").create_function(
        FunctionName="work", Role=role, Runtime="python3.12", Handler="app.handler", Code={"ZipFile": archive()}
    )
    world.client("lambda").invoke(FunctionName="work", InvocationType="Event", Payload=json.dumps({"n": 1}))
    world.store.run(lambda tx: tx.deliveries.claim_due(OUTSIDE, tx.now, lease_ms=960_000, limit=1))
    drive = VirtualDrive(world.engine, world.clock, SilentLog(), keep=lambda tx, at: None)

    drive.advance_to(world.clock.now())

    assert ran == [{"n": 1}]
