"""`redrive prove` in a project: every function of its template is proved, and each says what came of it."""

from __future__ import annotations

import json

import pytest

from tests.unit.prove.project.conftest import SENDS, STORES, Command, Project

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.12, Handler: app.handler, Timeout: 10}}
Resources:
  Dead: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}
  Mails: {Type: AWS::SQS::Queue}
  Table: {Type: AWS::Serverless::SimpleTable}
  Storing:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: storing/
      Environment: {Variables: {TABLE: !Ref Table}}
      Events: {Order: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn}}}
"""
SENDING = """
  Sending:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: sending/
      Environment: {Variables: {NEXT: !Ref Mails}}
      Events: {Order: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn}}}
"""
NODE = """
  Node:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: node/, Runtime: nodejs20.x}
"""
BROKEN = """
  Broken:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: broken/}
"""
GONE = """
  Gone:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: gone/}
"""
READING = """
  Reading:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: reading/}
"""
FILES = {
    "storing/app.py": STORES, "sending/app.py": SENDS, "broken/app.py": "import nobody_has_this\n",
    "reading/app.py": "def handler(event, context):\n    pass\n", "node/app.js": "",
}  # fmt: skip


def test_only_function_of_a_template_is_proved_without_naming_anything(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE, **FILES})

    found = prove()

    assert found.exit_code == 0, found.output
    assert "✓ app:handler: no counterexample up to 1 fault" in found.stdout
    assert "fed by: queue Orders" in found.stdout


def test_several_functions_are_proved_one_after_the_other_and_each_has_its_line(
    project: Project, prove: Command
) -> None:
    project({"template.yaml": TEMPLATE + SENDING + NODE + BROKEN + GONE + READING, **FILES})

    found = prove("-o", "json")

    rows = {row["function"]: row for row in json.loads(found.stdout)}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "Storing": "no counterexample", "Sending": "counterexample", "Node": "not Python", "Broken": "not proved",
        "Gone": "not proved", "Reading": "changes nothing",
    }  # fmt: skip
    assert rows["Sending"]["add"] == "See the history: redrive prove --template template.yaml --function Sending"
    assert "nodejs20.x" in rows["Node"]["verdict"]
    assert rows["Broken"]["add"].endswith("install nobody-has-this")
    assert "there is no" in rows["Gone"]["verdict"]
    assert "gone" in rows["Gone"]["verdict"]
    assert found.exit_code == 1


def test_table_has_every_function_and_what_to_do_about_it(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING + NODE, **FILES})

    found = prove()

    assert found.exit_code == 1
    assert "✓  Storing   sqs" in found.stdout
    assert "✗  Sending   sqs" in found.stdout
    assert "→ See the history: redrive prove --template template.yaml --function Sending" in found.stdout
    assert "[3/3] Node: not Python" in found.stderr


@pytest.mark.parametrize(
    ("more", "code"),
    [(READING + NODE, 0), (SENDING + BROKEN, 1), (BROKEN, 2)],
    ids=["nothing found", "a counterexample", "one that cannot be proved"],
)
def test_exit_code_is_that_of_the_worst_outcome(project: Project, prove: Command, more: str, code: int) -> None:
    project({"template.yaml": TEMPLATE + more, **FILES})

    assert prove().exit_code == code


def test_search_that_is_stopped_gives_3(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + READING, **FILES})

    assert prove("--seconds", "0.000001").exit_code == 3


def test_function_is_named_by_its_logical_id(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING, **FILES})

    named = prove("--function", "Sending")
    unknown = prove("--function", "Nobody")

    assert named.exit_code == 1
    assert "✗ app:handler: repeated" in named.stdout
    assert unknown.exit_code == 2
    assert "The project has Storing, Sending." in unknown.stderr


def test_handler_is_proved_with_the_function_of_its_file_where_two_have_the_same_name(
    project: Project, prove: Command
) -> None:
    project({"template.yaml": TEMPLATE + SENDING, **FILES})

    found = prove("sending/app.py:handler", "--template", "template.yaml")

    assert found.exit_code == 1, found.output
    assert "message to Mails" in found.stdout


def test_event_for_several_functions_is_refused(project: Project, prove: Command) -> None:
    project({"template.yaml": TEMPLATE + SENDING, "event.json": "{}", **FILES})

    found = prove("--event", "event.json")

    assert found.exit_code == 2
    assert "--function LOGICAL_ID" in found.stderr


def test_handlers_without_a_template_are_found_and_proved(project: Project, prove: Command) -> None:
    project({"one/app.py": SENDS, "two/other.py": FILES["reading/app.py"], "tests/test_app.py": SENDS})

    found = prove("-o", "json")

    rows = {row["function"]: row["outcome"] for row in json.loads(found.stdout)}
    assert rows == {"one/app.py:handler": "counterexample", "two/other.py:handler": "changes nothing"}


def test_many_handlers_without_a_template_are_listed_with_their_commands(project: Project, prove: Command) -> None:
    project({f"f{number}/app.py": SENDS for number in range(6)})

    found = prove()

    assert found.exit_code == 2
    assert "redrive prove f5/app.py:handler" in found.stderr


def test_project_without_anything_is_told_so_with_the_step_that_its_kind_needs(
    project: Project, prove: Command
) -> None:
    project({"main.tf": ""})

    found = prove()

    assert found.exit_code == 2
    assert "terraform show -json" in found.stderr


def test_functions_of_nested_stacks_are_proved_with_their_own_template(project: Project, prove: Command) -> None:
    above = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Inner: {Type: AWS::Serverless::Application, Properties: {Location: inner/template.yaml}}
  Outer:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: reading/, Runtime: python3.12, Handler: app.handler}
"""
    inner = {f"inner/{name}": text for name, text in FILES.items()}
    project({"template.yaml": above, "inner/template.yaml": TEMPLATE, **inner, **FILES})

    found = prove("-o", "json")

    rows = {row["function"]: row["outcome"] for row in json.loads(found.stdout)}
    assert rows == {"Outer": "changes nothing", "Inner/Storing": "no counterexample"}


def test_command_to_type_next_names_the_function_of_the_template(project: Project, prove: Command) -> None:
    failing = "def handler(event, context):\n    int(event['Records'][0]['body']) // 0\n"
    project({"template.yaml": TEMPLATE, "storing/app.py": failing})

    refused = prove("--function", "Storing")

    assert refused.exit_code == 2
    assert "Next: redrive prove --template template.yaml --function Storing --save-event event.json" in refused.stderr
