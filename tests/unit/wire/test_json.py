"""The AWS JSON protocols: what is refused, and how errors look."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import botocore.parsers
import orjson
import pytest
from botocore.awsrequest import HeadersDict

from redrive.core.documents import EncodedDocument
from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.route import Router
from tests.unit.wire.botocore_client import service_model


def decode(router: Router, target: str, body: bytes) -> dict[str, Any]:
    request = HttpRequest("POST", "/", "", {"x-amz-target": target}, body)
    route = router.route(request)
    return route.codec.decode(route.operation, request, route.path_params)


def error_seen_by_botocore(service: str, response: HttpResponse) -> dict[str, Any]:
    parser = botocore.parsers.create_parser(service_model(service).protocol)
    answer = {"status_code": response.status, "headers": HeadersDict(response.headers), "body": response.body}
    parsed: dict[str, Any] = parser.parse(answer, None)
    return parsed


def test_unknown_members_and_nulls_are_left_out(router: Router) -> None:
    """A newer client may know more members than the model."""
    params = decode(router, "AmazonSQS.SendMessage", b'{"QueueUrl":"q","MessageBody":null,"Priority":1}')

    assert params == {"QueueUrl": "q"}


def test_empty_body_is_no_parameters(router: Router) -> None:
    """An operation without parameters may come without a body."""
    assert decode(router, "AmazonSQS.ListQueues", b"") == {}


def test_blobs_are_bytes(router: Router) -> None:
    """JSON carries them in Base64."""
    body = orjson.dumps({"Item": {"b": {"B": base64.b64encode(b"\x00\xff").decode()}}})

    assert decode(router, "DynamoDB_20120810.PutItem", body) == {"Item": {"b": {"B": b"\x00\xff"}}}


@pytest.mark.parametrize(
    ("target", "body", "message"),
    [
        ("AmazonSQS.SendMessage", b'{"QueueUrl":', "Unable to parse the request body as JSON."),
        ("AmazonSQS.SendMessage", b'{"MessageBody":"\\ud800"}', "Unable to parse the request body as JSON."),
        ("AmazonSQS.SendMessage", b'{"MessageBody":"\xed\xa0\x80"}', "Unable to parse the request body as JSON."),
        ("AmazonSQS.CreateQueue", b'{"tags":{"\\ud800":"a"}}', "Unable to parse the request body as JSON."),
        ("DynamoDB_20120810.PutItem", b'{"Item":{"a":{"S":"\\udfff"}}}', "Unable to parse the request body as JSON."),
        ("AmazonSQS.SendMessage", b"[1]", "Start of structure or map found where not expected."),
        ("AmazonSQS.SendMessage", b"1", "Unexpected value type in payload"),
        ("AmazonSQS.SendMessage", b'{"MessageBody":1}', "NUMBER_VALUE can not be converted to a String"),
        ("AmazonSQS.SendMessage", b'{"MessageBody":1.5}', "DECIMAL_VALUE can not be converted to a String"),
        ("AmazonSQS.SendMessage", b'{"MessageBody":true}', "TRUE_VALUE can not be converted to a String"),
        ("AmazonSQS.SendMessage", b'{"MessageBody":{}}', "Start of structure or map found where not expected."),
        ("AmazonSQS.SendMessage", b'{"MessageBody":[]}', "Unrecognized collection type class java.lang.String"),
        ("AmazonSQS.SendMessage", b'{"DelaySeconds":"1"}', "STRING_VALUE can not be converted to an Integer"),
        ("AmazonSQS.SendMessage", b'{"DelaySeconds":3000000000}', "NUMBER_VALUE can not be converted to an Integer"),
        ("AmazonSQS.SendMessage", b'{"MessageAttributes":"x"}', "Unexpected value type in payload"),
        ("AmazonSQS.SendMessageBatch", b'{"Entries":"x"}', "Unexpected field type"),
        ("AmazonSQS.SendMessageBatch", b'{"Entries":[null]}', "A list must not contain null values."),
        ("AmazonSQS.TagQueue", b'{"Tags":{"a":null}}', "A map must not contain null values."),
        ("DynamoDB_20120810.PutItem", b'{"TableName":1}', "NUMBER_VALUE cannot be converted to String"),
        ("DynamoDB_20120810.PutItem", b'{"Item":{"n":{"N":1}}}', "NUMBER_VALUE cannot be converted to String"),
        ("DynamoDB_20120810.PutItem", b'{"TableName":{}}', "Start of structure or map found where not expected"),
        ("DynamoDB_20120810.GetItem", b'{"ConsistentRead":1}', "NUMBER_VALUE cannot be converted to Boolean"),
        ("DynamoDB_20120810.GetItem", b'{"ConsistentRead":"x"}', "Unexpected token received from parser"),
        (
            "DynamoDB_20120810.BatchWriteItem",
            b'{"RequestItems":{"t":[[]]}}',
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.WriteRequest",
        ),
        (
            "DynamoDB_20120810.PutItem",
            b'{"Item":{"b":{"B":"%"}}}',
            "Invalid length for a base64 encoded array or invalid characters.",
        ),
    ],
)
def test_value_of_the_wrong_type_is_refused_in_aws_words(
    router: Router, target: str, body: bytes, message: str
) -> None:
    """SerializationException says which token met which type."""
    with pytest.raises(ServiceError) as caught:
        decode(router, target, body)

    assert (caught.value.code, caught.value.message) == ("SerializationException", message)


def test_document_that_nests_without_end_is_refused(router: Router) -> None:
    """Depth is the caller's fault, not ours."""
    for depth in (100, 400, 1000):
        body = b'{"Item":{"k":' + b'{"M":{"k":' * depth + b'{"S":""}' + b"}}" * depth + b"}}"

        with pytest.raises(ServiceError, match="SerializationException"):
            decode(router, "DynamoDB_20120810.PutItem", body)


def test_what_is_deeper_than_its_shape_is_skipped(router: Router) -> None:
    """A member that the model does not know is left out, whatever is inside."""
    body = b'{"QueueName":"orders","Unknown":' + b"[" * 400 + b"]" * 400 + b"}"

    params = decode(router, "AmazonSQS.CreateQueue", body)

    assert params == {"QueueName": "orders"}


def test_wide_document_is_not_a_deep_one(router: Router) -> None:
    """Many small values are as good as few."""
    items = [{"S": "x"}] * 1000

    params = decode(router, "DynamoDB_20120810.PutItem", orjson.dumps({"Item": {"k": {"L": items}}}))

    assert params == {"Item": {"k": {"L": items}}}


@pytest.mark.parametrize("code", ["QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"])
def test_sqs_error_has_both_its_names(router: Router, code: str) -> None:
    """The shape's name is in the body, the code of the query protocol in a header; either may be raised.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-json-api-responses.html
    """
    error = ServiceError(code, "The specified queue does not exist.")

    response = router.codec("sqs", "json").encode_error(error, "id-1")

    assert response.status == 400
    assert orjson.loads(response.body) == {
        "__type": "com.amazonaws.sqs#QueueDoesNotExist",
        "message": "The specified queue does not exist.",
    }
    assert ("x-amzn-query-error", "AWS.SimpleQueueService.NonExistentQueue;Sender") in response.headers
    assert error_seen_by_botocore("sqs", response)["Error"] == {
        "Code": "AWS.SimpleQueueService.NonExistentQueue",
        "QueryErrorCode": "QueueDoesNotExist",
        "Message": "The specified queue does not exist.",
        "Type": "Sender",
    }


@pytest.mark.parametrize("code", ["InvalidParameterValue", "InvalidParameterValueException"])
def test_common_error_of_sqs_is_known_by_either_name(router: Router, code: str) -> None:
    """Errors that the model does not declare have two names as well."""
    response = router.codec("sqs", "json").encode_error(ServiceError(code, "m"), "id-1")

    error = error_seen_by_botocore("sqs", response)["Error"]
    assert (error["Code"], error["QueryErrorCode"]) == ("InvalidParameterValue", "InvalidParameterValueException")


@pytest.mark.parametrize(
    ("service", "error", "status", "type_name", "message_key"),
    [
        (
            "dynamodb",
            ServiceError("ResourceNotFoundException", "m"),
            400,
            "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
            "message",
        ),
        (
            "dynamodb",
            ServiceError("ValidationException", "m"),
            400,
            "com.amazon.coral.validate#ValidationException",
            "message",
        ),
        (
            "dynamodb",
            ServiceError("SerializationException", "m"),
            400,
            "com.amazon.coral.service#SerializationException",
            "Message",
        ),
        (
            "dynamodb",
            ServiceError("InternalServerError", "m"),
            500,
            "com.amazonaws.dynamodb.v20120810#InternalServerError",
            "message",
        ),
        ("logs", ServiceError("ResourceNotFoundException", "m"), 400, "ResourceNotFoundException", "message"),
        ("logs", ServiceError("Mystery", "m", fault="server"), 500, "Mystery", "message"),
        ("logs", ServiceError("Mystery", "m", http_status=418), 418, "Mystery", "message"),
    ],
)
def test_error_has_its_services_spelling(
    router: Router, *, service: str, error: ServiceError, status: int, type_name: str, message_key: str
) -> None:
    """The namespace and the key of the message differ from service to service."""
    response = router.codec(service, "json").encode_error(error, "id-1")

    assert response.status == status
    assert orjson.loads(response.body) == {"__type": type_name, message_key: "m"}
    seen = error_seen_by_botocore(service, response)
    assert (seen["Error"]["Message"], seen["ResponseMetadata"]["RequestId"]) == ("m", "id-1")


def test_members_of_an_error_are_written_as_the_model_says(router: Router) -> None:
    """A failed condition returns the item, blobs and all."""
    error = ServiceError("ConditionalCheckFailedException", "m", members={"Item": {"k": {"B": b"\x00"}}})

    response = router.codec("dynamodb", "json").encode_error(error, "id-1")

    assert orjson.loads(response.body)["Item"] == {"k": {"B": "AA=="}}


def test_dynamodb_sends_a_checksum_of_every_body(router: Router, models: Models) -> None:
    """Clients compare x-amz-crc32 with what they received."""
    codec = router.codec("dynamodb", "json")
    operation = models.service("dynamodb").operations["ListTables"]

    for response in (codec.encode(operation, {"TableNames": []}, "i"), codec.encode_error(ServiceError("X", ""), "i")):
        assert dict(response.headers)["x-amz-crc32"] == str(zlib.crc32(response.body))


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ("SendMessage", {"MessageID": "x"}),
        ("SendMessage", {"MessageId": 1}),
        ("DeleteMessage", {"Deleted": True}),
    ],
)
@pytest.mark.parametrize("protocol", ["json", "query"])
def test_result_that_the_model_does_not_know_is_our_bug(
    router: Router, models: Models, protocol: str, operation: str, result: dict[str, Any]
) -> None:
    """A misspelt member must not vanish on its way out."""
    with pytest.raises(Bug):
        router.codec("sqs", protocol).encode(models.service("sqs").operations[operation], result, "id-1")


def test_members_that_are_none_are_not_written(router: Router, models: Models) -> None:
    """A service may say None where it has nothing to say."""
    operation = models.service("sqs").operations["SendMessage"]

    response = router.codec("sqs", "json").encode(operation, {"MessageId": "m", "SequenceNumber": None}, "id-1")

    assert response.body == b'{"MessageId":"m"}'


def test_item_that_is_json_already_is_sent_as_it_is(router: Router, models: Models) -> None:
    """It is neither parsed nor checked again: GetItem and Query answer what the store has."""
    operation = models.service("dynamodb").operations["GetItem"]
    stored = EncodedDocument(b'{"id": {"S": "a"}}', _refuse_to_load)

    response = router.codec("dynamodb", "json").encode(operation, {"Item": stored}, "id-1")

    assert response.body == b'{"Item":{"id": {"S": "a"}}}'


def _refuse_to_load(text: bytes) -> dict[str, Any]:
    raise AssertionError(text)


@pytest.mark.parametrize("value", [{"S": None}, {"X": "a"}, {"N": "1", "X": "a"}, {"BOOL": True}, {"B": "YQ=="}])
def test_values_of_one_member_are_read_like_others(router: Router, value: dict[str, Any]) -> None:
    """A value that needs no conversion is taken as it is. Nulls and unknown members are left out all the same."""
    body = orjson.dumps({"TableName": "orders", "Key": {"id": value}})

    params = decode(router, "DynamoDB_20120810.GetItem", body)

    known = {"B": b"a"} if "B" in value else {k: v for k, v in value.items() if k != "X" and v is not None}
    assert params["Key"] == {"id": known}


@pytest.mark.parametrize("value", [{"S": None}, {"X": "a"}, {"B": "YQ=="}, {"M": {"a": {"B": "YQ=="}}}])
def test_value_beside_values_that_stay_as_they_are_is_read_as_alone(router: Router, value: dict[str, Any]) -> None:
    """A map whose values all stay as they are is taken whole. One value that does not is enough to read all."""
    alone = decode(router, "DynamoDB_20120810.GetItem", orjson.dumps({"Key": {"id": value}}))
    others = {"first": {"S": "a"}, "id": value, "last": {"BOOL": True}}

    params = decode(router, "DynamoDB_20120810.GetItem", orjson.dumps({"Key": others}))

    assert params["Key"] == others | {"id": alone["Key"]["id"]}


def test_null_beside_values_that_stay_as_they_are_is_refused(router: Router) -> None:
    body = orjson.dumps({"Key": {"first": {"S": "a"}, "id": None}})

    with pytest.raises(ServiceError) as refused:
        decode(router, "DynamoDB_20120810.GetItem", body)

    assert refused.value.message == "A map must not contain null values."


@pytest.mark.parametrize("value", [{"S": 1}, {"N": True}, {"BOOL": "yes"}, {"S": ["a"]}])
def test_value_of_one_member_of_the_wrong_type_is_refused(router: Router, value: dict[str, Any]) -> None:
    body = orjson.dumps({"TableName": "orders", "Key": {"id": value}})

    with pytest.raises(ServiceError) as refused:
        decode(router, "DynamoDB_20120810.GetItem", body)

    assert refused.value.code == "SerializationException"
