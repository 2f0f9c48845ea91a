"""Variables that the user gives a handler: on the command line, in a file, and in the project's .env."""

from __future__ import annotations

from redrive.prove.project.environment import read_variables
from tests.unit.prove.project.conftest import Command, Project

HANDLER = """
import os, boto3

def handler(event, context):
    for record in event["Records"]:
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": "1"}})
"""
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Table: {Type: AWS::DynamoDB::Table, Properties: {
    TableName: declared, BillingMode: PAY_PER_REQUEST, KeySchema: [{AttributeName: id, KeyType: HASH}],
    AttributeDefinitions: [{AttributeName: id, AttributeType: S}]}}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: .
      Handler: app.handler
      Runtime: python3.12
      Environment: {Variables: {TABLE: !Ref Table}}
"""


def test_file_of_variables_is_read_as_shells_and_dotenv_read_it(project: Project) -> None:
    directory = project({".env": (
        "# a comment\nPLAIN=one # of it\nexport EXPORTED = two\nSINGLE='th#ree $X'\nDOUBLE=\"fo\\nur\"\nEMPTY=\n"
        "AWS_SECRET_ACCESS_KEY=secret\nAWS_PROFILE=prod\nno line\n"
    )})  # fmt: skip

    assert read_variables(directory / ".env") == {
        "PLAIN": "one", "EXPORTED": "two", "SINGLE": "th#ree $X", "DOUBLE": "fo\nur", "EMPTY": "",
    }  # fmt: skip


def test_env_sets_a_variable_before_the_template_and_env_before_a_file(project: Project, prove: Command) -> None:
    project({"app.py": HANDLER, "template.yaml": TEMPLATE, "vars.txt": "TABLE=of_file\n"})

    declared = prove()
    of_file = prove("--env-file", "vars.txt")
    given = prove("--env-file", "vars.txt", "--env", "TABLE=given")

    assert "item in declared" in declared.stdout
    assert "item in of_file" in of_file.stdout
    assert "item in given" in given.stdout


def test_env_of_the_project_holds_where_the_template_says_nothing_and_is_told_without_values(
    project: Project, prove: Command
) -> None:
    without = TEMPLATE.replace("      Environment: {Variables: {TABLE: !Ref Table}}\n", "")
    files = {"app.py": HANDLER, ".env": "TABLE=of_dotenv\nAPI_KEY=secret\nAWS_ACCESS_KEY_ID=secret\n"}
    project({**files, "template.yaml": without})
    taken = prove()
    project({**files, "template.yaml": TEMPLATE})
    declared = prove()

    assert "item in of_dotenv" in taken.stdout
    assert "assumed: variables of .env: TABLE\n" in taken.stdout
    assert "secret" not in taken.output
    assert "item in declared" in declared.stdout


def test_variable_that_is_no_pair_is_refused(project: Project, prove: Command) -> None:
    project({"app.py": HANDLER, "template.yaml": TEMPLATE})

    found = prove("--env", "TABLE")

    assert found.exit_code == 2
    assert "--env 'TABLE' is not KEY=VALUE" in found.stderr
