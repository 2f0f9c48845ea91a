"""What feeds each function of a template, what it runs, and where its code and its layers lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.project.functions import ProjectFunction
from redrive.prove.project.source import read_template
from redrive.prove.stage.notifications import sample_notification
from redrive.prove.stage.stage import SCOPE
from redrive.prove.whole import targets_of
from tests.unit.prove.project.conftest import Project

HEAD = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.12, Handler: app.handler, CodeUri: .}}
Parameters: {Which: {Type: String, Default: nodejs20.x}, Ordered: {Type: String}}
Resources:
  Queue: {Type: AWS::SQS::Queue}
  Stream: {Type: AWS::Kinesis::Stream, Properties: {ShardCount: 1}}
  Bucket: {Type: AWS::S3::Bucket}
  Topic: {Type: AWS::SNS::Topic}
"""


def function(directory: Path, properties: str, more: str = "") -> ProjectFunction:
    """The function F with these properties, as the reader sees it."""
    text = f"{HEAD}{more}\n  F: {{Type: AWS::Serverless::Function, Properties: {{{properties}}}}}\n"
    (directory / "template.yaml").write_text(text)
    found = {one.logical_id: one for one in read_template(directory / "template.yaml", {}, SCOPE).functions}
    return found["F"]


@pytest.mark.parametrize(
    ("event", "kind", "told"),
    [
        ("{Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}", "sqs", "queue Queue"),
        ("{Type: SQS, Properties: {Queue: !Ref Ordered}}", "sqs", "a queue that the template does not have"),
        (
            "{Type: Kinesis, Properties: {Stream: !GetAtt Stream.Arn, StartingPosition: LATEST}}", "kinesis",
            "stream Stream",
        ),
        ("{Type: Schedule, Properties: {Schedule: rate(1 hour)}}", "eventbridge", "rule FE"),
        ("{Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 hour)}}", "schedule", "schedule FE"),
        ("{Type: EventBridgeRule, Properties: {Pattern: {source: [shop]}}}", "eventbridge", "rule FE"),
        ("{Type: S3, Properties: {Bucket: !Ref Bucket, Events: 's3:ObjectCreated:*'}}", "s3", "bucket Bucket"),
        ("{Type: SNS, Properties: {Topic: !Ref Topic}}", "topic", "topic Topic"),
        ("{Type: Api, Properties: {Path: /, Method: get}}", "caller", "an API"),
        ("{Type: HttpApi}", "caller", "an API"),
    ],
)  # fmt: skip
def test_feed_is_what_the_template_has_in_front_of_a_function(tmp_path: Path, event: str, kind: str, told: str) -> None:
    feed = function(tmp_path, f"Events: {{E: {event}}}").feed

    assert (feed.kind, feed.told) == (kind, told)


def test_queue_comes_before_an_api_that_calls_the_same_function(tmp_path: Path) -> None:
    found = function(tmp_path, "Events: {A: {Type: HttpApi}, B: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}}")

    assert [feed.kind for feed in found.feeds] == ["sqs", "caller"]


def test_alias_stands_for_its_function(tmp_path: Path) -> None:
    found = function(
        tmp_path, "AutoPublishAlias: live, Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn}}}"
    )

    assert found.feed.told == "queue Queue"


def test_runtime_may_be_a_parameter(tmp_path: Path) -> None:
    found = function(tmp_path, "Runtime: !Ref Which")

    assert (found.runtime, found.is_python) == ("nodejs20.x", False)


def test_layers_with_local_content_are_folders_of_imports_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "one" / "python").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    layers = """
  One: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: one}}
  Two: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: two}, Metadata: {BuildMethod: python3.12}}
"""

    found = function(tmp_path, "Layers: [!Ref Two, !Ref One, 'arn:aws:lambda:us-east-1:1:layer:else:1']", layers)

    assert found.layers == (tmp_path / "two", tmp_path / "one" / "python")


def test_what_aws_would_look_up_elsewhere_is_made_up_and_told(tmp_path: Path) -> None:
    function(
        tmp_path, "Environment: {Variables: {A: !ImportValue 'shop-orders-table', B: '{{resolve:ssm:/shop/key}}'}}"
    )

    template = read_template(tmp_path / "template.yaml", {}, SCOPE)

    assert template.guesses["export shop-orders-table"] == "'sample-table', because it is another stack's"
    assert template.guesses["value of ssm:/shop/key"] == "'sample-key', because the template asks AWS for it"
    assert "because the template has no default" in template.guesses["parameter Ordered"]


def test_function_that_sam_refuses_does_not_stop_the_others(project: Project) -> None:
    good, bad = (
        "Good: {Type: AWS::Serverless::Function}",
        "Bad: {Type: AWS::Serverless::Function, Properties: {Odd: 1}}",
    )
    text = f"{HEAD}  {good}\n  {bad}\n"
    directory = project({"template.yaml": text})

    template = read_template(directory / "template.yaml", {}, SCOPE)

    assert [one.logical_id for one in template.functions] == ["Good"]
    assert "property Odd not defined" in template.refused["Bad"]


def test_template_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_template(tmp_path / "none.yaml", {}, SCOPE)


def test_code_of_the_cdk_is_its_asset_by_its_metadata_or_by_its_hash(project: Project) -> None:
    digest = "0123456789abcdef" * 4
    code = f'{{"S3Bucket": "assets", "S3Key": "{digest}.zip"}}'
    one = '"One": {"Type": "AWS::Lambda::Function", "Metadata": {"aws:asset:path": "asset.one"}, "Properties": {}}'
    two = f'"Two": {{"Type": "AWS::Lambda::Function", "Properties": {{"Code": {code}}}}}'
    directory = project({
        "Stack.template.json": f'{{"Resources": {{{one}, {two}}}, "Rules": {{"CheckBootstrapVersion": {{}}}}}}',
        "Stack.assets.json": f'{{"files": {{"{digest}": {{"source": {{"path": "asset.two"}}}}}}}}',
        "asset.one/index.py": "", "asset.two/index.py": "",
    })  # fmt: skip

    template = read_template(directory / "Stack.template.json", {}, SCOPE)

    assert template.code == {"One": directory / "asset.one", "Two": directory / "asset.two"}


def test_bucket_tells_of_keys_that_begin_and_end_as_its_filter_says(project: Project) -> None:
    event = (
        "{Type: S3, Properties: {Bucket: !Ref Bucket, Events: 's3:ObjectCreated:*', Filter: {S3Key: {Rules: ["
        "{Name: prefix, Value: in/}, {Name: suffix, Value: .csv}]}}}}"
    )
    found = function(project({"app.py": ""}), f"Events: {{E: {event}}}")

    assert found.feed.key == ("in/", ".csv")
    assert '"key":"in/sample+file.csv"' in sample_notification("txt", *found.feed.key)


def test_function_that_the_cdk_adds_by_itself_is_left_out(project: Project) -> None:
    told = """AWS CloudFormation handler for "Custom::S3BucketNotifications" resources (@aws-cdk/aws-s3)"""
    directory = project({"app.py": "def handler(event, context): ...\n"})
    function(
        directory, "Events: {}", f"\n  Own: {{Type: AWS::Serverless::Function, Properties: {{Description: '{told}'}}}}"
    )

    found = targets_of([directory / "template.yaml"], lambda _: {"Ordered": "x"})

    assert [one.function for one in found] == ["F"]
