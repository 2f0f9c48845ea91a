"""The settings of a test's process for AWS's SDKs: an account and a region, and none of the developer's own."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import boto3

from redrive.gateway.identity import DEFAULT_REGION

_REMOVED = frozenset(
    {
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CREDENTIAL_EXPIRATION",
        "AWS_DEFAULT_PROFILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_PROFILE", "AWS_ROLE_ARN",
        "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE",
    }
)  # fmt: skip
"""Variables that select a client's account or endpoint. Source: https://docs.aws.amazon.com/sdkref/latest/guide/"""

_ENDPOINT = "AWS_ENDPOINT_URL"
_ENDPOINT_LINE = re.compile(r"^\s*endpoint_url\s*=.*$", re.MULTILINE)


def region_of(variables: Mapping[str, str]) -> str:
    """The region in these variables, chosen by the user who runs the tests; else us-east-1."""
    return variables.get("AWS_DEFAULT_REGION") or variables.get("AWS_REGION") or DEFAULT_REGION


def settings_for(account: str, region: str, endpoint_url: str | None = None) -> dict[str, str]:
    """The variables with which any SDK uses this account and this endpoint."""
    variables = {
        "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "in-process", "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region, "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    return variables if endpoint_url is None else {**variables, _ENDPOINT: endpoint_url}


def without_outside(variables: Mapping[str, str]) -> dict[str, str]:
    """These variables without those that select another account or another endpoint."""
    return {name: value for name, value in variables.items() if name not in _REMOVED and not name.startswith(_ENDPOINT)}


@contextmanager
def surroundings(account: str, region: str) -> Iterator[None]:
    """While entered, a client made without arguments belongs to this account and this region.

    Profiles can still be named. An `endpoint_url` in the configuration file is ignored: it is the developer's.
    """
    saved, session = dict(os.environ), boto3.DEFAULT_SESSION
    inside = without_outside(saved) | settings_for(account, region)
    with _config_without_endpoints(Path(saved.get("AWS_CONFIG_FILE", "~/.aws/config")).expanduser()) as config:
        if config is not None:
            inside["AWS_CONFIG_FILE"] = str(config)
        _put(saved, inside)
        try:
            yield
        finally:
            _put({**inside, _ENDPOINT: ""}, saved)  # The world may have been exported.
            if session is None:
                boto3.DEFAULT_SESSION = None  # It was made inside, and would keep this account for ever.


def _put(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Apply the differences between the two, and nothing else: the test may have changed other variables meanwhile."""
    for name in before.keys() - after.keys():
        os.environ.pop(name, None)
    os.environ.update({name: value for name, value in after.items() if before.get(name) != value})


@contextmanager
def _config_without_endpoints(path: Path) -> Iterator[Path | None]:
    """A copy of AWS's configuration file without its endpoints; None if the file has none."""
    text = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = path.read_text("utf-8")
    if not _ENDPOINT_LINE.search(text):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="redrive-") as folder:
        copy = Path(folder) / "config"
        copy.write_text(_ENDPOINT_LINE.sub("", text), "utf-8")
        yield copy
