"""State machines in templates: CloudFormation's types, and SAM's machine with its events."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.services.stepfunctions.conftest import ROLE, Machines

SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Orders:
    Type: AWS::Serverless::StateMachine
    Properties:
      Definition: {StartAt: A, States: {A: {Type: Pass, Result: "${Word}", End: true}}}
      DefinitionSubstitutions: {Word: done}
      Events:
        Placed: {Type: EventBridgeRule, Properties: {Pattern: {source: [shop]}}}
        Daily: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day)}}
Outputs:
  Arn: {Value: {Ref: Orders}}
"""


def test_machine_of_sam_is_started_by_its_rule_and_its_schedule(machines: Machines) -> None:
    arn = machines.world.deploy(SAM)["Arn"]

    machines.world.client("events").put_events(Entries=[{"Source": "shop", "DetailType": "t", "Detail": "{}"}])
    machines.world.advance(days=1, seconds=1)

    listed = machines.sfn.list_executions(stateMachineArn=arn)["executions"]
    inputs = [json.loads(machines.ran(one["executionArn"]).shown["input"]) for one in listed]
    assert [one["status"] for one in listed] == ["SUCCEEDED"] * len(listed)
    assert {one["source"] for one in inputs} == {"shop", "aws.scheduler"}
    assert machines.ran(listed[0]["executionArn"]).output == "done"


def test_stack_makes_a_machine_with_a_version_and_an_alias_and_changes_and_deletes_it(machines: Machines) -> None:
    definition = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "${Hands}", "End": True}}}
    machine = {"RoleArn": ROLE, "DefinitionString": json.dumps(definition), "StateMachineName": "orders"}
    routes = [{"StateMachineVersionArn": {"Ref": "V"}, "Weight": 100}]
    resources: dict[str, Any] = {
        "Hands": {"Type": "AWS::StepFunctions::Activity", "Properties": {"Name": "hands"}},
        "M": {
            "Type": "AWS::StepFunctions::StateMachine",
            "Properties": {**machine, "DefinitionSubstitutions": {"Hands": {"Ref": "Hands"}}},
        },
        "V": {
            "Type": "AWS::StepFunctions::StateMachineVersion",
            "Properties": {
                "StateMachineArn": {"Ref": "M"},
                "StateMachineRevisionId": {"Fn::GetAtt": ["M", "StateMachineRevisionId"]},
            },
        },
        "Live": {
            "Type": "AWS::StepFunctions::StateMachineAlias",
            "Properties": {"Name": "live", "RoutingConfiguration": routes},
        },
    }
    cloudformation = machines.world.client("cloudformation")
    outputs = {"Alias": {"Value": {"Ref": "Live"}}}
    alias = machines.world.deploy(json.dumps({"Resources": resources, "Outputs": outputs}, indent=1))["Alias"]

    started = machines.sfn.start_execution(stateMachineArn=alias)["executionArn"]
    resources["M"]["Properties"]["DefinitionString"] = json.dumps({**definition, "Comment": "new"})
    cloudformation.update_stack(StackName="stack", TemplateBody=json.dumps({"Resources": resources}))
    machines.world.settle()
    changed = machines.sfn.describe_state_machine(stateMachineArn=alias.removesuffix(":live"))
    cloudformation.delete_stack(StackName="stack")
    machines.world.settle()

    shown = machines.sfn.describe_execution(executionArn=started)
    assert (shown["stateMachineAliasArn"], shown["stateMachineVersionArn"]) == (alias, alias.replace("live", "1"))
    assert json.loads(changed["definition"])["Comment"] == "new"
    deleting = machines.sfn.describe_state_machine(stateMachineArn=changed["stateMachineArn"])["status"]
    machines.sfn.stop_execution(executionArn=started)
    assert (deleting, machines.sfn.list_state_machines()["stateMachines"]) == ("DELETING", [])
    assert machines.sfn.list_activities()["activities"] == []
