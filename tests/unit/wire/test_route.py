"""Which operation a request is for."""

from __future__ import annotations

import dataclasses

import orjson
import pytest

from redrive.wire.message import HttpRequest
from redrive.wire.model.files import Models
from redrive.wire.protocols.paths import PathTable
from redrive.wire.route import Router, Unroutable
from redrive.wire.services import SERVICES, ServiceSpec
from tests.unit.wire.botocore_client import service_model, signature

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
FUNCTIONS = "/2015-03-31/functions"


def request(
    method: str, path: str, query: str = "", headers: dict[str, str] | None = None, body: bytes = b""
) -> HttpRequest:
    return HttpRequest(method, path, query, headers or {}, body)


def refusal(router: Router, of: HttpRequest) -> Unroutable:
    with pytest.raises(Unroutable) as caught:
        router.route(of)
    return caught.value


@pytest.mark.parametrize("spec", SERVICES, ids=lambda spec: spec.name)
def test_table_agrees_with_the_models(models: Models, spec: ServiceSpec) -> None:
    """What the table repeats from the models, to find services without reading them, is what they say."""
    metadata = service_model(spec.name).metadata

    assert metadata["protocol"] == spec.protocols[0]
    assert metadata.get("targetPrefix", "") == spec.target_prefix
    assert service_model(spec.name).signing_name == spec.signing_name
    assert models.api_version(spec.name) == metadata["apiVersion"]


def test_names_on_the_query_protocol_belong_to_shapes_of_the_model(models: Models) -> None:
    """A renamed member exists, and every flattened list and map of SQS has a name for its parts."""
    sqs = models.service("sqs")
    names = sqs.spec.query_names

    parts = {(shape.name, part) for shape in sqs.shapes.values() for part in [*shape.members, *shape.parts]}
    parts_of_collections = {(shape.name, part) for shape in sqs.shapes.values() for part in shape.parts}

    assert set(names) <= parts
    assert parts_of_collections <= set(names)


def test_target_header_names_service_and_operation(router: Router) -> None:
    """The JSON protocols need no signature to be told apart."""
    route = router.route(request("POST", "/", headers={"x-amz-target": "DynamoDB_20120810.PutItem"}))

    assert (route.service.name, route.operation.name) == ("dynamodb", "PutItem")


def test_unknown_operation_of_a_json_service(router: Router) -> None:
    """UnknownOperationException, 400."""
    error = refusal(router, request("POST", "/", headers={"x-amz-target": "DynamoDB_20120810.EatItem"}))
    response = error.codec.encode_error(error, "id-1")

    assert response.status == 400
    assert orjson.loads(response.body)["__type"] == "com.amazon.coral.service#UnknownOperationException"


def test_unknown_target(router: Router) -> None:
    """A service that is not served answers as a JSON service does."""
    error = refusal(router, request("POST", "/", headers={"x-amz-target": "Firehose_20150804.PutRecord"}))

    assert error.code == "UnknownOperationException"
    assert error.message.startswith("The service Firehose_20150804 is not served here.")
    assert error.codec.encode_error(error, "id-1").status == 400


@pytest.mark.parametrize(
    ("method", "path", "query", "operation", "params"),
    [
        ("POST", f"{FUNCTIONS}/f/invocations", "", "Invoke", {"FunctionName": "f"}),
        (
            "POST",
            f"{FUNCTIONS}/arn%3Aaws%3Alambda%3Aeu-west-1%3A1%3Afunction%3Af/invocations",
            "",
            "Invoke",
            {"FunctionName": "arn:aws:lambda:eu-west-1:1:function:f"},
        ),
        ("POST", "/2014-11-13/functions/f/invoke-async/", "", "InvokeAsync", {"FunctionName": "f"}),
        ("GET", "/2015-03-31/event-source-mappings", "", "ListEventSourceMappings", {}),
        ("GET", "/2015-03-31/event-source-mappings/", "MaxItems=1", "ListEventSourceMappings", {}),
        ("GET", "/2018-10-31/layers", "find=LayerVersion&Arn=a", "GetLayerVersionByArn", {}),
        ("GET", "/2018-10-31/layers", "", "ListLayers", {}),
    ],
)
def test_path_names_the_operation_of_a_rest_service(
    router: Router, *, method: str, path: str, query: str, operation: str, params: dict[str, str]
) -> None:
    """The template's labels are decoded; a template with a fixed query beats one without."""
    route = router.route(request(method, path, query, signature("lambda")))

    assert route.operation.name == operation
    assert dict(route.path_params) == params


def test_label_does_not_take_an_encoded_slash_for_a_boundary(router: Router) -> None:
    """A raw path is split before it is decoded."""
    route = router.route(request("GET", "/schedules/a%2Fb", headers=signature("scheduler")))

    assert dict(route.path_params) == {"Name": "a/b"}


def test_greedy_label_takes_the_rest_of_the_path(models: Models) -> None:
    """`{Key+}` matches across slashes, and a literal beats a label."""
    some = models.service("scheduler").operations["GetSchedule"]
    table = PathTable(
        dataclasses.replace(some, name=name, uri=uri)
        for name, uri in [("Object", "/{Bucket}/{Key+}"), ("Bucket", "/{Bucket}"), ("Reports", "/reports")]
    )

    found = [table.match("GET", path, "") for path in ("/b/x/y%20z", "/b", "/reports")]

    assert [(match[0].name, dict(match[1])) for match in found if match is not None] == [
        ("Object", {"Bucket": "b", "Key": "x/y z"}),
        ("Bucket", {"Bucket": "b"}),
        ("Reports", {}),
    ]


def test_unsigned_rest_request_is_found_by_its_path(router: Router) -> None:
    """A plain `curl` of a REST service works."""
    route = router.route(request("GET", "/schedules/nightly"))

    assert (route.service.name, route.operation.name) == ("scheduler", "GetSchedule")


def test_unknown_path_of_a_rest_service(router: Router) -> None:
    """UnknownOperationException, 404, named in a header."""
    error = refusal(router, request("PATCH", "/schedules/x", headers=signature("scheduler")))
    response = error.codec.encode_error(error, "id-1")

    assert response.status == 404
    assert ("x-amzn-ErrorType", "UnknownOperationException") in response.headers


@pytest.mark.parametrize(
    ("service", "fields", "operation"),
    [
        ("iam", "Action=CreateRole&Version=2010-05-08", "CreateRole"),
        ("sts", "Action=GetCallerIdentity&Version=2011-06-15", "GetCallerIdentity"),
        ("sqs", "Action=SendMessage&MessageBody=x", "SendMessage"),
    ],
)
def test_action_names_the_operation_of_a_query_service(
    router: Router, service: str, fields: str, operation: str
) -> None:
    """In the form of a POST as well as in the query string of a GET."""
    posted = router.route(request("POST", "/", headers=FORM | signature(service), body=fields.encode()))
    got = router.route(request("GET", "/", fields, signature(service)))

    assert (posted.service.name, posted.operation.name) == (service, operation)
    assert (got.service.name, got.operation.name) == (service, operation)


def test_form_posted_to_a_queue_is_about_that_queue(router: Router) -> None:
    """The older SQS clients post to the queue's URL and name it nowhere else."""
    headers = FORM | signature("sqs") | {"host": "localhost:4566"}
    sent = request("POST", "/123456789012/orders", headers=headers, body=b"Action=SendMessage&MessageBody=x")

    route = router.route(sent)

    assert route.codec.decode(route.operation, sent, route.path_params) == {
        "QueueUrl": "http://localhost:4566/123456789012/orders",
        "MessageBody": "x",
    }


def test_unsigned_form_is_found_by_its_version_and_action(router: Router) -> None:
    """AssumeRoleWithWebIdentity is never signed."""
    body = b"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=a"

    route = router.route(request("POST", "/", headers=FORM, body=body))

    assert (route.service.name, route.operation.name) == ("sts", "AssumeRoleWithWebIdentity")


@pytest.mark.parametrize(
    ("service", "fields", "code", "message"),
    [
        ("sqs", "Action=Dance", "InvalidAction", "The action Dance is not valid for this endpoint."),
        (
            "iam",
            "Action=Dance&Version=2010-05-08",
            "InvalidAction",
            "Could not find operation Dance for version 2010-05-08",
        ),
        ("iam", "Action=ListUsers&Version=1", "InvalidAction", "Could not find operation ListUsers for version 1"),
        ("sts", "x=1", "MissingAction", "The request is missing an action or a required parameter."),
    ],
)
def test_action_that_does_not_exist(router: Router, service: str, fields: str, code: str, message: str) -> None:
    """InvalidAction or MissingAction, 400, in XML."""
    error = refusal(router, request("POST", "/", headers=FORM | signature(service), body=fields.encode()))
    response = error.codec.encode_error(error, "id-1")

    assert response.status == 400
    assert f"<Code>{code}</Code><Message>{message}</Message>" in response.body.decode()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (signature("firehose"), b'"message":"The service firehose is not served here. Served are: cloudformation, '),
        (signature("firehose") | FORM, b"<Code>InvalidAction</Code><Message>The service firehose is not served here."),
        ({"authorization": "Basic x"}, b"Authorization header requires 'Credential' parameter."),
        ({}, b"Unable to find an operation for POST /."),
    ],
)
def test_request_for_no_service_is_answered_in_the_callers_protocol(
    router: Router, headers: dict[str, str], expected: bytes
) -> None:
    """A form is answered in XML, anything else in JSON."""
    error = refusal(router, request("POST", "/", headers=headers))

    assert expected in error.codec.encode_error(error, "id-1").body
