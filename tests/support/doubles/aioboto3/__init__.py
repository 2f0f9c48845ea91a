"""A double of aioboto3's sessions."""

from __future__ import annotations

from typing import Any

import aiobotocore.session
import boto3.session


class Session(boto3.session.Session):
    """A session of boto3 on one of aiobotocore."""

    def __init__(self, **named: Any) -> None:
        super().__init__(botocore_session=aiobotocore.session.get_session(), **named)
