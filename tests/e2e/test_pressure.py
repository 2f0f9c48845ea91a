"""A server that runs out of something says so, lives on, and answers afterwards."""

from __future__ import annotations

import http.client
import json
import resource
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import ServerProcess

Start = Callable[..., ServerProcess]
BODY = b'{"QueueName": "q"}'
HEADERS = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.CreateQueue"}
CONNECTIONS = 200

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


def descriptors_of(pid: int) -> int:
    return 1 + max(int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir())


def test_first_request_of_a_service_without_descriptors_says_so_and_succeeds_later(start: Start) -> None:
    """The model of the service could not be read, and the answer was once a 500 without a body."""
    server = start()
    address = urlsplit(server.endpoint_url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port)
    connection.request("GET", "/_redrive/health")
    connection.getresponse().read()
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)

    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (descriptors_of(server.pid), hard))
    connection.request("POST", "/", BODY, HEADERS)
    refused = connection.getresponse()
    document = json.load(refused)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))
    connection.request("POST", "/", BODY, HEADERS)
    answered = connection.getresponse()
    answered.read()
    connection.close()

    assert refused.status == 503
    assert "Too many open files" in document["message"]
    assert refused.headers["x-amzn-RequestId"] in server.log_line("request failed")
    assert answered.status == 200


def test_more_connections_than_descriptors_leave_the_server_alive(start: Start) -> None:
    server = start()
    address = urlsplit(server.endpoint_url)
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (descriptors_of(server.pid) + 20, hard))

    crowd = [socket.create_connection((address.hostname, address.port)) for _ in range(CONNECTIONS)]
    for one in crowd:
        one.close()
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))

    assert server.client("sqs").create_queue(QueueName="q")["QueueUrl"].endswith("/q")
    assert server.client("iam").list_roles()["Roles"] == []
    assert server.stop() == 0
