"""What AWS may do to a run at any time: throttle it, or no longer accept its credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import ClientError

from redrive.handler.failures import Kind, classify

T = TypeVar("T")

WAITS_S = (1, 2, 4, 8, 16, 32)
"""How long a request waits that was throttled, again and again: a minute altogether."""

_CREDENTIALS = frozenset(
    {
        "ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired", "InvalidClientTokenId",
        "UnrecognizedClientException", "InvalidAccessKeyId",
    }
)  # fmt: skip
"""Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html"""


def patiently(call: Callable[[], T], wait: Callable[[float], None]) -> T:
    """Call what may be called twice; wait while it is throttled. Errors: ClientError if it still is at the end."""
    for seconds in WAITS_S:
        try:
            return call()
        except ClientError as error:
            if classify(error) is not Kind.THROTTLED:
                raise
            wait(seconds)
    return call()


def lacks_credentials(code: str) -> bool:
    """Whether an error code says that no further request of these credentials is accepted."""
    return code in _CREDENTIALS


def credentials_gone(code: str) -> str:
    """Why a run stops then, and what to do."""
    return f"AWS does not accept the credentials any more ({code}): renew them, and run the plan again"
