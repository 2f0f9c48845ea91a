"""The errors that several operations on objects give, in S3's words.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError


def invalid_argument(message: str, name: str = "", value: str = "") -> ServiceError:
    """The error for a value that S3 does not take; `name` is the header or parameter."""
    members = {"ArgumentName": name, "ArgumentValue": value} if name else None
    return ServiceError("InvalidArgument", message, http_status=400, members=members)


def invalid_request(message: str) -> ServiceError:
    """The error for a request that is not legal as a whole."""
    return ServiceError("InvalidRequest", message, http_status=400)


def malformed_xml() -> ServiceError:
    """The error for a document that its schema does not allow."""
    message = "The XML you provided was not well-formed or did not validate against our published schema"
    return ServiceError("MalformedXML", message, http_status=400)


def not_implemented(header: str, additional: str) -> ServiceError:
    """The error for a header, or for its value, that general purpose buckets refuse."""
    message = "A header you provided implies functionality that is not implemented"
    members = {"Header": header, "additionalMessage": additional}
    return ServiceError("NotImplemented", message, http_status=501, members=members)


def no_such_key(key: str, *, is_marker: bool = False, version_id: str = "") -> ServiceError:
    """The error for a key without a current object. A delete marker is shown in the answer's headers."""
    members: dict[str, object] = {"Key": key}
    if is_marker:
        members |= {"x-amz-delete-marker": True, "x-amz-version-id": version_id}
    return ServiceError("NoSuchKey", "The specified key does not exist.", http_status=404, members=members)


def no_such_version(key: str, version_id: str) -> ServiceError:
    """The error for a version that was deleted."""
    members = {"Key": key, "VersionId": version_id}
    return ServiceError("NoSuchVersion", "The specified version does not exist.", http_status=404, members=members)


def invalid_version_id(version_id: str) -> ServiceError:
    """The error for a version id that no version has ever had."""
    return invalid_argument("Invalid version id specified", "versionId", version_id)


def is_delete_marker(method: str) -> ServiceError:
    """The error for an act on a delete marker that only objects allow."""
    message = "The specified method is not allowed against this resource."
    members = {"Method": method, "ResourceType": "DeleteMarker", "x-amz-delete-marker": True}
    return ServiceError("MethodNotAllowed", message, http_status=405, members=members)


def precondition_failed(condition: str) -> ServiceError:
    """The error for a conditional header that does not hold; `condition` is the header in AWS's spelling."""
    message = "At least one of the pre-conditions you specified did not hold"
    return ServiceError("PreconditionFailed", message, http_status=412, members={"Condition": condition})


def conditional_conflict(condition: str, key: str) -> ServiceError:
    """The error for a conditional write that another write has overtaken."""
    message = "The conditional request cannot succeed due to a conflicting operation against this resource."
    members = {"Condition": condition, "Key": key}
    return ServiceError("ConditionalRequestConflict", message, http_status=409, members=members)


def no_such_upload(upload_id: str) -> ServiceError:
    """The error for an upload that does not exist, or not for this key."""
    message = (
        "The specified upload does not exist. The upload ID may be invalid, "
        "or the upload may have been aborted or completed."
    )
    return ServiceError("NoSuchUpload", message, http_status=404, members={"UploadId": upload_id})
