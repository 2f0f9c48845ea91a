"""The record of an API call, as trails log it and EventBridge carries it.

Source: https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html and
https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-user-identity.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redrive.core.clock import SECOND_MS, Instant, format_instant
from redrive.core.documents import Document
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Caller

DETAIL_TYPE = "AWS API Call via CloudTrail"
_VERSION = "1.11"


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call that was answered. `host_name` is the service as CloudTrail names it (`sqs.amazonaws.com`).

    `documents` gives its parameters and its answer in the form of records, None for what there is not; the error has no
    code if the call succeeded. `user_agent` is the caller's.
    """

    host_name: str
    name: str
    is_read_only: bool
    documents: Callable[[], tuple[Document | None, Document | None]]
    error_code: str = ""
    error_message: str = ""
    user_agent: str = ""
    data_resources: tuple[Document, ...] = ()
    """What an event of data is about; empty for a management event."""


def record_of(call: ApiCall, caller: Caller, identity: Document, *, event_id: str, at: Instant) -> OwnEvent:
    """The record as an event of the called service."""
    parameters, answer = call.documents()
    by_service = caller.invoked_by or caller.service
    detail: Document = {
        "eventVersion": _VERSION, "userIdentity": identity, "eventTime": format_instant(at - at % SECOND_MS),
        "eventSource": call.host_name, "eventName": call.name, "awsRegion": caller.region,
        "sourceIPAddress": by_service or caller.source_ip, "userAgent": by_service or call.user_agent,
    }  # fmt: skip
    if call.error_code:
        detail |= {"errorCode": call.error_code, "errorMessage": call.error_message}
    detail |= {
        "requestParameters": parameters, "responseElements": answer, "requestID": caller.request_id,
        "eventID": event_id, "readOnly": call.is_read_only,
        **({"resources": list(call.data_resources)} if call.data_resources else {}),
        "eventType": "AwsApiCall", "managementEvent": not call.data_resources,
        "recipientAccountId": caller.account, "eventCategory": "Data" if call.data_resources else "Management",
    }  # fmt: skip
    return OwnEvent("aws." + call.host_name.partition(".")[0], DETAIL_TYPE, detail)


def identity_of(caller: Caller, principal_id: str) -> Document:
    """The `userIdentity` of a caller. `principal_id` is the id of their role or user; empty if it is not known."""
    if caller.service:
        return {"type": "AWSService", "invokedBy": caller.service}
    by = {"invokedBy": caller.invoked_by} if caller.invoked_by else {}
    if caller.role_arn is not None:
        role_account, role_name = caller.role_arn.split(":")[4], caller.role_arn.rsplit("/", 1)[-1]
        issuer = {
            "type": "Role", "principalId": principal_id, "arn": caller.role_arn, "accountId": role_account,
            "userName": role_name,
        }  # fmt: skip
        return {
            "type": "AssumedRole", "principalId": f"{principal_id}:{caller.session_name}", "arn": caller.principal_arn,
            "accountId": role_account, "sessionContext": {"sessionIssuer": issuer}, **by,
        }  # fmt: skip
    if caller.user_arn is not None:
        return {
            "type": "IAMUser", "principalId": principal_id, "arn": caller.user_arn, "accountId": caller.account,
            "userName": caller.user_arn.rsplit("/", 1)[-1], **by,
        }  # fmt: skip
    return {
        "type": "Root", "principalId": caller.account, "arn": caller.principal_arn, "accountId": caller.account, **by,
    }  # fmt: skip
