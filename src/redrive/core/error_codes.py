"""Which error codes of AWS's services mean: try again.

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
"""The codes with which services throttle."""

FAULTS = frozenset(
    """
    InternalError InternalFailure InternalServerError InternalServerErrorException InternalServerException
    RequestTimeout RequestTimeoutException ServiceException ServiceUnavailable ServiceUnavailableException
    """.split()
)
"""The codes with which services say that it was their own fault."""
