"""A payment under AWS Lambda Powertools' idempotency that is safe: its key is the same in each run of an execution."""

import json
from collections.abc import Mapping, Sequence

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.typing import LambdaContext

dynamodb = boto3.client("dynamodb")
records = DynamoDBPersistenceLayer(table_name="idempotency")
config = IdempotencyConfig(event_key_jmespath="context.execution_id", expires_after_seconds=30 * 86_400)


def handler(event: Mapping[str, Sequence[Mapping[str, str]]], context: LambdaContext) -> None:
    config.register_lambda_context(context)
    for record in event["Records"]:
        pay(job=json.loads(record["body"]))


@idempotent_function(data_keyword_argument="job", config=config, persistence_store=records)  # type: ignore[untyped-decorator]
def pay(job: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    execution_id = job["context"]["execution_id"]
    dynamodb.put_item(
        TableName="payments",
        Item={"payment_id": {"S": execution_id}, "for": {"S": job["payload"]["report"]}},
    )
    return {"payment_id": execution_id}
