"""Functions behind an API as triggers: the event of a request, a client that asks once more, a template's routes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import boto3
import pytest

from redrive.core.scope import Caller
from redrive.delivery.outside.invocation import InvocationResult, InvocationStatus
from redrive.delivery.web import WebCall
from redrive.prove.guess.reading import Reading, read_handler
from redrive.prove.guess.web_samples import REQUEST_ID, Route, sample_request
from redrive.prove.process.subject import GivenSubject, subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.inputs import inputs_for, usual_call
from redrive.prove.stage.retriers import WEB_CLIENT, status_of
from redrive.prove.stage.sampled import NOTHING_KNOWN
from redrive.prove.stage.sources import messages_of
from redrive.prove.stage.stage import SCOPE, START
from redrive.prove.stage.trigger import Kind
from redrive.services.lambda_.model.url_payloads import url_event
from tests.unit.prove.conftest import Prover
from tests.unit.prove.invoking import DONE, Answering, failed, play_out, stage_for

REST_KEYS = {
    "resource", "path", "httpMethod", "headers", "multiValueHeaders", "queryStringParameters",
    "multiValueQueryStringParameters", "pathParameters", "stageVariables", "requestContext", "body", "isBase64Encoded",
}  # fmt: skip
"""https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html"""


def answer(status: object) -> InvocationResult:
    return InvocationResult(InvocationStatus.OK, json.dumps({"statusCode": status, "body": ""}).encode())


def request_event() -> str:
    (text,), _ = inputs_for(Kind.API, None, NOTHING_KNOWN)
    return text


def played(*answers: InvocationResult, redrives: int = 0) -> tuple[Answering, int]:
    invoker = Answering(*answers)
    stage = stage_for(invoker)
    messages = messages_of(stage, usual_call(stage, (request_event(),), Kind.API))
    messages.send(0)
    play_out(stage, messages)
    for _ in range(redrives):
        messages.redrive()
        play_out(stage, messages)
    return invoker, messages.look().dead


def put(key: str) -> None:
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": key}})


def test_event_of_a_rest_api_has_the_members_that_aws_documents() -> None:
    event = json.loads(request_event())

    assert event.keys() == REST_KEYS
    assert event["requestContext"]["requestId"] == REQUEST_ID
    assert event["requestContext"]["identity"]["sourceIp"]


def test_event_of_an_http_api_has_the_members_of_the_engines_function_urls() -> None:
    sent = WebCall(
        "url", "POST", "/orders/7", "a=1", {"host": "x:1", "content-type": "application/json"}, b"{}",
        Caller(SCOPE, "request"),
    )  # fmt: skip
    real = url_event(sent, function_account=SCOPE.account, region=SCOPE.region, now=START, is_iam=False)
    reading = Reading({("queryStringParameters", "a"): "app.py:1"})

    made = sample_request(reading, None, Route("POST", "/orders"), is_v2=True).event

    assert made.keys() == real.keys()
    assert made["requestContext"].keys() == real["requestContext"].keys()
    assert made["requestContext"]["http"].keys() == real["requestContext"]["http"].keys()


def test_request_has_what_the_handler_reads(tmp_path: Path) -> None:
    file = tmp_path / "app_reads.py"
    file.write_text(
        "import json\ndef handler(event, context):\n"
        "    if event['requestContext']['http']['method'] == 'PUT':\n        pass\n"
        "    who = event['requestContext']['authorizer']['jwt']['claims']['sub']\n"
        "    key = event['headers']['idempotency-key']\n    one = event['pathParameters']['order_id']\n"
        "    return json.loads(event['body'])['amount']\n"
    )

    event = sample_request(read_handler(file, "handler"), file).event

    assert event["version"] == "2.0"
    assert event["routeKey"] == "PUT /sample/{order_id}"
    assert event["requestContext"]["authorizer"]["jwt"]["claims"] == {"sub": "sample-sub"}
    assert event["requestContext"]["http"]["sourceIp"]
    assert event["headers"]["idempotency-key"] == "sample-idempotency-key"
    assert json.loads(event["body"]) == {"amount": 1}


def test_route_of_a_resolver_in_the_code_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "app_routes.py"
    file.write_text(
        "app = APIGatewayRestResolver()\n@app.get('/orders')\ndef listed(): ...\n"
        "@app.post('/customers/<customer>/orders')\ndef made(customer):\n"
        "    data = app.current_event.json_body\n    return data['amount'], data.get('note')\n"
        "def handler(event, context):\n    return app.resolve(event, context)\n"
    )

    event = sample_request(read_handler(file, "handler"), file).event

    assert (event["httpMethod"], event["path"]) == ("POST", "/customers/sample-customer/orders")
    assert event["resource"] == "/customers/{customer}/orders"
    assert json.loads(event["body"]) == {"amount": 1, "note": "sample-note"}


def test_client_asks_once_more_after_a_servers_error_under_another_id() -> None:
    invoker, dead = played(failed("Error"), answer(201))

    assert invoker.at_s == [0, 1]
    first, second = invoker.events
    assert first["requestContext"].pop("requestId") != second["requestContext"].pop("requestId")
    assert first == second
    assert len(set(invoker.request_ids)) == 2
    assert dead == 0


@pytest.mark.parametrize(
    ("answers", "runs", "dead"),
    [
        ((answer(500), answer(503)), 2, 1), ((answer(409),), 1, 1), ((answer("200"),), 1, 0), ((DONE,), 2, 1),
        ((answer("x"), answer(200)), 2, 0),
    ],
)  # fmt: skip
def test_client_gives_up_after_two_servers_errors_or_one_of_its_own(answers: Any, runs: int, dead: int) -> None:
    """A REST API takes an answer without a status for malformed, which is a 502."""
    invoker, given_up = played(*answers, *([DONE] if answers == (DONE,) else []))

    assert (len(invoker.runs), given_up) == (runs, dead)


def test_user_sends_the_request_again_after_it_was_given_up() -> None:
    invoker, dead = played(answer(500), answer(500), answer(200), redrives=1)

    assert (len(invoker.runs), dead) == (3, 0)


def test_answer_without_a_status_is_a_body_unless_an_api_is_a_rest_api() -> None:
    assert status_of(b'{"ok": true}', is_proxy=False) == 200
    assert status_of(b'{"ok": true}', is_proxy=True) is None
    assert status_of(b"no json", is_proxy=False) is None
    assert WEB_CLIENT.may_overlap(30_000)


def test_handler_that_keys_by_what_the_client_sends_is_proved(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> Any:
        put(json.loads(event["body"])["id"])
        return {"statusCode": 201}

    verdict = proved(handler, trigger=Kind.API, faults=2)

    assert verdict.counterexample is None
    assert verdict.trigger is Kind.API


def test_id_of_the_request_is_no_key_because_the_client_asks_again_under_another_one(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> Any:
        put(event["requestContext"]["requestId"])
        return {"statusCode": 201}

    found = proved(handler, trigger=Kind.API).counterexample

    assert found is not None
    assert found.violation.rule.value == "repeated"
    assert "Idempotency-Key" in found.advice


def test_handler_that_answers_success_after_an_error_loses_the_work(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> Any:
        try:
            put(json.loads(event["body"])["id"])
        except Exception:  # noqa: BLE001 - it is what the handler does wrong.
            return {"statusCode": 200, "body": "failed"}
        return {"statusCode": 201}

    found = proved(handler, trigger=Kind.API).counterexample

    assert found is not None
    assert found.violation.rule.value == "lost"


def test_handler_that_tells_its_client_of_the_error_loses_nothing(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> Any:
        try:
            put(json.loads(event["body"])["id"])
        except Exception:  # noqa: BLE001 - it is told to the client.
            return {"statusCode": 503}
        return {"statusCode": 201}

    assert proved(handler, trigger=Kind.API, faults=2).counterexample is None


def test_event_that_is_no_request_is_the_body_of_one(proved: Prover) -> None:
    seen: list[Any] = []

    def handler(event: Any, context: Any) -> Any:
        seen.append(json.loads(event["body"]))
        put(json.loads(event["body"])["order"])
        return {"statusCode": 201}

    proved(handler, trigger=Kind.API, bodies=('{"order": "o-1"}',))

    assert seen[0] == {"order": "o-1"}


def test_source_says_that_a_request_invokes_the_handler(tmp_path: Path) -> None:
    (tmp_path / "app_of_api.py").write_text(
        "import json, boto3\ndef handler(event, context):\n"
        "    order = json.loads(event['body'])['order']\n"
        "    boto3.client('dynamodb').put_item(TableName='orders', Item={'id': {'S': order}})\n"
        "    return {'statusCode': 200}\n"
    )

    verdict = prove(subject_of("app_of_api:handler", tmp_path), Options(faults=1))

    assert verdict.trigger is Kind.API
    assert verdict.counterexample is None


SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Orders: {Type: AWS::Serverless::SimpleTable}
  Api:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      Handler: app_of_api.handler
      CodeUri: .
      Environment: {Variables: {TABLE: !Ref Orders}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Orders}}]
      %s
"""
CODE = """
import json, os
import boto3

def handler(event, context):
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": event["pathParameters"]["id"]}})
    return {"statusCode": 200}
"""


@pytest.mark.parametrize(
    ("events", "key", "path"),
    [
        ("Events: {Put: {Type: Api, Properties: {Path: '/orders/{id}', Method: put}}}", "httpMethod", "path"),
        ("Events: {Put: {Type: HttpApi, Properties: {Path: '/orders/{id}', Method: put}}}", "version", "rawPath"),
        ("FunctionUrlConfig: {AuthType: NONE}", "version", "rawPath"),
    ],
    ids=["rest", "http", "url"],
)
def test_function_of_an_api_of_the_template_gets_a_request_to_its_route(
    tmp_path: Path, events: str, key: str, path: str
) -> None:
    (tmp_path / "app_of_api.py").write_text(CODE)
    (tmp_path / "template.yaml").write_text(SAM % events)

    verdict = prove(None, Options(template=tmp_path / "template.yaml", faults=1))

    assert verdict.trigger is Kind.API
    assert verdict.counterexample is None
    event = json.loads(verdict.bodies[0])
    assert key in event
    assert event[path].endswith("/sample-id")
    assert event["pathParameters"] == {"id": "sample-id"}


def test_callable_of_a_template_is_proved_as_the_function_of_its_api(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(
        SAM % "Events: {Put: {Type: Api, Properties: {Path: '/orders/{id}', Method: put}}}"
    )

    def handler(event: Any, context: Any) -> Any:
        key = {"id": {"S": context.aws_request_id}}
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item=key)
        return {"statusCode": 200}

    verdict = prove(GivenSubject(handler), Options(template=tmp_path / "template.yaml", faults=1))

    assert verdict.trigger is Kind.API
    assert verdict.counterexample is not None
