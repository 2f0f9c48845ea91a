"""A template that was deployed on one stage is put into the next as it was: as if it were deployed there."""

from __future__ import annotations

import copy
from contextlib import closing
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.play.performance import Performance
from redrive.prove.project.source import ProjectTemplate, read_template
from redrive.prove.stage.deployed import Deployments
from redrive.prove.stage.stage import SCOPE

TEMPLATE = """
Resources:
  Orders: {Type: AWS::SQS::Queue}
  Seen:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  Odd: {Type: AWS::SQS::Queue, Properties: {QueueName: "no name at all"}}
"""


@pytest.fixture
def template(tmp_path: Path) -> ProjectTemplate:
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE)
    return read_template(file, {}, SCOPE)


def played_on(deployments: Deployments, template: ProjectTemplate, kept: set[str]) -> tuple[object, ...]:
    """Deploys on a new stage, works on it, and returns the stubs, the state of the stage and what it has answered."""
    with closing(Performance(None, seed=1)) as performance:
        stage = performance.stage
        stubs = deployments.deploy(stage, template, copy.deepcopy(template.root), kept)
        described = stage.call("cloudformation", "DescribeStackResources", StackName="stack")
        queue = stage.call("sqs", "CreateQueue", QueueName="later")["QueueUrl"]
        sent = stage.call("sqs", "SendMessage", QueueUrl=queue, MessageBody="x")
        return stubs, described["StackResources"], sent, stage.digest(), stage.save().asked, stage.now


def test_next_stage_has_all_that_deploying_again_would_make(template: ProjectTemplate) -> None:
    """With its stubs, its names, and the ids of what is made later."""
    known = Deployments()

    first = played_on(known, template, {"Seen"})

    assert played_on(known, template, {"Seen"}) == first == played_on(Deployments(), template, {"Seen"})
    assert list(first[0]) == ["resource Odd"]  # type: ignore[call-overload] # The stubs.


def test_stage_for_another_function_is_deployed_for_itself(template: ProjectTemplate) -> None:
    """What must not become a stub is another resource for each function."""
    known = Deployments()
    played_on(known, template, {"Seen"})

    with pytest.raises(UserError, match="cannot be deployed"):
        played_on(known, template, {"Odd"})
