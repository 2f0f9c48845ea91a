"""The second id of a request to S3, which answers and events have beside the request's own."""

from __future__ import annotations

import base64
import hashlib


def host_id(request_id: str) -> str:
    """The value of x-amz-id-2 and HostId: the same for the same request, so that nobody has to pass the id on."""
    return base64.b64encode(hashlib.sha384(request_id.encode()).digest()).decode("ascii")
