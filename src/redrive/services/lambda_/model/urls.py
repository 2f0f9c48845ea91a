"""Function URLs: their stored form, and CORS. No transaction, no clock.

Source: https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.lambda_.model.function import last_modified

URL_PATH = "/_redrive/function-url/"
"""The path by which a URL is reached where its host name is not resolved. `gateway/function_urls.py` has it, too."""


@dataclass(frozen=True, slots=True)
class FunctionUrl:
    """The URL of a function or an alias. `name` is the function's name, with a colon and the alias if there is one."""

    KIND: ClassVar[str] = "lambda.url"

    name: str
    function_arn: str
    id: str
    auth_type: str
    created_at: Instant
    modified_at: Instant
    invoke_mode: str = "BUFFERED"
    cors: Document | None = None

    @property
    def qualifier(self) -> str | None:
        """The alias; None for the function itself."""
        return self.name.partition(":")[2] or None


def url_text(url_id: str, region: str, host: str) -> str:
    """The URL, on the server that has this Host.

    Names below `localhost` lead to this machine. Below another IP address there are no names, so there the path has the
    id.
    """
    name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
    suffix = f":{port}" if port else ""
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return f"http://{url_id}.lambda-url.{region}.{name}{suffix}/"
    if address.is_loopback:
        return f"http://{url_id}.lambda-url.{region}.localhost{suffix}/"
    return f"http://{host}{URL_PATH}{url_id}/"


def url_document(url: FunctionUrl, region: str, host: str) -> Document:
    """A URL's configuration as GetFunctionUrlConfig answers it."""
    document: Document = {
        "FunctionUrl": url_text(url.id, region, host),
        "FunctionArn": url.function_arn,
        "AuthType": url.auth_type,
        "CreationTime": last_modified(url.created_at),
        "LastModifiedTime": last_modified(url.modified_at),
        "InvokeMode": url.invoke_mode,
    }
    if url.cors:
        document["Cors"] = dict(url.cors)
    return document


def allows_page(cors: Document | None, origin: str) -> bool:
    """Whether a URL may be called by pages of this origin."""
    origins = (cors or {}).get("AllowOrigins") or ()
    return "*" in origins or origin in origins


def cors_headers(cors: Document | None, origin: str) -> list[tuple[str, str]]:
    """The headers of an answer for a page; none if the page may not read the answer."""
    if not cors or not allows_page(cors, origin):
        return []
    credentials = bool(cors.get("AllowCredentials"))
    is_any = "*" in cors["AllowOrigins"] and not credentials
    headers = [("access-control-allow-origin", "*" if is_any else origin)]
    if not is_any:
        headers.append(("vary", "Origin"))
    if credentials:
        headers.append(("access-control-allow-credentials", "true"))
    if cors.get("ExposeHeaders"):
        headers.append(("access-control-expose-headers", ",".join(cors["ExposeHeaders"])))
    return headers


def preflight_headers(cors: Document, origin: str) -> list[tuple[str, str]]:
    """The headers of the answer to a preflight."""
    headers = cors_headers(cors, origin)
    if not headers:
        return []
    if cors.get("AllowMethods"):
        headers.append(("access-control-allow-methods", ",".join(cors["AllowMethods"])))
    if cors.get("AllowHeaders"):
        headers.append(("access-control-allow-headers", ",".join(cors["AllowHeaders"])))
    if cors.get("MaxAge"):
        headers.append(("access-control-max-age", str(cors["MaxAge"])))
    return headers
