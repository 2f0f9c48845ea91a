"""The template of docs/guide/watching.md can be pasted, and each of its five alarms fires for what it is for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from redrive.testing.world import World
from tests.unit.services.cloudwatch.test_emitted import QUEUE_ARN, Shop

GUIDE = (Path(__file__).parents[4] / "docs" / "guide" / "watching.md").read_text("utf-8")
NAMES = {"Topic": "arn:aws:sns:us-east-1:000000000000:told", "Queue": "orders", "DeadLetterQueue": "dead",
         "Function": "work", "Rule": "orders"}  # fmt: skip


def states(world: World) -> dict[str, str]:
    """The state of each alarm, by its name in the template."""
    alarms = world.client("cloudwatch").describe_alarms()["MetricAlarms"]
    return {alarm["AlarmName"].split("-")[1]: alarm["StateValue"] for alarm in alarms}


def test_each_alarm_of_the_guide_fires_for_what_it_is_for() -> None:
    world = World()
    shop = Shop(world)
    broken: list[bool] = []

    def work(_event: Any, _context: Any) -> None:
        if broken:
            raise ValueError("broken")

    shop.function(work)
    client = world.client("events")
    client.put_rule(Name="orders", EventPattern=json.dumps({"source": ["shop"]}))
    client.put_targets(Rule="orders", Targets=[{"Id": "1", "Arn": f"{QUEUE_ARN}nowhere"}])
    (template,) = re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in NAMES.items()]
    shop.invoke()
    world.advance(minutes=2)
    world.client("cloudformation").create_stack(StackName="watch", TemplateBody=template, Parameters=parameters)
    world.advance(minutes=1)
    quiet = states(world)

    broken.append(True)
    for name in ("orders", "dead"):
        world.call("sqs", "SendMessage", QueueUrl=name, MessageBody="1")
    client.put_events(Entries=[{"Source": "shop", "DetailType": "Order", "Detail": "{}"}])
    seen: set[tuple[str, str]] = set()
    for _ in range(4):
        shop.invoke()
        world.advance(minutes=5)
        seen |= states(world).items()
    world.advance(hours=2)

    assert set(quiet.values()) == {"OK"}
    fired = {name for name, state in seen if state == "ALARM"}
    assert fired == {"LettersWait", "WorkIsLate", "FunctionFails", "RuleGivesUp"}
    assert states(world)["FunctionDoesNotRun"] == "ALARM"
    world.close()
