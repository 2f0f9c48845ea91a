"""How errors of targets count, whoever the source is."""

from __future__ import annotations

import pytest

from redrive.core.errors import ServiceError
from redrive.core.retry import FailureKind
from redrive.delivery.sources.classify import classify


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ServiceError("ThrottlingException", ""), FailureKind.THROTTLED),
        (ServiceError("ProvisionedThroughputExceededException", ""), FailureKind.THROTTLED),
        (ServiceError("Unheard", "", http_status=429), FailureKind.THROTTLED),
        (ServiceError("ServiceException", ""), FailureKind.TRANSIENT),
        (ServiceError("InternalServerError", ""), FailureKind.TRANSIENT),
        (ServiceError("Unheard", "", http_status=503), FailureKind.TRANSIENT),
        (ServiceError("Unheard", "", fault="server"), FailureKind.TRANSIENT),
        (ServiceError("AccessDeniedException", ""), FailureKind.PERMANENT),
        (ServiceError("ResourceNotFoundException", ""), FailureKind.PERMANENT),
        (ServiceError("ValidationException", ""), FailureKind.PERMANENT),
        (ServiceError("UnknownOperationException", "", http_status=501), FailureKind.PERMANENT),
    ],
)
def test_errors_count_as_their_code_or_status_says(error: ServiceError, kind: FailureKind) -> None:
    assert classify(error).kind is kind
