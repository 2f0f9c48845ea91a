"""Functions for the tests of this folder: archives of code, and invocations of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace

from redrive.delivery.outside.invocation import FunctionCode, Invocation

REQUEST_ID = "8f5e7c1a-0000-4000-8000-000000000001"
ENDPOINT_URL = "http://127.0.0.1:4566"


def archive(files: Mapping[str, str]) -> bytes:
    """A zip archive of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        for name, text in files.items():
            target.writestr(name, text)
    return content.getvalue()


def invocation(code: str = "plain", event: object = None, **changes: object) -> Invocation:
    """An invocation of the function whose code has that digest."""
    plain = Invocation(
        request_id=REQUEST_ID,
        function_arn=f"arn:aws:lambda:eu-west-1:123456789012:function:{code}",
        function_name=code,
        version="$LATEST",
        revision="1",
        code=FunctionCode(code, "app.handler", "python3.12"),
        payload=json.dumps(event).encode(),
        timeout_ms=10_000,
        memory_mb=128,
        role_arn="arn:aws:iam::123456789012:role/worker",
        log_group=f"/aws/lambda/{code}",
        environment={"COLOUR": "green"},
    )
    return replace(plain, **changes)  # type: ignore[arg-type]
