"""One HTTP/1.1 connection: bytes to requests, answers to bytes, in order, within limits. See `server`."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol, cast

import httptools

from redrive.core.scope import LOCAL_IP
from redrive.delivery.bodies import SMALL_BYTES
from redrive.gateway.http.limits import (
    BODY_BYTES_MAX,
    FIELDS_MAX,
    HEAD_BYTES_MAX,
    REQUESTS_AHEAD_MAX,
    SLICE_BYTES,
    UPLOAD_SLICE_BYTES,
    HttpLimits,
)
from redrive.gateway.http.patience import Loss, Patience, Seen, Stage
from redrive.gateway.http.ports import Handler, OpenUpload, Upload
from redrive.gateway.http.streaming import StreamedBody
from redrive.gateway.http.text import (
    CONTINUE,
    LENGTH,
    head_of,
    header_name,
    may_have_body,
    method_name,
    refusal_of,
    split_target,
)
from redrive.gateway.http.upgrade import Resumed, head_without_upgrade
from redrive.wire.message import HttpRequest, HttpResponse

_BETWEEN, _HEAD, _BODY = Stage.BETWEEN, Stage.HEAD, Stage.BODY
"""Constants of the module, since each request looks them up dozens of times."""

LINGER_S = 2
"""How long a refused client may go on sending; what it sends is discarded."""


class Serving(Protocol):
    """What a connection knows of the server: the handler of requests, and the totals that all connections share."""

    handler: Handler
    open_upload: OpenUpload
    limits: HttpLimits
    held_bytes: int
    unsent_bytes: int

    def admit(self, connection: Connection) -> bool:
        """Whether the server has room for one more connection."""
        ...

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection."""
        ...

    def date_line(self) -> str:
        """The Date header."""
        ...


_Item = tuple[HttpRequest | Upload, bool] | HttpResponse | int
"""A request, or one that its upload will give, and whether the connection goes on after it. Else the last answer."""


class Connection(asyncio.Protocol):
    """One client: parses its bytes, and answers in order."""

    def __init__(self, server: Serving) -> None:
        self._server = server
        self._transport: asyncio.Transport
        self._parser = httptools.HttpRequestParser(self)
        self._loop = asyncio.get_running_loop()
        self._closed: asyncio.Future[None] = self._loop.create_future()

        # The request that is being received. `_upgrade_head` is set if another parser has to read what follows its
        # head. `_is_held`: nothing is read, because its upload is full.
        self._stage = _BETWEEN
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: bytes | bytearray = b""
        self._size = 0
        self._fields_again = 0
        self._upgrade_head = b""
        self._refusal: int | HttpResponse | None = None
        self._unread = b""
        self._upload: Upload | None = None
        self._is_held = False

        # The request that is being answered, and those behind it. `_is_last`: nothing is read after the latest request.
        self._is_under_way = False
        self._streamed: StreamedBody | None = None
        self._is_head = False
        self._keeps_alive = True
        self._answering: Upload | None = None
        self._waiting: deque[_Item] = deque()
        self._is_last = False
        self._is_writable = True
        self._source_ip = LOCAL_IP

        # This connection's share of the server's totals, and the bytes received since the latest part of a body.
        self._held_body = 0
        self._held_waiting = 0
        self._unsent = 0
        self._unproductive = 0
        self._patience = Patience(server.limits)

    # Callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self._source_ip = peer[0]
        if not self._server.admit(self):
            self._is_last, self._keeps_alive = True, False
            self._write(refusal_of(503))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.forget(self)
        for item in self._waiting:
            if isinstance(item, tuple) and not isinstance(item[0], HttpRequest):
                item[0].lose()
        self._waiting.clear()
        self._unread = b""
        self._drop_body()
        self._server.held_bytes -= self._held_waiting
        self._held_waiting = 0
        self._count_unsent(0)
        if self._streamed is not None:
            self._streamed.lose()
        self._closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._is_last:
            return
        if self._unread or len(data) > SLICE_BYTES or self._is_held:
            self._unread += data
            self._read_on()
        else:
            self._feed(data)

    def pause_writing(self) -> None:
        self._is_writable = False
        self._count_unsent(self._transport.get_write_buffer_size())
        if self._streamed is not None:
            self._streamed.pause()

    def resume_writing(self) -> None:
        self._is_writable = True
        self._count_unsent(0)
        if self._streamed is not None:
            self._streamed.resume()
        self._next()

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        self._url, self._headers, self._body, self._size, self._stage = b"", {}, b"", 0, _HEAD
        self._fields_again = self._unproductive = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        key, headers = header_name(name), self._headers
        if self._stage is _HEAD and key not in headers:
            headers[key] = value.decode("latin-1")
        else:
            self._count_again(key, value)

    def on_headers_complete(self) -> None:
        headers = self._headers
        self._stage, self._size = _BODY, 0
        if "host" not in headers and self._parser.get_http_version() != "1.0":
            self._refusal = 400
        if len(headers) > FIELDS_MAX:
            self._refusal = 431
        length = int(headers["content-length"]) if "content-length" in headers else 0
        if "transfer-encoding" in headers:
            self._check_encoding(headers["transfer-encoding"])
            length = max(length, SMALL_BYTES + 1)
        if length > SMALL_BYTES and self._refusal is None:
            self._open_upload()
            if self._upload is None and length > BODY_BYTES_MAX and self._refusal is None:
                self._refusal = 413
        if "upgrade" in headers and self._parser.should_upgrade():
            self._upgrade_head = head_without_upgrade(self._parser, headers)
        if "expect" in headers and self._refusal is None:
            is_next = not (self._is_under_way or self._waiting)
            if is_next and headers["expect"].lower() == "100-continue":
                self._transport.write(CONTINUE)

    def on_body(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._upload is not None:
            self._upload.feed(piece)
        elif self._size > BODY_BYTES_MAX:
            self._refusal = 413
        elif not self._body:
            self._body = piece
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += piece

    def on_message_complete(self) -> None:
        if self._refusal is not None or self._is_last or self._upgrade_head:
            return
        self._stage = _BETWEEN
        if self._held_body:
            self._server.held_bytes -= self._held_body
            self._held_body = 0
        keeps_alive = self._parser.should_keep_alive()
        if keeps_alive and "connection" in self._headers:
            # An HTTP/1.0 client needs `Connection: keep-alive` in the answer, which is never sent.
            keeps_alive = self._parser.get_http_version() != "1.0"
        if self._upload is not None:
            self._end_upload(self._upload, keeps_alive)
            return
        request = self._request()
        if request is None:
            return
        if self._is_under_way or self._waiting or not self._is_writable:
            self._enqueue((request, keeps_alive), is_last=not keeps_alive)
        else:
            self._is_last = not keeps_alive
            self._begin(request, keeps_alive)

    # Receiving.

    def _read_on(self) -> None:
        """Parse the received bytes, slice by slice, while more requests may wait; then resume reading."""
        unread, self._unread = memoryview(self._unread), b""
        at = 0
        while at < len(unread) and not self._is_last and len(self._waiting) < REQUESTS_AHEAD_MAX and not self._is_held:
            size = SLICE_BYTES if self._upload is None else UPLOAD_SLICE_BYTES
            self._feed(unread[at : at + size])
            at += size
        if self._is_last or self._transport.is_closing():
            return
        self._unread = bytes(unread[at:])
        if self._is_held:
            self._transport.pause_reading()
        elif not self._unread and len(self._waiting) < REQUESTS_AHEAD_MAX and not self._transport.is_reading():
            self._transport.resume_reading()

    def _feed(self, data: bytes | memoryview) -> None:
        """Parse a slice, then check that unfinished requests stay within their limits."""
        size_before = self._size
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._feed_upgraded(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse_rest()
        if self._stage is not _BETWEEN:
            self._count_unfinished(len(data), is_productive=self._size != size_before)
            if self._upload is not None and self._upload.is_full and not self._is_held:
                self._is_held = True
                self._transport.pause_reading()
        if self._refusal is not None and not self._is_last:
            self._drop_body()
            self._enqueue(self._refusal, is_last=True)

    def _feed_upgraded(self, data: bytes | memoryview) -> None:
        """Parse the bytes after a head that asked for an upgrade, which is ignored: the body, or the next request."""
        try:
            while not self._is_last:
                self._parser = httptools.HttpRequestParser(self)
                head, self._upgrade_head = self._upgrade_head, b""
                if head:
                    self._parser = httptools.HttpRequestParser(Resumed(self))
                    self._parser.feed_data(head)
                try:
                    self._parser.feed_data(data)
                except httptools.HttpParserUpgrade as upgrade:
                    data = data[upgrade.args[0] :]
                else:
                    return
        except httptools.HttpParserError:
            self._refuse_rest()

    def _refuse_rest(self) -> None:
        """Refuse bytes that cannot be parsed, unless they follow a request after which the connection closes."""
        if self._refusal is None and not self._is_last:
            self._refusal = 400

    def _check_encoding(self, encoding: str) -> None:
        """Check Transfer-Encoding: the parser accepts any list that ends in chunked. Source: RFC 9112, 6.1."""
        if self._parser.get_http_version() == "1.0":
            self._refusal = 400
        elif encoding.strip().lower() != "chunked":
            self._refusal = 501

    def _count_again(self, key: str, value: bytes) -> None:
        """Join a repeated header with the earlier one. Trailers are only counted: nobody reads them."""
        self._fields_again += 1
        if self._stage is _HEAD:
            self._headers[key] = f"{self._headers[key]}, {value.decode('latin-1')}"
            if key == "host":
                self._refusal = 400
        if self._fields_again > FIELDS_MAX:
            self._refusal = 431

    def _count_unfinished(self, received: int, *, is_productive: bool) -> None:
        """Count the unfinished head or body, and the bytes that belong to neither: chunk sizes, and trailers."""
        if self._stage is _HEAD:
            self._size += received
            if self._size > HEAD_BYTES_MAX:
                self._refusal = 431
            return
        self._unproductive = 0 if is_productive else self._unproductive + received
        if self._unproductive > HEAD_BYTES_MAX:
            self._refusal = 431
        if self._upload is not None:
            return
        self._server.held_bytes += self._size - self._held_body
        self._held_body = self._size
        if self._server.held_bytes > self._server.limits.held_bytes and self._refusal is None:
            self._refusal = 503

    def _drop_body(self) -> None:
        self._body = b""
        self._server.held_bytes -= self._held_body
        self._held_body = 0
        if self._upload is not None:
            self._upload.lose()
            self._upload = None

    def _open_upload(self) -> None:
        """Ask whether the body of this request is one that is not collected in memory."""
        head = self._request()
        if head is None:
            return
        opened = self._server.open_upload(head, self._upload_changed)
        if isinstance(opened, HttpResponse):
            self._refusal = opened
        else:
            self._upload = opened

    def _end_upload(self, upload: Upload, keeps_alive: bool) -> None:
        """Let the request wait until its upload has an outcome."""
        self._upload = None
        upload.end()
        self._enqueue((upload, keeps_alive), is_last=not keeps_alive)

    def _upload_changed(self) -> None:
        """Go on reading, if the upload has room; and begin its request, if it has become one."""
        if self._is_held and (self._upload is None or not self._upload.is_full):
            self._is_held = False
            self._read_on()
        self._next()

    def _request(self) -> HttpRequest | None:
        """The received request; None if its target is not one of ours: such a request is refused."""
        method, body = method_name(self._parser.get_method()), self._body
        target = None if method == "CONNECT" else split_target(self._url)
        if target is None:
            self._refusal = 405 if method == "CONNECT" else 400
            return None
        path, query, host = target
        if host:
            self._headers["host"] = host  # Source: RFC 9112, 3.2.2.
        self._body = b""
        content = body if type(body) is bytes else bytes(body)
        return HttpRequest(method, path, query, self._headers, content, None, self._source_ip)

    # Waiting for the client.

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way, and no byte of a new one has come."""
        return self._stage is _BETWEEN and not (self._is_under_way or self._waiting or self._unsent)

    @property
    def ticks_idle(self) -> int:
        """For how many ticks the server has waited for the client."""
        return self._patience.ticks

    def tick(self) -> None:
        """Close a connection whose client was silent for too long."""
        if not self._is_writable:
            self._count_unsent(self._transport.get_write_buffer_size())
        is_busy = self._is_under_way or bool(self._waiting) or self._is_last or self._is_held
        match self._patience.tick(Seen(self._stage, self._headers, self._size, is_busy, self._unsent)):
            case Loss.CLOSED:
                self.abort()
            case Loss.TIMED_OUT:
                answer = 408 if self._upload is None else self._upload.timed_out()
                self._drop_body()
                self._enqueue(answer, is_last=True)
            case Loss.NONE:
                pass

    def _count_unsent(self, unsent: int) -> None:
        """Count the answers that the client has not read. Beyond the limit for all clients, close this connection."""
        self._server.unsent_bytes += unsent - self._unsent
        self._unsent = unsent
        if unsent and self._server.unsent_bytes > self._server.limits.unsent_bytes:
            self._loop.call_soon(self.abort)

    # Answers.

    @property
    def is_wanted(self) -> bool:
        return not self._transport.is_closing()

    def send(self, response: HttpResponse) -> None:
        assert self._is_under_way, "a request is answered once"
        self._is_under_way = False
        if self._answering is not None:
            self._answering.answered(response.status)
            self._answering = None
        if self._transport.is_closing():
            return
        self._write(response)
        if not self._keeps_alive:
            self._transport.close()
        elif self._waiting:
            self._loop.call_soon(self._next)

    def begin(self, head: HttpResponse, *, length: int | None = None) -> StreamedBody:
        assert self._is_under_way, "a request is answered once"
        assert self._streamed is None, "an answer begins once"
        is_bare = self._is_head or not may_have_body(head.status)
        is_chunked = length is None and self._parser.get_http_version() != "1.0" and may_have_body(head.status)
        if not is_chunked and not is_bare and length is None:
            self._keeps_alive = False  # The end of the connection is the end of the body.
        body = StreamedBody(self._transport, self._end_streamed, is_chunked=is_chunked, is_head=is_bare)
        self._streamed = body
        if not self._transport.is_closing():
            framing = "Transfer-Encoding: chunked\r\n" if is_chunked else ""
            if length is not None:
                framing = f"{LENGTH}: {length}\r\n"
            date = self._server.date_line()
            self._transport.write(head_of(head, date, keeps_alive=self._keeps_alive, framing=framing))
            body.write(head.body)
        return body

    def _end_streamed(self) -> None:
        """Go on after the last piece of an answer."""
        self._streamed = None
        self._is_under_way = False
        if self._transport.is_closing():
            return
        if not self._keeps_alive:
            self._transport.close()
        elif self._waiting:
            self._loop.call_soon(self._next)

    def finish(self) -> asyncio.Future[None]:
        """Answer the requests that have come, then close; returns when that is done."""
        if self._is_under_way or self._waiting:
            self._is_last = True
            if not self._waiting:
                self._keeps_alive = False
            if self._streamed is not None:
                self._streamed.stop()
        else:
            self._transport.close()
        return self._closed

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def _begin(self, request: HttpRequest, keeps_alive: bool) -> None:
        self._is_under_way, self._is_head, self._keeps_alive = True, request.method == "HEAD", keeps_alive
        try:
            self._server.handler(request, self)
        except Exception as error:  # noqa: BLE001 - the caller gets an answer to any exception of a handler.
            self._loop.call_exception_handler({"message": f"{request.method} {request.path}", "exception": error})
            if self._streamed is not None:
                self._streamed.abort()
            elif self._is_under_way:
                self.send(refusal_of(500))

    def _enqueue(self, item: _Item, *, is_last: bool) -> None:
        if isinstance(item, tuple) and isinstance(item[0], HttpRequest):
            size = len(item[0].body)
            if self._server.held_bytes + size > self._server.limits.held_bytes:
                item, is_last = 503, True
            else:
                self._held_waiting += size
                self._server.held_bytes += size
        self._is_last = is_last
        self._waiting.append(item)
        if len(self._waiting) >= REQUESTS_AHEAD_MAX:
            self._transport.pause_reading()
        self._next()

    def _next(self) -> None:
        """Begin the next waiting request, unless one is under way, or the client does not read its answers."""
        if self._is_under_way or not self._waiting or not self._is_writable:
            return
        item = self._waiting[0]
        request = item[0] if isinstance(item, tuple) else None
        if request is not None and not isinstance(request, HttpRequest) and request.outcome is None:
            return
        self._waiting.popleft()
        if not self._transport.is_reading():
            self._loop.call_soon(self._read_on)
        if not isinstance(item, tuple):
            self._refuse(item)
            return
        keeps_alive = item[1] and not (self._is_last and not self._waiting)
        if isinstance(request, HttpRequest):
            self._held_waiting -= len(request.body)
            self._server.held_bytes -= len(request.body)
            self._begin(request, keeps_alive)
        elif request is not None:
            self._begin_uploaded(request, keeps_alive)

    def _begin_uploaded(self, upload: Upload, keeps_alive: bool) -> None:
        """Handle a request whose body is received, or answer one that is refused after all of it has come."""
        outcome = upload.outcome
        if isinstance(outcome, HttpRequest):
            self._answering = upload
            self._begin(outcome, keeps_alive)
        elif outcome is not None:
            self._is_under_way, self._is_head, self._keeps_alive = True, False, keeps_alive
            self.send(outcome)

    def _refuse(self, refusal: HttpResponse | int) -> None:
        """Answer a request that could not be read, and close.

        Not at once: closing a connection while the client sends would discard the answer before the client reads it.
        """
        self._keeps_alive = self._is_head = False
        self._write(refusal_of(refusal) if isinstance(refusal, int) else refusal)
        self._loop.call_later(LINGER_S, self._transport.close)

    def _write(self, response: HttpResponse) -> None:
        """Write head and body together: one write, and mostly one packet."""
        head = head_of(response, self._server.date_line(), keeps_alive=self._keeps_alive)
        self._transport.write(head if self._is_head else head + response.body)
