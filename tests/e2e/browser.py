"""A real browser without a window, and a web server for the page that it visits."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --mute-audio"
).split()
NOBODY_ELSE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
"""The browser finds no other machine."""
REPORT_S_MAX = 60


class Site:
    """Serves one page at `/`, under both names of this machine, and takes what the page posts to `/report`."""

    def __init__(self, page: str) -> None:
        site = self
        self._reports: queue.Queue[Any] = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(page.encode() if self.path == "/" else b"")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/report":
                    site._reports.put(json.loads(body))
                self._answer(b"")

            def log_message(self, format: str, *args: object) -> None: ...

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def origin(self, host: str) -> str:
        """The origin of the page under one of its names."""
        return f"http://{host}:{self.port}"

    def report(self) -> Any:
        """What the page posts next."""
        return self._reports.get(timeout=REPORT_S_MAX)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def visiting(url: str, profile: Path) -> Iterator[None]:
    """A browser that looks at a page as long as the block lasts."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, NOBODY_ELSE, f"--user-data-dir={profile}", "--remote-debugging-port=0", url]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def text_of(url: str, profile: Path, *, resolver_rules: str = NOBODY_ELSE) -> str:
    """What a browser shows of a URL that was typed into it."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, resolver_rules, f"--user-data-dir={profile}", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=REPORT_S_MAX, check=False).stdout
