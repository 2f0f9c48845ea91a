"""Clients of S3 while nodes are killed: each has keys of its own, so it knows what each of them may be."""

from __future__ import annotations

import hashlib
import http.client
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from benchmarks.kill.client import SIGNATURE

BUCKET = "bench"
TIMEOUT_S = 30
PAUSE_S = 0.5
ATTEMPTS_MAX = 240
KEYS_PER_CLIENT = 12
PART_BYTES = 5 * 1024 * 1024
HEADERS = {
    "X-Amz-Date": "20261120T000000Z", "X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD",
    "Authorization": SIGNATURE.format(service="s3").replace("content-type;", ""),
}  # fmt: skip
GONE = ""
"""The digest of a key that has no object."""


class Lost(Exception):
    """The answer is missing, or says that the server does not know: what was asked is done, or it is not."""


class Client:
    """One client: it puts, copies and deletes objects of its keys, and reads all of them after each kill."""

    def __init__(self, number: int, ports: Sequence[int], kills: Callable[[], int], seed: int) -> None:
        self._prefix = f"client-{number}"
        self._ports = ports
        self._kills = kills
        self._random = random.Random(f"{seed}/{number}")  # noqa: S311 - what is put is no secret.
        self._may_be: dict[str, set[str]] = {f"{self._prefix}/{key}": {GONE} for key in range(KEYS_PER_CLIENT)}
        self._connection: http.client.HTTPConnection | None = None
        self.over = threading.Event()
        self.wrong: list[str] = []
        self.outcomes: Counter[str] = Counter()
        self.bytes_put = 0

    def run(self) -> None:
        """Work until it is over."""
        actions: list[tuple[int, Callable[[str], None]]] = [
            (4, self._put_small), (4, self._put_large), (1, self._put_parts), (1, self._begin_parts), (2, self._copy),
            (3, self._delete),
        ]  # fmt: skip
        weights, works = zip(*actions, strict=True)
        seen = self._kills()
        while not self.over.is_set():
            if self._kills() != seen:
                seen = self._kills()
                self.check()
            (work,) = self._random.choices(works, weights)
            key = self._random.choice(list(self._may_be))
            try:
                work(key)
            except Lost as lost:
                self.outcomes[f"doubt: {lost}"] += 1

    def check(self) -> None:
        """Read all keys. What is read is what they are from now on."""
        for key, may_be in self._may_be.items():
            found = self._digest(key)
            if found is None:
                continue
            self.outcomes["read after a kill"] += 1
            if found not in may_be:
                self.wrong.append(f"{key} is {found or 'gone'}, and should be one of {sorted(may_be)}")
            self._may_be[key] = {found}

    def _digest(self, key: str) -> str | None:
        """The digest of a key's object; None if no node answers."""
        for _ in range(ATTEMPTS_MAX):
            try:
                status, _, body = self._ask("GET", f"/{BUCKET}/{key}")
            except Lost:
                time.sleep(PAUSE_S)
                continue
            if status in (200, 404):
                return GONE if status == 404 else _digest(body)
        self.wrong.append(f"{key} could not be read")
        return None

    def _put_small(self, key: str) -> None:
        self._put(key, self._random.randrange(0, 60_000))

    def _put_large(self, key: str) -> None:
        self._put(key, self._random.choice([70_000, 300_000, 2_000_000, 12_000_000]) + self._random.randrange(999))

    def _put(self, key: str, size: int) -> None:
        content = self._random.randbytes(size)
        self._change(key, _digest(content), "PUT", f"/{BUCKET}/{key}", content)
        self.bytes_put += size

    def _delete(self, key: str) -> None:
        self._change(key, GONE, "DELETE", f"/{BUCKET}/{key}", b"")

    def _copy(self, key: str) -> None:
        """Copy an object of which the client knows what it is."""
        known = [other for other, may_be in self._may_be.items() if len(may_be) == 1 and may_be != {GONE}]
        if not known:
            return
        source = self._random.choice(known)
        (digest,) = self._may_be[source]
        headers = {"x-amz-copy-source": f"/{BUCKET}/{source}", "x-amz-metadata-directive": "REPLACE"}
        self._change(key, digest, "PUT", f"/{BUCKET}/{key}", b"", headers)

    def _begin_parts(self, key: str) -> None:
        """An upload that nobody completes: aborted, or left."""
        upload = self._begun(key)
        self._ask("PUT", f"/{BUCKET}/{key}?partNumber=1&uploadId={upload}", self._random.randbytes(PART_BYTES))
        if self._random.random() < 0.7:
            self._ask("DELETE", f"/{BUCKET}/{key}?uploadId={upload}")

    def _put_parts(self, key: str) -> None:
        upload = self._begun(key)
        parts = [self._random.randbytes(PART_BYTES), self._random.randbytes(self._random.randrange(1, PART_BYTES))]
        tags = []
        for number, part in enumerate(parts, 1):
            path = f"/{BUCKET}/{key}?partNumber={number}&uploadId={upload}"
            status, headers, _ = self._ask("PUT", path, part)
            if status != 200:
                raise Lost(f"UploadPart {status}")
            tags.append(headers.get("etag", ""))
        listed = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>" for number, tag in enumerate(tags, 1)
        )
        document = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        self._change(key, _digest(b"".join(parts)), "POST", f"/{BUCKET}/{key}?uploadId={upload}", document)
        self.bytes_put += sum(map(len, parts))

    def _begun(self, key: str) -> str:
        status, _, body = self._ask("POST", f"/{BUCKET}/{key}?uploads")
        found = re.search(rb"<UploadId>([^<]+)</UploadId>", body)
        if found is None:
            raise Lost(f"CreateMultipartUpload {status}")
        return found[1].decode()

    def _change(
        self, key: str, digest: str, method: str, path: str, body: bytes, headers: dict[str, str] | None = None
    ) -> None:  # fmt: skip
        """Ask for a change of a key, and remember what the key may be then."""
        before = self._may_be[key]
        self._may_be[key] = before | {digest}
        status, _, answer = self._ask(method, path, body, headers)
        if status < 300 and b"<Error>" not in answer:
            self._may_be[key] = {digest}
        elif status < 500:
            self._may_be[key] = before
            self.wrong.append(f"{method} {path} was answered by {status}: {answer[:200]!r}")

    def _ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:  # fmt: skip
        """Errors: Lost."""
        port = self._random.choice(self._ports)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, {**HEADERS, **(headers or {})})
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Lost(type(error).__name__) from error
        finally:
            connection.close()
        kind = "Part" if "partNumber" in path else "Copy" if headers else method
        self.outcomes[f"{kind} {response.status}"] += 1
        return response.status, {name.lower(): value for name, value in response.getheaders()}, content


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
