"""A trail from the start: API calls are events of the default buses without anybody having called CreateTrail."""

from __future__ import annotations

from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.store.api import Transaction

NAME = "redrive"
HOME_REGION = "us-east-1"
_BUCKET = "redrive-writes-no-log-files"


def begin_trail(tx: Transaction, account: str) -> None:
    """Make a trail of all regions in an account, and let it log. One that is there goes on as it is."""
    caller = Caller(Scope(account, HOME_REGION), new_uuid(tx.entropy))
    params = {"Name": NAME, "S3BucketName": _BUCKET, "IsMultiRegionTrail": True}
    try:
        tx.services.call(tx, caller, "cloudtrail", "CreateTrail", params)
    except ServiceError as error:
        if error.code != "TrailAlreadyExistsException":
            raise
    tx.services.call(tx, caller, "cloudtrail", "StartLogging", {"Name": NAME})
