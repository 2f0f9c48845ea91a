"""A plan of Terraform: its resources, what they refer to, and where the code lies."""

from __future__ import annotations

import json
from typing import Any

from redrive.prove.project.source import read_template
from redrive.prove.stage.stage import SCOPE
from tests.unit.prove.project.conftest import SENDS, Command, Project


def reference(*names: str) -> dict[str, Any]:
    """An expression that refers to others, as Terraform writes it: the attribute, and then its resource."""
    return {"references": [one for name in names for one in (name, name.rpartition(".")[0])]}


def resource(type_name: str, name: str, values: dict[str, Any], module: str = "") -> dict[str, Any]:
    address = f"{type_name}.{name}"
    return {
        "address": f"{module}.{address}" if module else address, "mode": "managed", "type": type_name, "name": name,
        "values": values,
    }  # fmt: skip


PLANNED = [
    resource("aws_sqs_queue", "dlq", {"name": "orders-dlq"}),
    resource("aws_sqs_queue", "orders", {"name": "orders", "visibility_timeout_seconds": 120}),
    resource("aws_lambda_function", "worker", {
        "function_name": "worker", "handler": "app.handler", "runtime": "python3.12", "timeout": 20,
        "filename": "worker.zip", "environment": [{}], "package_type": "Zip",
    }),
    resource("aws_lambda_event_source_mapping", "orders", {"batch_size": 1, "function_response_types": None}),
]  # fmt: skip
CONFIGURED = [
    {"address": "aws_sqs_queue.orders", "expressions": {"redrive_policy": reference("aws_sqs_queue.dlq.arn")}},
    {"address": "aws_lambda_function.worker", "expressions": {
        "environment": [{"variables": reference("module.mails.queue_url")}],
    }},
    {"address": "aws_lambda_event_source_mapping.orders", "expressions": {
        "event_source_arn": reference("aws_sqs_queue.orders.arn"),
        "function_name": reference("aws_lambda_function.worker.arn"),
    }},
]  # fmt: skip
MAILS_QUEUE = resource("aws_sqs_queue", "mails", {"name": "mails"}, "module.mails")
MAILS = {
    "source": "./mails",
    "module": {
        "resources": [{"address": "aws_sqs_queue.mails", "expressions": {}}],
        "outputs": {"queue_url": {"expression": reference("aws_sqs_queue.mails.url")}},
    },
}
PLAN = {
    "format_version": "1.2",
    "variables": {"stage": {"value": "test"}},
    "planned_values": {"root_module": {"resources": PLANNED, "child_modules": [
        {"address": "module.mails", "resources": [MAILS_QUEUE]}
    ]}},
    "configuration": {"root_module": {"resources": CONFIGURED, "module_calls": {"mails": MAILS}}},
}  # fmt: skip
SOURCE = """
resource "aws_sqs_queue" "orders" {
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dlq.arn, maxReceiveCount = 7 })
}
resource "aws_lambda_function" "worker" {
  # environment { variables = { NEXT = "a comment" } }
  environment {
    variables = {
      NEXT  = module.mails.queue_url
      STAGE = var.stage
      WHERE = "at ${module.mails.queue_url} now"
      OTHER = lookup(local.others, "x")
    }
  }
}
"""
FILES = {"plan.json": json.dumps(PLAN), "main.tf": SOURCE, "worker/app.py": SENDS}


def test_function_of_a_plan_is_proved_with_its_queue_and_its_variables(project: Project, prove: Command) -> None:
    project(FILES)

    found = prove("-o", "json")

    document = json.loads(found.stdout)
    assert found.exit_code == 1, found.output
    assert document["effects"] == {"message to mails": 1}
    assert document["assumptions"]["fed by"] == "queue SqsQueueOrders"


def test_values_that_only_a_deployment_knows_become_references(project: Project) -> None:
    directory = project(FILES)

    template = read_template(directory / "plan.json", {}, SCOPE)

    resources: Any = template.root["Resources"]
    variables = resources["Worker"]["Properties"]["Environment"]["Variables"]
    assert variables == {
        "NEXT": {"Ref": "Mails"}, "STAGE": "test",
        "WHERE": {"Fn::Sub": ["at ${Part0} now", {"Part0": {"Ref": "Mails"}}]},
    }  # fmt: skip
    assert resources["SqsQueueOrders"]["Properties"]["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": ["Dlq", "Arn"]}, "maxReceiveCount": 7,
    }  # fmt: skip
    assert template.code["Worker"] == directory / "worker"


def test_code_is_where_an_archive_of_the_plan_has_its_source(project: Project) -> None:
    archive = {
        "address": "data.archive_file.code", "mode": "data", "type": "archive_file", "name": "code",
        "values": {"source_dir": "src/code", "output_path": "out.zip"},
    }  # fmt: skip
    configured = {
        "address": "aws_lambda_function.worker",
        "expressions": {"filename": reference("data.archive_file.code.output_path")},
    }
    plan = {
        **PLAN, "prior_state": {"values": {"root_module": {"resources": [archive]}}},
        "configuration": {"root_module": {"resources": [configured]}},
    }  # fmt: skip
    directory = project({"plan.json": json.dumps(plan), "src/code/app.py": SENDS})

    template = read_template(directory / "plan.json", {}, SCOPE)

    assert template.code["Worker"] == directory / "src" / "code"


def test_tables_rules_and_streams_are_translated(project: Project) -> None:
    planned = [
        resource("aws_dynamodb_table", "seen", {
            "name": "seen", "hash_key": "pk", "range_key": "sk", "stream_enabled": True,
            "attribute": [{"name": "pk", "type": "S"}, {"name": "sk", "type": "N"}, {"name": "by", "type": "S"}],
            "global_secondary_index": [{"name": "by", "hash_key": "by", "projection_type": "KEYS_ONLY"}],
            "ttl": [{"attribute_name": "until", "enabled": True}],
        }),
        resource("aws_cloudwatch_event_rule", "made", {"name": "made", "event_pattern": '{"source": ["shop"]}'}),
        resource("aws_cloudwatch_event_target", "made", {"target_id": "one", "input_path": "$.detail"}),
        resource("aws_lambda_function", "worker", {"handler": "app.handler", "runtime": "python3.12"}),
    ]  # fmt: skip
    configured = [
        {"address": "aws_cloudwatch_event_target.made", "expressions": {
            "rule": reference("aws_cloudwatch_event_rule.made.name"),
            "arn": reference("aws_lambda_function.worker.arn"),
        }},
    ]  # fmt: skip
    plan = {
        "format_version": "1.2", "planned_values": {"root_module": {"resources": planned}},
        "configuration": {"root_module": {"resources": configured}},
    }  # fmt: skip
    directory = project({"plan.json": json.dumps(plan)})

    template = read_template(directory / "plan.json", {}, SCOPE)

    resources: Any = template.root["Resources"]
    assert resources["Seen"]["Properties"] == {
        "TableName": "seen", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "by", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by", "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
        "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
        "TimeToLiveSpecification": {"AttributeName": "until", "Enabled": True},
    }  # fmt: skip
    rule = resources["CloudwatchEventRuleMade"]["Properties"]
    assert rule["EventPattern"] == {"source": ["shop"]}
    assert rule["Targets"] == [{"Id": "one", "Arn": {"Fn::GetAtt": ["Worker", "Arn"]}, "InputPath": "$.detail"}]
    assert template.functions[0].feed.told == "rule CloudwatchEventRuleMade"
