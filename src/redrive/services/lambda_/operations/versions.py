"""PublishVersion."""

from __future__ import annotations

import base64

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.lambda_.model.function import configuration, invalid_parameter, refuse_given
from redrive.services.lambda_.operations.functions import authorized_function, check_revision, check_settled
from redrive.services.lambda_.versions import publish
from redrive.store.api import Transaction


@operation("PublishVersion")
def publish_version(
    tx: Transaction, caller: Caller, *,
    function_name: str, code_sha256: str | None = None, description: str | None = None, revision_id: str | None = None,
    publish_to: str | None = None,
) -> Document:  # fmt: skip
    """Keep a function's code and configuration as a version that does not change, and return the version.

    If nothing has changed since the last version, the last version is returned as it is.

    Errors: ResourceNotFoundException; InvalidParameterValueException (another digest of the code);
    PreconditionFailedException (revision); ResourceConflictException (a creation or update is in progress).
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_PublishVersion.html
    """
    function = authorized_function(tx, caller, "lambda:PublishVersion", function_name)
    refuse_given(PublishTo=publish_to)
    check_settled(tx, function)
    check_revision(tx, function, revision_id)
    current = base64.b64encode(bytes.fromhex(function.code_digest)).decode()
    if code_sha256 and code_sha256 != current:
        raise invalid_parameter(
            f"CodeSHA256 ({code_sha256}) is different from current CodeSHA256 in $LATEST ({current}). Please try again "
            "with the CodeSHA256 in $LATEST."
        )
    version = publish(tx, caller.scope, function, description=description)
    return configuration(version, qualifier=version.version, is_passing=version.is_passing(tx.now))
