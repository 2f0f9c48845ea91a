"""SQS requests as bytes, and what answers say: AWS JSON, and the query protocol for servers that know no other."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import urlencode

_SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/{service}/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0" * 64
)
_VERSION = "2012-11-05"

Entries = Sequence[Mapping[str, str]]


class Dialect(Protocol):
    """How requests are written, and receipts and URLs are read."""

    def create_queue(self, name: str) -> bytes:
        """CreateQueue."""
        ...

    def send(self, queue_url: str, body: str) -> bytes:
        """SendMessage."""
        ...

    def send_batch(self, queue_url: str, bodies: Sequence[str]) -> bytes:
        """SendMessageBatch."""
        ...

    def receive(self, queue_url: str) -> bytes:
        """ReceiveMessage of up to ten, without waiting."""
        ...

    def delete_batch(self, queue_url: str, receipts: Sequence[str]) -> bytes:
        """DeleteMessageBatch."""
        ...

    def queue_url(self, answer: bytes) -> str:
        """The URL in the answer to CreateQueue. Errors: ValueError."""
        ...

    def receipts(self, answer: bytes) -> list[str]:
        """The receipt handles in the answer to ReceiveMessage."""
        ...


class JsonDialect:
    """AWS JSON 1.0, which the SDKs speak today."""

    def __init__(self, port: int) -> None:
        self._host = f"127.0.0.1:{port}"

    def create_queue(self, name: str) -> bytes:
        return self._request("CreateQueue", {"QueueName": name})

    def send(self, queue_url: str, body: str) -> bytes:
        return self._request("SendMessage", {"QueueUrl": queue_url, "MessageBody": body})

    def send_batch(self, queue_url: str, bodies: Sequence[str]) -> bytes:
        entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
        return self._request("SendMessageBatch", {"QueueUrl": queue_url, "Entries": entries})

    def receive(self, queue_url: str) -> bytes:
        return self._request("ReceiveMessage", {"QueueUrl": queue_url, "MaxNumberOfMessages": 10})

    def delete_batch(self, queue_url: str, receipts: Sequence[str]) -> bytes:
        entries = [{"Id": str(number), "ReceiptHandle": receipt} for number, receipt in enumerate(receipts)]
        return self._request("DeleteMessageBatch", {"QueueUrl": queue_url, "Entries": entries})

    def queue_url(self, answer: bytes) -> str:
        return str(json.loads(answer)["QueueUrl"])

    def receipts(self, answer: bytes) -> list[str]:
        return [message["ReceiptHandle"] for message in json.loads(answer).get("Messages", ())]

    def _request(self, operation: str, members: Mapping[str, object]) -> bytes:
        headers = f"X-Amz-Target: AmazonSQS.{operation}\r\nContent-Type: application/x-amz-json-1.0"
        return request_of(self._host, "/", headers, json.dumps(members).encode())


class QueryDialect:
    """The query protocol: a form, answered with XML."""

    def __init__(self, port: int) -> None:
        self._host = f"127.0.0.1:{port}"

    def create_queue(self, name: str) -> bytes:
        return self._request("/", {"Action": "CreateQueue", "QueueName": name})

    def send(self, queue_url: str, body: str) -> bytes:
        return self._request(_path(queue_url), {"Action": "SendMessage", "QueueUrl": queue_url, "MessageBody": body})

    def send_batch(self, queue_url: str, bodies: Sequence[str]) -> bytes:
        return self._batch("SendMessageBatch", queue_url, [{"MessageBody": body} for body in bodies])

    def receive(self, queue_url: str) -> bytes:
        members = {"Action": "ReceiveMessage", "QueueUrl": queue_url, "MaxNumberOfMessages": "10"}
        return self._request(_path(queue_url), members)

    def delete_batch(self, queue_url: str, receipts: Sequence[str]) -> bytes:
        return self._batch("DeleteMessageBatch", queue_url, [{"ReceiptHandle": receipt} for receipt in receipts])

    def queue_url(self, answer: bytes) -> str:
        found = re.search(rb"<QueueUrl>(.*?)</QueueUrl>", answer)
        if found is None:
            raise ValueError(f"no QueueUrl in {answer[:200]!r}")
        return html.unescape(found[1].decode())

    def receipts(self, answer: bytes) -> list[str]:
        found = re.findall(rb"<ReceiptHandle>(.*?)</ReceiptHandle>", answer)
        return [html.unescape(receipt.decode()) for receipt in found]

    def _batch(self, operation: str, queue_url: str, entries: Entries) -> bytes:
        members = {"Action": operation, "QueueUrl": queue_url}
        for number, entry in enumerate(entries, 1):
            for name, value in (("Id", str(number)), *entry.items()):
                members[f"{operation}RequestEntry.{number}.{name}"] = value
        return self._request(_path(queue_url), members)

    def _request(self, path: str, members: Mapping[str, str]) -> bytes:
        headers = "Content-Type: application/x-www-form-urlencoded"
        return request_of(self._host, path, headers, urlencode({**members, "Version": _VERSION}).encode())


def _path(queue_url: str) -> str:
    return "/" + queue_url.split("/", 3)[3]


def request_of(host: str, path: str, headers: str, body: bytes, *, service: str = "sqs") -> bytes:
    """A request as bytes, with a signature that names the service."""
    signature = _SIGNATURE.format(service=service)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Amz-Date: 20261120T000000Z\r\nAuthorization: {signature}\r\n"
        f"{headers}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
