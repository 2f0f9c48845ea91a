"""A template is made ready for one function: what cannot be made, or would only get in the way, becomes a stub."""

from __future__ import annotations

import json

from tests.unit.prove.project.conftest import STORES, Command, Project

SENDING = """
  Worker:
    Type: AWS::Lambda::Function
    Properties:
      Handler: index.handler
      Runtime: python3.12
      Role: arn:aws:iam::000000000000:role/of-another-stack
      VpcConfig: {SubnetIds: [none], SecurityGroupIds: [none]}
      Layers: ['arn:aws:lambda:us-east-1:017000801446:layer:AWSLambdaPowertoolsPythonV3:1']
      Environment: {Variables: {NEXT: !Ref Mails}}
      Code:
        ZipFile: |
          import boto3, os, cfnresponse
          def handler(event, context):
              boto3.client("sqs").send_message(QueueUrl=os.environ["NEXT"], MessageBody="x")
"""


def test_function_is_proved_though_its_queue_its_role_and_much_else_are_not_here(
    project: Project, prove: Command
) -> None:
    template = f"""
Parameters:
  QueueArn: {{Type: String}}
  Subnet: {{Type: 'AWS::SSM::Parameter::Value<AWS::EC2::Subnet::Id>', Default: /net}}
Resources:
  Mails: {{Type: AWS::SQS::Queue}}
  Made: {{Type: Custom::Thing, Properties: {{ServiceToken: !GetAtt Worker.Arn}}}}
  Database: {{Type: AWS::RDS::DBInstance, Properties: {{DBSubnetGroupName: !Ref Subnet}}}}
  Faulty: {{Type: AWS::SQS::Queue, Properties: {{VisibilityTimeout: 999999}}}}
  Fed:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {{FunctionName: !Ref Worker, EventSourceArn: !Ref QueueArn, BatchSize: 1}}
{SENDING}"""
    project({"template.yaml": template})

    found = prove("-o", "json")

    document = json.loads(found.stdout)
    assert found.exit_code == 1, found.output
    assert document["trigger"] == "sqs"
    assert document["assumptions"]["fed by"] == ("a queue that the template does not have, and a custom resource")
    assert "a stub, because it cannot be made" in document["assumptions"]["resource Faulty"]


def test_template_without_a_function_gives_its_tables_and_queues(project: Project, prove: Command) -> None:
    template = """
Resources:
  Table: {Type: AWS::DynamoDB::Table, Properties: {
    TableName: orders, BillingMode: PAY_PER_REQUEST, KeySchema: [{AttributeName: id, KeyType: HASH}],
    AttributeDefinitions: [{AttributeName: id, AttributeType: S}]}}
"""
    project({"tables.yaml": template, "app.py": STORES})

    found = prove("app:handler", "--template", "tables.yaml", "--env", "TABLE=orders")

    assert found.exit_code == 0, found.output
    assert "assumed: fed by: what is usual, because the template has no function" in found.stdout
    assert "table orders" not in found.stdout, "the table is declared, and not guessed"


def test_refusal_of_an_api_is_no_success(project: Project, prove: Command) -> None:
    """Its client is told of the failure and calls again, so nothing is lost; a repeated call is a finding, though."""
    handler = """
import json, os, boto3
from botocore.exceptions import ClientError

def handler(event, context):
    order = json.loads(event["body"])["order"]
    try:
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": str(order)}})
    except ClientError:
        return {"statusCode": 500}
    return {"statusCode": 200}
"""
    template = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Table: {Type: AWS::Serverless::SimpleTable}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: .
      Handler: app.handler
      Runtime: python3.12
      Environment: {Variables: {TABLE: !Ref Table}}
      Events: {Order: {Type: HttpApi, Properties: {Path: /orders, Method: post}}}
"""
    project({"template.yaml": template, "app.py": handler, "event.json": '{"body": "{\\"order\\": 1}"}'})

    found = prove()
    without = prove("app:handler", "--trigger", "lambda", "--template", "template.yaml", "--event", "event.json")

    assert found.exit_code == 0, found.output
    assert '"routeKey":"POST' in found.stdout
    assert without.exit_code == 1, "an asynchronous invocation that returns is done, whatever it returned"
