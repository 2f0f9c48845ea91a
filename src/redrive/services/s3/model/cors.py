"""CORS rules of a bucket: which are valid, and which of them answers a web page.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/ManageCorsUsing.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3.limits import CORS_RULES_MAX
from redrive.services.s3.model.errors import invalid_request, malformed_xml

CORS = "CORSConfiguration"
_METHODS = ("GET", "PUT", "HEAD", "POST", "DELETE")
VARY = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a browser says of a page's request: for a preflight, the method and headers that the page will use."""

    origin: str
    method: str
    headers: tuple[str, ...] = ()


def check_rules(configuration: Document) -> list[Document]:
    """The rules of a configuration. Errors: MalformedXML; InvalidRequest."""
    rules: list[Document] = configuration.get("CORSRules") or []
    if not 1 <= len(rules) <= CORS_RULES_MAX:
        raise malformed_xml()
    for rule in rules:
        if not rule.get("AllowedMethods") or not rule.get("AllowedOrigins"):
            raise malformed_xml()
        for method in rule["AllowedMethods"]:
            if method not in _METHODS:
                message = f"Found unsupported HTTP method in CORS config. Unsupported method is {method}"
                raise invalid_request(message)
        _check_wildcards("AllowedOrigin", rule["AllowedOrigins"])
        _check_wildcards("AllowedHeader", rule.get("AllowedHeaders") or ())
        for header in rule.get("ExposeHeaders") or ():
            if "*" in header:
                message = (
                    f'ExposeHeader "{header}" contains wildcard. We currently do not support wildcard for ExposeHeader.'
                )
                raise invalid_request(message)
    return rules


def answer_headers(rules: Sequence[Document], asked: PageRequest) -> tuple[tuple[str, str], ...] | None:
    """The headers by which the first rule that matches answers a page. None if no rule matches."""
    for rule in rules:
        if _matches(rule, asked):
            return _headers(rule, asked)
    return None


def refused_preflight(method: str, *, is_object: bool, why: str) -> ServiceError:
    """The answer to a preflight that no rule allows."""
    members = {"Method": method, "ResourceType": "OBJECT" if is_object else "BUCKET"}
    return ServiceError("AccessForbidden", f"CORSResponse: {why}", http_status=403, members=members)


NOT_ENABLED = "CORS is not enabled for this bucket."
NOT_FOUND = "Bucket not found"
NOT_ALLOWED = (
    "This CORS request is not allowed. This is usually because the evalution of Origin, request method / "
    "Access-Control-Request-Method or Access-Control-Request-Headers are not whitelisted by the resource's CORS spec."
)
"""AWS's words, as AWS spells them."""


def _check_wildcards(name: str, patterns: Sequence[str]) -> None:
    for pattern in patterns:
        if pattern.count("*") > 1:
            raise invalid_request(f'{name} "{pattern}" can not have more than one wildcard.')


def _matches(rule: Document, asked: PageRequest) -> bool:
    allowed = [pattern.lower() for pattern in rule.get("AllowedHeaders") or ()]
    return (
        asked.method in rule["AllowedMethods"]
        and any(_covers(pattern, asked.origin) for pattern in rule["AllowedOrigins"])
        and all(any(_covers(pattern, header.lower()) for pattern in allowed) for header in asked.headers)
    )


def _covers(pattern: str, text: str) -> bool:
    """Whether a pattern with at most one `*` covers a text."""
    start, star, end = pattern.partition("*")
    if not star:
        return pattern == text
    return len(text) >= len(start) + len(end) and text.startswith(start) and text.endswith(end)


def _headers(rule: Document, asked: PageRequest) -> tuple[tuple[str, str], ...]:
    is_open = "*" in rule["AllowedOrigins"]
    headers = [("access-control-allow-origin", "*" if is_open else asked.origin)]
    headers.append(("access-control-allow-methods", ", ".join(rule["AllowedMethods"])))
    if asked.headers:
        headers.append(("access-control-allow-headers", ", ".join(header.lower() for header in asked.headers)))
    if rule.get("ExposeHeaders"):
        headers.append(("access-control-expose-headers", ", ".join(rule["ExposeHeaders"])))
    if rule.get("MaxAgeSeconds") is not None:
        headers.append(("access-control-max-age", str(rule["MaxAgeSeconds"])))
    if not is_open:
        headers.append(("access-control-allow-credentials", "true"))
    return (*headers, ("vary", VARY))
