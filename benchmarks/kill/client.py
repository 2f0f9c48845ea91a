"""Requests that go round the nodes, and what is known of each: done, refused, or in doubt."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from redrive.core.documents import Document

TIMEOUT_S = 20
JSON_TYPES = {
    "AmazonSQS": "application/x-amz-json-1.0", "DynamoDB_20120810": "application/x-amz-json-1.0",
    "DynamoDBStreams_20120810": "application/x-amz-json-1.0", "Kinesis_20131202": "application/x-amz-json-1.1",
    "Logs_20140328": "application/x-amz-json-1.1", "GraniteServiceVersion20100801": "application/x-amz-json-1.0",
}  # fmt: skip
SERVICES = {
    "AmazonSQS": "sqs", "DynamoDB_20120810": "dynamodb", "DynamoDBStreams_20120810": "dynamodb",
    "Kinesis_20131202": "kinesis", "Logs_20140328": "logs", "GraniteServiceVersion20100801": "monitoring",
}  # fmt: skip
VERSIONS = {"sns": "2010-03-31"}
SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=test/20261120/us-east-1/{service}/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date, Signature=" + "0" * 64
)


@dataclass(frozen=True, slots=True)
class Done:
    """The server answered that it has done what was asked."""

    document: Document


@dataclass(frozen=True, slots=True)
class Refused:
    """The server answered that it has not done it."""

    status: int
    code: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """The answer is missing, or says that the server itself does not know."""

    why: str


Outcome = Done | Refused | Doubt


class Nodes:
    """The nodes as one server. Each request goes to the next node; a node that is away is passed by."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._turns = itertools.count()
        self._kept = threading.local()
        self.outcomes: Counter[str] = Counter()

    def aws(self, target: str, members: Mapping[str, object]) -> Outcome:
        """Call an operation of a service that speaks AWS JSON: `AmazonSQS.SendMessage`."""
        family = target.partition(".")[0]
        headers = {
            "Content-Type": JSON_TYPES[family], "X-Amz-Target": target,
            **_signed(SERVICES[family]),
        }  # fmt: skip
        return self._counted(target, self._request("/", headers, _json(members)))

    def query(self, service: str, action: str, members: Mapping[str, str]) -> Outcome:
        """Call an operation of a service that speaks the query protocol, whose answers can be JSON."""
        body = urlencode({"Action": action, "Version": VERSIONS[service], **members}).encode()
        form = "application/x-www-form-urlencoded; charset=utf-8"
        headers = {"Content-Type": form, "Accept": "application/json", **_signed(service)}
        return self._counted(f"{service}.{action}", self._request("/", headers, body))

    def own(self, method: str, path: str, members: Mapping[str, object]) -> Outcome:
        """Call the server's own surface."""
        headers = {"Content-Type": "application/json"}
        return self._counted(f"redrive.{method}", self._request(path, headers, _json(members), method=method))

    def schedule(self, name: str, members: Mapping[str, object]) -> Outcome:
        """CreateSchedule."""
        headers = {"Content-Type": "application/json", **_signed("scheduler")}
        return self._counted("Scheduler.CreateSchedule", self._request(f"/schedules/{name}", headers, _json(members)))

    def _counted(self, target: str, outcome: Outcome) -> Outcome:
        match outcome:
            case Done():
                known = "done"
            case Refused(status, code):
                known = f"{status} {code}"
            case Doubt(why):
                known = f"doubt: {why}"
        self.outcomes[f"{target.partition('.')[2]} {known}"] += 1
        return outcome

    def _request(self, path: str, headers: Mapping[str, str], body: bytes, *, method: str = "POST") -> Outcome:
        for _ in self._ports:
            connection = self._connection(self._ports[next(self._turns) % len(self._ports)])
            try:
                if connection.sock is None:
                    connection.connect()
            except OSError:
                connection.close()
                continue
            try:
                connection.request(method, path, body, dict(headers))
                response = connection.getresponse()
                return _outcome(response, response.read())
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                return Doubt(type(error).__name__)
        return Refused(0, "no node")

    def _connection(self, port: int) -> http.client.HTTPConnection:
        """This thread's connection to a node."""
        kept: dict[int, http.client.HTTPConnection] = self._kept.__dict__.setdefault("by_port", {})
        if port not in kept:
            kept[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        return kept[port]


def _json(members: Mapping[str, object]) -> bytes:
    return json.dumps(members).encode()


def _signed(service: str) -> dict[str, str]:
    """The headers of a signature that this server does not verify, but whose parts it reads."""
    return {"X-Amz-Date": "20261120T000000Z", "Authorization": SIGNATURE.format(service=service)}


def _outcome(response: http.client.HTTPResponse, content: bytes) -> Outcome:
    try:
        document = json.loads(content or b"{}")
    except ValueError:
        return Doubt(f"{response.status} without JSON")
    if response.status < 300:
        return Done(document)
    code = str(response.getheader("x-amzn-errortype") or document.get("__type", "")).rpartition("#")[2]
    if response.status == 500:
        return Doubt(f"500 {code}")
    return Refused(response.status, code)
