"""The shop's four functions. Each does its work once for each execution, by the ledger of redrive.handler.

On AWS their package needs `redrive` in a requirements.txt; a server of redrive has the library.
"""

import json
import os

import boto3

from redrive.handler import DynamoDBLedger, SqsRecord, event_id, idempotent, path, scheduler_context, sqs_batch

dynamodb = boto3.client("dynamodb")
ledger = DynamoDBLedger("executions")


def happened(id: str) -> None:
    """Count an effect: what the outside sees, a parcel or a mail. A second one for the same id is a mistake."""
    dynamodb.update_item(
        TableName="effects", Key={"id": {"S": id}}, UpdateExpression="ADD times :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )  # fmt: skip


@idempotent(key=path("order"), ledger=ledger)
def ship(order):
    address = order["address"]
    if dynamodb.get_item(TableName="outages", Key={"service": {"S": "carrier"}}).get("Item"):
        raise TimeoutError(f"the carrier did not answer within 5 s for {address}")
    happened(f"parcel/{order['order']}")


ship_order = sqs_batch(lambda record: ship(json.loads(record["body"])))


@idempotent(key=scheduler_context(), ledger=ledger)
def report(record: SqsRecord) -> None:
    execution_id = json.loads(record["body"])["context"]["execution_id"]
    happened(f"report/{execution_id}")


write_report = sqs_batch(report)


@idempotent(key=event_id(), ledger=ledger)
def send_mail(event, _context):
    happened(f"mail/{event['detail']['order']}")


@idempotent(key=path("picture"), ledger=ledger)
def draw_thumbnail(event, _context):
    width, height = event["size"]
    scale = 100 / width if width >= height or os.environ["KNOWS_PORTRAITS"] == "yes" else None
    happened(f"thumbnail/{event['picture']}/{int(height * scale)}")
