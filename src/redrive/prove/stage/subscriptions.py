"""What a subscription of CloudWatch Logs invokes a function with."""

from __future__ import annotations

import base64
import gzip

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.prove.guess.reading import EventPath
from redrive.prove.stage.stage import SCOPE

DATA: EventPath = ("awslogs", "data")
"""Where the data stand in the event."""


def sample_subscription(at: Instant) -> Document:
    """The event of a subscription filter, with one log event of `at`: JSON, compressed with gzip, in base64.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html
    """
    told: Document = {
        "messageType": "DATA_MESSAGE",
        "owner": SCOPE.account,
        "logGroup": "/aws/lambda/sample",
        "logStream": "2025/01/01/[$LATEST]4c2e5c058f0d5a0aa4b10c1a2b3c4d5e",
        "subscriptionFilters": ["sample"],
        "logEvents": [
            {
                "id": "38700000000000000000000000000000000000000000000000000000",
                "timestamp": at,
                "message": '{"level":"ERROR","message":"sample failure"}',
            }
        ],
    }
    data = base64.b64encode(gzip.compress(dump_json(told).encode(), mtime=0)).decode()
    return {"awslogs": {"data": data}}
