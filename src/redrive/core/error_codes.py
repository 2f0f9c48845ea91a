"""The error codes of AWS's services that mean: try again.

Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

from __future__ import annotations

THROTTLES = frozenset(
    """
    BandwidthLimitExceeded EC2ThrottledException KmsThrottled LimitExceededException OverLimit PriorRequestNotComplete
    ProvisionedThroughputExceededException RequestLimitExceeded RequestThrottled RequestThrottledException SlowDown
    ThrottledException Throttling ThrottlingException TooManyRequestsException TransactionInProgressException
    """.split()
)
"""The codes of throttling."""

FAULTS = frozenset(
    """
    InternalError InternalFailure InternalServerError InternalServerErrorException InternalServerException
    RequestTimeout RequestTimeoutException ServiceException ServiceUnavailable ServiceUnavailableException
    """.split()
)
"""The codes of errors that are the service's own fault."""
