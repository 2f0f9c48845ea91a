"""The article's way to be idempotent, as it is printed; the import of boto3 and the handler below were added.

Where it is wrong: between the look and the mark the work is done, so a second run that looks meanwhile works as well,
and a run that dies before the mark is worked again. An error of the look counts as "not done yet". `ttl_hours` has no
effect. `redrive prove code/listing_idempotency.py:handler` tells the shortest such history.
"""

import hashlib
import json
from datetime import datetime, timedelta

import boto3


# fmt: off
class IdempotencyManager:
    """冪等性を保証するマネージャー"""
    
    def __init__(self, table_name):
        self.dynamodb = boto3.resource('dynamodb')
        self.table = self.dynamodb.Table(table_name)
    
    def is_duplicate(self, event_id, ttl_hours=24):
        """重複チェック"""
        try:
            response = self.table.get_item(
                Key={'event_id': event_id}
            )
            return 'Item' in response
        except:
            return False
    
    def mark_processed(self, event_id, result):
        """処理済みマーク"""
        ttl = int((datetime.now() + timedelta(hours=24)).timestamp())
        
        self.table.put_item(
            Item={
                'event_id': event_id,
                'result': result,
                'processed_at': datetime.now().isoformat(),
                'ttl': ttl
            }
        )
# fmt: on


def handler(event, context):
    """Send a mail for each message, if it was not sent yet."""
    manager = IdempotencyManager("processed")
    for record in event["Records"]:
        event_id = json.loads(record["body"])["context"]["execution_id"]
        if not manager.is_duplicate(event_id):
            boto3.client("sqs").send_message(
                QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails", MessageBody=event_id
            )
            manager.mark_processed(event_id, "sent")
