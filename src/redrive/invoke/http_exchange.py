"""As much of HTTP/1.1 as a Lambda runtime speaks, without a socket: bytes to requests, answers to bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

HEAD_BYTES_MAX = 2 * 1024 * 1024  # Runtimes send a whole X-Ray document, up to 1 MB of it, in one header.

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class MalformedRequest(Exception):
    """What came over the connection is not HTTP/1.1; the connection is of no more use."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class RequestReader:
    """Collects the bytes of one connection into requests."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._head: Request | None = None
        self._continued = False

    def feed(self, data: bytes) -> None:
        """Take bytes as they come."""
        self._bytes += data

    def next_request(self) -> Request | None:
        """The next whole request, or None until more bytes have come. Errors: MalformedRequest."""
        if self._head is None:
            self._head = self._read_head()
            self._continued = False
        if self._head is None:
            return None
        body = self._read_body(self._head)
        if body is None:
            return None
        head, self._head = self._head, None
        return Request(head.method, head.path, head.headers, body)

    def wants_continue(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends its body; true once for each request."""
        if self._head is None or self._continued or self._head.headers.get("expect", "").lower() != "100-continue":
            return False
        self._continued = True
        return True

    def _read_head(self) -> Request | None:
        end = self._bytes.find(b"\r\n\r\n")
        if end < 0:
            if len(self._bytes) > HEAD_BYTES_MAX:
                raise MalformedRequest("the head of a request is too long")
            return None
        lines = self._bytes[:end].decode("latin-1").split("\r\n")
        del self._bytes[: end + 4]
        words = lines[0].split(" ")
        if len(words) != 3:
            raise MalformedRequest(f"not a request line: {lines[0]}")
        headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise MalformedRequest(f"not a header: {line}")
            headers[name.strip().lower()] = value.strip()
        return Request(words[0], words[1], headers)

    def _read_body(self, head: Request) -> bytes | None:
        if head.headers.get("transfer-encoding", "").lower() == "chunked":
            return self._read_chunks()
        try:
            length = int(head.headers.get("content-length", "0"))
        except ValueError as error:
            raise MalformedRequest("Content-Length is no number") from error
        if len(self._bytes) < length:
            return None
        body = bytes(self._bytes[:length])
        del self._bytes[:length]
        return body

    def _read_chunks(self) -> bytes | None:
        """The body of a chunked request, once its last chunk is there. Trailers are dropped."""
        body, at = bytearray(), 0
        while True:
            end = self._bytes.find(b"\r\n", at)
            if end < 0:
                return None
            try:
                size = int(self._bytes[at:end].split(b";")[0], 16)
            except ValueError as error:
                raise MalformedRequest("a chunk's size is no number") from error
            if size == 0:
                over = self._bytes.find(b"\r\n\r\n", end)
                if over < 0:
                    return None
                del self._bytes[: over + 4]
                return bytes(body)
            if len(self._bytes) < end + 2 + size + 2:
                return None
            body += self._bytes[end + 2 : end + 2 + size]
            at = end + 2 + size + 2


def response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body
