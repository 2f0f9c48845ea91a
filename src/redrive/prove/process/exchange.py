"""A request of the user's code over HTTP and its answer, as values: the same whichever library sends the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Header = tuple[str, str]

OWN_HEADERS = frozenset({"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"})
"""Headers of an answer that follow from how its body is sent. Given ones are left out."""


@dataclass(frozen=True, slots=True)
class HttpAsked:
    """A request. `place` is the host, with the port unless it is the scheme's, and the path, without the query."""

    method: str
    scheme: str
    place: str
    query: str
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def url(self) -> str:
        """The whole URL, with the query."""
        return f"{self.scheme}://{self.place}" + (f"?{self.query}" if self.query else "")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer."""

    status: int = 200
    headers: tuple[Header, ...] = field(default=(("content-type", "application/json"),))
    body: bytes = b"{}"

    @property
    def framed_headers(self) -> tuple[Header, ...]:
        """The headers as they are sent: the connection ends after the answer."""
        kept = [(name, value) for name, value in self.headers if name.lower() not in OWN_HEADERS]
        return (*kept, ("content-length", str(len(self.body))), ("connection", "close"))

    @property
    def wire(self) -> bytes:
        """The bytes of the answer as HTTP/1.1."""
        lines = [f"HTTP/1.1 {self.status} ", *(f"{name}: {value}" for name, value in self.framed_headers), "", ""]
        return "\r\n".join(lines).encode("latin-1") + self.body


HttpAsk = Callable[[HttpAsked], HttpAnswer]
"""Answers a request. Errors: ConnectionRefusedError if nothing was sent; TimeoutError if the answer is lost."""


def asked_of(
    method: str, scheme: str, authority: str, target: str, headers: Mapping[str, str], body: bytes
) -> HttpAsked:
    """A request to an authority. To a proxy, the target is a whole URL."""
    if target.startswith(("http://", "https://")):
        scheme, _, rest = target.partition("://")
        authority, slash, path = rest.partition("/")
        target = slash + path
    path, _, query = target.partition("?")
    usual = {"http": ":80", "https": ":443"}[scheme]
    return HttpAsked(method.upper(), scheme, authority.removesuffix(usual) + (path or "/"), query, headers, body)
