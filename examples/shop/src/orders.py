"""Charges the orders that come in by the queue."""

import json
import logging
import os

import payments
import tables

logger = logging.getLogger()
logger.setLevel(os.environ["LOG_LEVEL"])


def handler(event, _context):
    failures = []
    for record in event["Records"]:
        order = json.loads(record["body"])
        try:
            charge_once(order)
        except Exception:
            logger.exception("order %s was not charged", order["order_id"])
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


def charge_once(order):
    known = tables.orders().get_item(Key={"order_id": order["order_id"]}, ConsistentRead=True)
    if "charge_id" in known.get("Item", {}):
        logger.info("order %s is charged already", order["order_id"])
        return
    charge = payments.charge(order["order_id"], order["amount"])
    tables.orders().update_item(
        Key={"order_id": order["order_id"]},
        UpdateExpression="SET amount = :amount, charge_id = :charge",
        ExpressionAttributeValues={":amount": order["amount"], ":charge": charge["id"]},
    )
