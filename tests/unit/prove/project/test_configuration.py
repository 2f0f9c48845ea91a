"""Terraform's files without a plan: the language, what its expressions come to, and what of a project they make."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.prove.project.configuration import plan_of
from redrive.prove.project.finding import find_templates
from redrive.prove.project.hcl_evaluation import Evaluation
from redrive.prove.project.hcl_syntax import MalformedConfiguration, parse
from redrive.prove.project.source import read_template
from redrive.prove.stage.stage import SCOPE
from tests.unit.prove.project.conftest import SENDS, Command, Project

ROOT = """
variable "stage" { default = "test" }
variable "team" { type = string }
locals {
  prefix = "${var.stage}-shop" # a comment
  common = { STAGE = upper(var.stage) }
}
/* The queue
   and its dead letters. */
resource "aws_sqs_queue" "dlq" { name = "${local.prefix}-dlq" }
resource "aws_sqs_queue" "orders" {
  name = "${local.prefix}-orders"
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dlq.arn, maxReceiveCount = 7 })
}
resource "aws_sqs_queue" "none" {
  count = var.stage == "prod" && var.team != "" ? 1 : 0
}
module "worker" {
  source    = "./modules/worker"
  queue_arn = aws_sqs_queue.orders.arn
  variables = merge(local.common, { NEXT = module.mails.url, WHERE = "at ${module.mails.url} now" })
}
module "mails" { source = "./modules/mails" }
"""
WORKER = """
variable "queue_arn" {}
variable "variables" {}
data "archive_file" "code" {
  type        = "zip"
  source_dir  = "${path.module}/../../build/worker"
  output_path = "worker.zip"
}
resource "aws_lambda_function" "this" {
  function_name = "worker"
  handler       = "app.handler"
  runtime       = "python3.12"
  filename      = data.archive_file.code.output_path
  environment { variables = var.variables }
}
resource "aws_lambda_event_source_mapping" "queue" {
  event_source_arn = var.queue_arn
  function_name    = aws_lambda_function.this.arn
}
"""
MAILS = """
resource "aws_sqs_queue" "mails" { name = "mails" }
output "url" { value = aws_sqs_queue.mails.url }
"""
PUTS = """
import boto3

def handler(event, context):
    boto3.client("dynamodb").put_item(TableName="seen", Item={"id": {"S": "a"}})
"""
FILES = {
    "infra/main.tf": ROOT, "infra/modules/worker/main.tf": WORKER, "infra/modules/mails/main.tf": MAILS,
    "handlers/worker/app.py": SENDS, "handlers/other/app.py": SENDS,
}  # fmt: skip


def test_functions_of_terraforms_files_are_proved_without_a_plan(project: Project, prove: Command) -> None:
    project(FILES)

    found = prove("-o", "json")

    document = json.loads(found.stdout)
    assert "Found infra/main.tf with 1 function: Worker." in found.stderr
    assert document["effects"] == {"message to mails": 1}
    assert document["assumptions"]["fed by"] == "queue Orders"
    assert document["assumptions"]["variable team of Terraform"] == "'sample-team', because it has no default"
    assert document["assumptions"]["code of Worker"].startswith("handlers/worker, because")


def test_values_of_files_come_through_variables_locals_and_modules(project: Project) -> None:
    directory = project(FILES)

    template = read_template(directory / "infra" / "main.tf", {}, SCOPE)

    resources: Any = template.root["Resources"]
    assert "None" not in resources
    assert resources["Orders"]["Properties"] == {
        "QueueName": "test-shop-orders",
        "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dlq", "Arn"]}, "maxReceiveCount": 7},
    }
    assert resources["Worker"]["Properties"]["Environment"]["Variables"] == {
        "STAGE": "TEST", "NEXT": {"Ref": "Mails"}, "WHERE": {"Ref": "Mails"},
    }  # fmt: skip


def test_state_machines_of_files_keep_their_definition(project: Project) -> None:
    directory = project({"main.tf": """
resource "aws_lambda_function" "step" { handler = "app.handler" }
resource "aws_sfn_state_machine" "work" {
  definition = jsonencode({
    StartAt = "A", States = { A = { Type = "Task", Resource = aws_lambda_function.step.arn } }
  })
}
"""})  # fmt: skip

    template = read_template(directory / "main.tf", {}, SCOPE)

    resources: Any = template.root["Resources"]
    text, names = resources["Work"]["Properties"]["DefinitionString"]["Fn::Sub"]
    assert json.loads(text)["States"]["A"]["Resource"] == "${Part0}"
    assert names == {"Part0": {"Fn::GetAtt": ["Step", "Arn"]}}


def test_plan_comes_before_the_files_and_modules_are_no_roots(project: Project) -> None:
    directory = project(FILES)
    assert find_templates(directory) == [directory / "infra" / "main.tf"]

    (directory / "infra" / "plan.json").write_text('{"planned_values": {}}', "utf-8")
    assert find_templates(directory) == [directory / "infra" / "plan.json"]


def test_of_environments_that_call_the_same_modules_one_is_proved(project: Project) -> None:
    call = 'module "worker" { source = "../../modules/worker" }'
    directory = project({
        "envs/dev/main.tf": call, "envs/prod/main.tf": call, "modules/worker/main.tf": WORKER,
        "examples/all/main.tf": call,
    })  # fmt: skip

    assert find_templates(directory) == [directory / "envs" / "dev" / "main.tf"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("true && 1 == 2 || !false", True),
        ('[for name in ["b", "a"] : upper(name) if name != "b"]', ["A"]),
        ('{ for key, value in { a = 1 } : "${key}!" => value }', {"a!": 1}),
        ('lookup({ a = "x" }, "b", "y")', "y"),
        ('format("%s-%d", "a", 3)', "a-3"),
        ('join(",", [for one in [{ n = 1 }, { n = 2 }] : one.n])', "1,2"),
        ('"a $${b} \\"c\\""', 'a ${b} "c"'),
        ("<<-END\n  one\n    two\n  END\n", "one\n  two\n"),
        ('[{ n = "x" }][*].n', ["x"]),
        ("try(null, [1, 2][1])", 2),
    ],
)
def test_expressions_come_to_what_terraform_says(project: Project, expression: str, value: object) -> None:
    attribute = parse(f"it = {expression}\n").attributes["it"]

    assert Evaluation(lambda _: None, project({})).value(attribute) == value


def test_malformed_files_are_told_with_their_line(project: Project) -> None:
    directory = project({"main.tf": 'resource "aws_sqs_queue" "orders" {\n  name = [1\n}\n'})

    with pytest.raises(MalformedConfiguration, match=r"main\.tf, line 3: "):
        plan_of(directory / "main.tf")


def test_code_that_fits_one_of_two_functions_is_not_given_to_the_other(project: Project) -> None:
    function = """
resource "aws_lambda_function" "{0}" {{
  s3_key  = "{0}.zip"
  handler = "app.handler"
  runtime = "python3.7"
}}
"""
    directory = project({
        "main.tf": function.format("mail_sender") + function.format("report"), "functions/mail-sender/app.py": SENDS,
    })  # fmt: skip

    template = read_template(directory / "main.tf", {}, SCOPE)

    assert template.code == {"MailSender": directory / "functions" / "mail-sender"}
    assert template.guesses["runtime of Report"].startswith("python3.12, because")


def test_schedule_of_files_invokes_its_function(project: Project, prove: Command) -> None:
    project({"app.py": PUTS, "main.tf": """
resource "aws_lambda_function" "report" {
  function_name = "report"
  handler       = "app.handler"
  runtime       = "python3.12"
}
resource "aws_scheduler_schedule" "nightly" {
  schedule_expression = "rate(1 day)"
  target {
    arn      = aws_lambda_function.report.arn
    role_arn = "somewhere"
  }
}
"""})  # fmt: skip

    found = prove("-o", "json")

    assert json.loads(found.stdout)["assumptions"]["fed by"] == "schedule Nightly"


def test_well_known_modules_of_the_registry_are_known_without_init(project: Project) -> None:
    directory = project({"src/app.py": SENDS, "main.tf": """
module "queue" {
  source     = "terraform-aws-modules/sqs/aws"
  name       = "orders"
  create_dlq = true
}
module "worker" {
  source                = "terraform-aws-modules/lambda/aws"
  version               = "~> 7.0"
  function_name         = "worker"
  handler               = "app.handler"
  runtime               = "python3.12"
  source_path           = "${path.module}/src"
  environment_variables = { NEXT = module.queue.queue_url }
  event_source_mapping = {
    sqs = { event_source_arn = module.queue.queue_arn, function_response_types = ["ReportBatchItemFailures"] }
  }
}
"""})  # fmt: skip

    (worker,) = read_template(directory / "main.tf", {}, SCOPE).functions

    assert (worker.logical_id, worker.code) == ("Worker", directory / "src")
    assert worker.feed.kind == "sqs"
    resources: Any = read_template(directory / "main.tf", {}, SCOPE).root["Resources"]
    assert resources["Worker"]["Properties"]["Environment"]["Variables"] == {"NEXT": {"Ref": worker.feed.source}}
    assert "RedrivePolicy" in resources[worker.feed.source]["Properties"]
