"""`redrive events test`: which rules of a template each event hits; whatever hits nothing is a finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from redrive.cli.main import main

ORDER = {"Source": "shop", "DetailType": "Order", "Detail": '{"total": 120}'}
TEMPLATE = {
    "Parameters": {"Source": {"Type": "String", "Default": "shop"}},
    "Resources": {
        "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": "orders"}},
        "Bucket": {"Type": "AWS::S3::Bucket"},
        "All": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": [{"Ref": "Source"}]}}},
        "Large": {
            "Type": "AWS::Events::Rule",
            "Properties": {
                "Name": "large", "EventBusName": {"Ref": "Bus"},
                "EventPattern": {"detail": {"total": [{"numeric": [">", 100]}]}},
            },
        },
        "Uploads": {
            "Type": "AWS::Events::Rule",
            "Properties": {"State": "DISABLED", "EventPattern": {"detail": {"bucket": [{"Ref": "Bucket"}]}}},
        },
        "Nightly": {"Type": "AWS::Events::Rule", "Properties": {"ScheduleExpression": "rate(1 day)"}},
    },
}  # fmt: skip
SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Work:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.12
      Handler: app.handler
      CodeUri: src/
      Events:
        Placed: { Type: EventBridgeRule, Properties: { Pattern: { detail-type: [Order] } } }
  Flow:
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionUri: flow.asl.json
      Events:
        Placed: { Type: EventBridgeRule, Properties: { Pattern: { detail-type: [Order] } } }
"""


class Tried:
    """A directory with events and a template, and the command on them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.events = directory / "events"
        self.events.mkdir()

    def run(self, template: Any, *options: str, **events: Any) -> Any:
        """Write everything, and run the command."""
        for name, event in events.items():
            (self.events / f"{name}.json").write_text(json.dumps(event), encoding="utf-8")
        file = self._directory / "template.yaml"
        file.write_text(template if isinstance(template, str) else json.dumps(template), encoding="utf-8")
        return CliRunner().invoke(main, ["events", "test", str(self.events), "--template", str(file), *options])


@pytest.fixture
def tried(tmp_path: Path) -> Tried:
    return Tried(tmp_path)


def test_event_that_names_no_bus_is_tried_on_all_rules(tried: Tried) -> None:
    done = tried.run(TEMPLATE, order=ORDER)

    assert json.loads(done.stdout) == {
        "events": [{"event": "order.json", "rules": ["All", "large"]}], "rules": {"All": 1, "large": 1},
    }  # fmt: skip
    assert done.exit_code == 0


def test_entry_that_names_a_bus_is_tried_on_its_rules_alone(tried: Tried) -> None:
    done = tried.run(TEMPLATE, order={**ORDER, "EventBusName": "orders"})

    assert json.loads(done.stdout)["events"] == [{"event": "order.json", "rules": ["large"]}]
    assert done.exit_code == 1, "the rule All is hit by nothing"


def test_event_that_hits_nothing_is_a_finding_with_the_nearest_rule(tried: Tried) -> None:
    done = tried.run(TEMPLATE, small={**ORDER, "Source": "shpo", "Detail": "{}"}, order=ORDER)

    _, small = json.loads(done.stdout)["events"]
    assert done.exit_code == 1
    assert small["nearest"] == "All"
    assert small["why"] == ['It would match if source were "shop", the nearest to "shpo".']


def test_pattern_may_be_written_as_text(tried: Tried) -> None:
    rule = {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": '{"source": ["shop"]}'}}

    done = tried.run({"Resources": {"R": rule}}, order=ORDER)

    assert json.loads(done.stdout)["rules"] == {"R": 1}


def test_parameter_without_a_value_is_asked_for(tried: Tried) -> None:
    done = tried.run({**TEMPLATE, "Parameters": {"Source": {"Type": "String"}}}, order=ORDER)

    assert done.exit_code == 2
    assert "Parameters: [Source] must have values" in done.stderr
    assert "--parameter NAME=VALUE" in done.stderr


def test_parameters_are_those_of_the_template(tried: Tried) -> None:
    done = tried.run(TEMPLATE, "--parameter", "Source=bank", order=ORDER)

    assert json.loads(done.stdout)["rules"] == {"All": 0, "large": 1}


def test_reference_to_a_resource_is_its_name_or_its_logical_id(tried: Tried) -> None:
    template = json.loads(json.dumps(TEMPLATE))
    del template["Resources"]["Uploads"]["Properties"]["State"]

    done = tried.run(template, order=ORDER, upload={**ORDER, "Detail": '{"bucket": "Bucket"}'})

    assert json.loads(done.stdout)["rules"] == {"All": 2, "large": 1, "Uploads": 1}


def test_events_of_functions_and_state_machines_in_sam_are_rules(tried: Tried) -> None:
    """Neither code nor definitions have to be there."""
    done = tried.run(SAM, order=ORDER)

    assert json.loads(done.stdout)["rules"] == {"WorkPlaced": 1, "FlowPlaced": 1}


def test_event_that_hits_more_rules_than_expected_is_a_finding(tried: Tried, tmp_path: Path) -> None:
    expected = tmp_path / "expected.json"
    expected.write_text('{"order.json": ["large"]}', encoding="utf-8")

    done = tried.run(TEMPLATE, "--expect", str(expected), order=ORDER)

    assert json.loads(done.stdout)["events"] == [
        {"event": "order.json", "rules": ["All", "large"], "expected": ["large"]}
    ]
    assert done.exit_code == 1


def test_event_that_shall_hit_nothing_is_no_finding(tried: Tried, tmp_path: Path) -> None:
    expected = tmp_path / "expected.json"
    expected.write_text('{"other.json": []}', encoding="utf-8")

    done = tried.run(TEMPLATE, "--expect", str(expected), order=ORDER, other={**ORDER, "Source": "x", "Detail": "{}"})

    assert done.exit_code == 0


def test_expectation_of_a_rule_that_does_not_exist_is_refused(tried: Tried, tmp_path: Path) -> None:
    expected = tmp_path / "expected.json"
    expected.write_text('{"order.json": ["lagre"]}', encoding="utf-8")

    done = tried.run(TEMPLATE, "--expect", str(expected), order=ORDER)

    assert done.exit_code == 2
    assert "there is no rule lagre." in done.stderr


def test_pattern_that_is_none_is_refused_with_its_rule(tried: Tried) -> None:
    template = {"Resources": {"R": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": "shop"}}}}}

    done = tried.run(template, order=ORDER)

    assert done.exit_code == 2
    assert "the pattern of R cannot be used" in done.stderr
    assert 'The value of source stands alone, and has to stand in a list: ["shop"]' in done.stderr


def test_template_without_rules_is_refused(tried: Tried) -> None:
    done = tried.run({"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}, order=ORDER)

    assert done.exit_code != 0
    assert "has no enabled rule with a pattern" in done.stderr
