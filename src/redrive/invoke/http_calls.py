"""Sends HTTP calls: one request over one connection. No call leaves this machine unless its host is allowed.

An address on this machine (`localhost`, 127.0.0.0/8, ::1) may always be called. The name of any other host must be
allowed: otherwise the name is not even resolved, because a DNS query leaves the machine, too. Environment variables
for proxies are ignored, and redirects are not followed.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from redrive.core.clock import SECOND_MS
from redrive.delivery.outside.http_call import HttpCall, HttpEnding, HttpResult

LOCAL_NAME = "localhost"
LOCAL_ADDRESS = "127.0.0.1"
_PORTS = {"http": 80, "https": 443}


class HttpCalls:
    """Sends HTTP calls to this machine, and to the allowed hosts. Implements HttpCaller."""

    def __init__(self, *, allowed_hosts: frozenset[str] = frozenset()) -> None:
        """`allowed_hosts` are names or addresses as they are written in URLs, in lower case."""
        self._allowed = allowed_hosts

    def call(self, call: HttpCall) -> HttpResult:
        """Send a request once. The result reports any failure."""
        try:
            url = urlsplit(call.url)
            port = url.port or _PORTS[url.scheme]
        except (KeyError, ValueError):
            return HttpResult(HttpEnding.REFUSED, error=f"{call.url!r} is no URL that can be called over HTTP.")
        address = self._address(url.hostname or "")
        if address is None:
            host = url.hostname
            said = f"{host} is not on this machine, and is not allowed: redrive serve --call-host {host}"
            return HttpResult(HttpEnding.REFUSED, error=said)
        try:
            with socket.create_connection((address, port), timeout=call.timeout_ms / SECOND_MS) as connected:
                return _performed(connected, url, call)
        except TimeoutError:
            return _timed_out(call)
        except OSError as error:
            return _failed(error)

    def _address(self, host: str) -> str | None:
        """The address to connect to; None if the host may not be called."""
        if host in self._allowed:
            return host
        if host == LOCAL_NAME or host.endswith(f".{LOCAL_NAME}"):
            return LOCAL_ADDRESS
        try:
            return host if ipaddress.ip_address(host).is_loopback else None
        except ValueError:
            return None


def _performed(connected: socket.socket, url: SplitResult, call: HttpCall) -> HttpResult:
    """Send the request and read the answer, within the call's timeout. Errors: TimeoutError."""
    deadline = _Deadline(connected, call.timeout_ms / SECOND_MS)
    connection = http.client.HTTPConnection(url.hostname or "")
    try:
        is_secure = url.scheme == "https"
        connection.sock = _secured(connected, url.hostname or "", deadline) if is_secure else connected
        result = _exchange(connection, url, call)
        return _timed_out(call) if deadline.is_over else result
    except TimeoutError:
        raise
    except (OSError, ValueError, http.client.HTTPException) as error:
        return _timed_out(call) if deadline.is_over else _failed(error)
    finally:
        deadline.cancel()
        connection.close()


def _timed_out(call: HttpCall) -> HttpResult:
    return HttpResult(HttpEnding.TIMED_OUT, error=f"No answer within {call.timeout_ms} ms.")


def _failed(error: Exception) -> HttpResult:
    return HttpResult(HttpEnding.FAILED, error=f"{type(error).__name__}: {error}")


class _Deadline:
    """Shuts down a connection when its call's timeout has passed, even while the other side still sends slowly."""

    def __init__(self, connected: socket.socket, timeout_s: float) -> None:
        self.is_over = False
        self.socket = connected
        self._timer = threading.Timer(timeout_s, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        self._timer.cancel()

    def _expire(self) -> None:
        self.is_over = True
        with suppress(OSError):  # The other side has closed it already.
            self.socket.shutdown(socket.SHUT_RDWR)


def _secured(plain: socket.socket, name: str, deadline: _Deadline) -> socket.socket:
    """The same connection under TLS, with the host's certificate checked. Errors: OSError."""
    secure = ssl.create_default_context().wrap_socket(plain, server_hostname=name, do_handshake_on_connect=False)
    deadline.socket = secure
    secure.do_handshake()
    return secure


def _exchange(connection: http.client.HTTPConnection, url: SplitResult, call: HttpCall) -> HttpResult:
    """Send the request and read the answer. Errors: OSError, ValueError, HTTPException."""
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    connection.putrequest(call.method, path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", url.netloc.rpartition("@")[2])
    # The length comes before the caller's headers: a server may stop to read headers at a name that it cannot parse.
    if call.body or call.method in ("PATCH", "POST", "PUT"):
        connection.putheader("Content-Length", str(len(call.body)))
    for name, value in call.headers:
        connection.putheader(name, value)
    connection.endheaders(call.body)
    answer = connection.getresponse()
    body = answer.read(call.answer_bytes_max + 1)
    if answer.length and len(body) <= call.answer_bytes_max:
        raise http.client.IncompleteRead(body, answer.length)
    headers = tuple((name.lower(), value) for name, value in answer.getheaders())
    kept = body[: call.answer_bytes_max]
    return HttpResult(HttpEnding.ANSWERED, answer.status, headers, kept, is_cut=len(body) > len(kept))
