"""aioboto3: a consumer that receives, writes to a table under a condition, and deletes, many messages at a time.

    AWS_ENDPOINT_URL=http://127.0.0.1:4566 python aioboto3_consumer.py

Each message is sent twice. The condition on its key lets the second one change nothing.
"""

from __future__ import annotations

import asyncio
from typing import Any

import aioboto3

QUEUE, TABLE, ORDERS = "aioboto3-orders", "aioboto3-orders", 20


async def main() -> None:
    """Send each order twice, consume them all, and print what is in the table."""
    session = aioboto3.Session()
    async with session.client("sqs") as sqs, session.resource("dynamodb") as dynamodb:
        queue_url = (await sqs.create_queue(QueueName=QUEUE))["QueueUrl"]
        table = await table_of(dynamodb)
        for start in range(0, ORDERS, 5):
            entries = [{"Id": str(n), "MessageBody": f"order-{start + n % 5}"} for n in range(10)]
            await sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
        written, repeated = 0, 0
        while written + repeated < 2 * ORDERS:
            answer = await sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            outcomes = await asyncio.gather(
                *(consume(sqs, table, queue_url, message) for message in answer.get("Messages", []))
            )
            written, repeated = written + outcomes.count(True), repeated + outcomes.count(False)
        items = (await table.scan())["Count"]
        print(f"{written} written, {repeated} were there before; the table has {items} items")


async def table_of(dynamodb: Any) -> Any:
    """The table, made if it is not there."""
    table = await dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "order", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "order", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    await table.wait_until_exists()
    return table


async def consume(sqs: Any, table: Any, queue_url: str, message: dict[str, Any]) -> bool:
    """Write the order of a message unless it is there, then delete the message; whether it was written."""
    try:
        await table.put_item(
            Item={"order": message["Body"]},
            ConditionExpression="attribute_not_exists(#order)",
            ExpressionAttributeNames={"#order": "order"},
        )
        is_new = True
    except table.meta.client.exceptions.ConditionalCheckFailedException:
        is_new = False
    await sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
    return is_new


if __name__ == "__main__":
    asyncio.run(main())
