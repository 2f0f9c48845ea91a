"""While a world is reached, every botocore client of the process talks to it, and none to AWS."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.httpsession import URLLib3Session
from botocore.loaders import Loader
from botocore.stub import Stubber

from redrive.core.errors import UserError
from redrive.testing.interception import AWS_SUFFIXES, is_aws_host
from redrive.testing.world import World

ONCE = Config(retries={"total_max_attempts": 1})


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a connection, fails the test."""

    def refuse(*arguments: object, **_: object) -> None:
        raise AssertionError(f"a connection was opened: {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any of AWS's settings. Answers where its configuration file would be."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    (tmp_path / ".aws").mkdir()
    return tmp_path / ".aws" / "config"


def queues_of(world: World, region: str = "us-east-1") -> list[str]:
    """The names of the world's queues, asked for beside all clients."""
    found = world.client("sqs", region=region).list_queues().get("QueueUrls", [])
    return [url.rpartition("/")[2] for url in found]


@pytest.mark.usefixtures("no_network", "bare")
@pytest.mark.parametrize(
    "make",
    [
        lambda: boto3.client("sqs"),
        lambda: boto3.client("sqs", region_name="us-east-1"),
        lambda: boto3.session.Session(region_name="us-east-1").client("sqs"),
        lambda: boto3.resource("sqs").meta.client,
        lambda: boto3.client("sqs", endpoint_url="https://sqs.us-east-1.amazonaws.com"),
        lambda: boto3.client("sqs", use_ssl=False),
        lambda: boto3.client("sqs", config=Config(use_dualstack_endpoint=True)),
        lambda: boto3.client("sqs", config=Config(use_fips_endpoint=True)),
        lambda: boto3.client("sqs", aws_access_key_id="AKIAIOSFODNN7EXAMPLE", aws_secret_access_key="x"),
        lambda: boto3.client(
            "sqs", aws_access_key_id="ASIAIOSFODNN7EXAMPLE", aws_secret_access_key="x", aws_session_token="real"
        ),
        lambda: botocore.session.get_session().create_client("sqs"),
    ],
)
def test_client_made_inside_reaches_the_world_however_it_was_made(world: World, make: Any) -> None:
    with world.reached():
        make().create_queue(QueueName="orders")

    assert queues_of(world) == ["orders"]


@pytest.mark.usefixtures("no_network", "bare")
@pytest.mark.parametrize("region", ["eu-west-1", "cn-north-1", "us-gov-west-1"])
def test_client_of_another_region_reaches_that_region_of_the_world(world: World, region: str) -> None:
    with world.reached():
        boto3.client("sqs", region_name=region).create_queue(QueueName="orders")

    assert (queues_of(world, region), queues_of(world)) == (["orders"], [])


@pytest.mark.usefixtures("no_network", "bare")
def test_client_made_before_reaches_the_world_while_it_is_reached() -> None:
    """A module makes its clients when it is imported; there they may have had no credentials at all."""
    early = boto3.client("sqs", region_name="us-east-1")
    for _ in range(2):
        world = World()

        with world.reached():
            early.create_queue(QueueName="orders")

        assert queues_of(world) == ["orders"]
        world.close()
    with pytest.raises(NoCredentialsError):
        early.create_queue(QueueName="orders")


@pytest.mark.usefixtures("no_network")
def test_credentials_that_have_to_be_fetched_elsewhere_are_not_fetched(
    world: World, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare.write_text(
        "[profile outside]\nregion = us-east-1\nrole_arn = arn:aws:iam::111122223333:role/ci\n"
        "web_identity_token_file = /no/such/token\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "outside")
    early = boto3.client("sqs")

    with world.reached():
        early.create_queue(QueueName="orders")

    assert queues_of(world) == ["orders"]


@pytest.mark.usefixtures("no_network")
def test_endpoint_in_the_environment_or_the_configuration_is_the_developers_and_does_not_count(
    world: World, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare.write_text("[default]\nendpoint_url = http://127.0.0.1:1\n")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:2")

    with world.reached():
        boto3.client("sqs").create_queue(QueueName="orders")

    assert queues_of(world) == ["orders"]
    assert os.environ["AWS_ENDPOINT_URL_SQS"] == "http://127.0.0.1:2"


@pytest.mark.usefixtures("bare")
def test_endpoint_of_the_tests_own_is_left_alone(world: World) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = b'{"QueueUrls": ["http://other/000000000000/theirs"]}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.handle_request).start()
        with world.reached():
            answered = boto3.client("sqs", endpoint_url=f"http://127.0.0.1:{other.server_port}").list_queues()

    assert answered["QueueUrls"] == ["http://other/000000000000/theirs"]


@pytest.mark.usefixtures("no_network", "bare")
@pytest.mark.parametrize(
    ("service", "call", "named"),
    [
        ("route53", lambda route53: route53.list_hosted_zones(), r"^route53 \(GET https://route53\."),
        ("rds", lambda rds: rds.describe_db_clusters(), r"^rds DescribeDBClusters \(POST "),
        ("firehose", lambda firehose: firehose.list_delivery_streams(), r"^firehose ListDeliveryStreams \(POST "),
    ],
)
def test_call_that_the_world_does_not_serve_is_an_error_that_names_it(
    world: World, service: str, call: Any, named: str
) -> None:
    with world.reached(), pytest.raises(UserError, match=named):
        call(boto3.client(service, config=ONCE))


@pytest.mark.usefixtures("no_network", "bare")
def test_unsigned_call_to_aws_does_not_leave_either(world: World) -> None:
    unsigned = ONCE.merge(Config(signature_version=UNSIGNED))
    with world.reached(), pytest.raises(UserError, match="an unsigned request"):
        boto3.client("route53", config=unsigned).list_hosted_zones()


@pytest.mark.usefixtures("no_network", "bare")
def test_operation_that_the_world_lacks_is_told_by_its_name(world: World) -> None:
    with world.reached(), pytest.raises(ClientError, match="ListStackSets"):
        boto3.client("cloudformation", config=ONCE).list_stack_sets()


@pytest.mark.usefixtures("no_network", "bare")
def test_machine_gives_out_no_credentials(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program on EC2 or ECS asks an address of the machine; a test is on neither."""
    with world.reached():
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials")
        session = botocore.session.get_session()
        session.get_component("credential_provider").remove("container-role")

        assert session.get_credentials() is None


@pytest.mark.usefixtures("no_network", "bare")
def test_what_others_stub_they_answer(world: World) -> None:
    with world.reached():
        client = boto3.client("s3")
        with Stubber(client) as stubber:
            stubber.add_response("list_buckets", {"Buckets": [{"Name": "theirs"}]})

            assert client.list_buckets()["Buckets"][0]["Name"] == "theirs"


@pytest.mark.usefixtures("no_network", "bare")
def test_world_entered_last_answers() -> None:
    outer, inner = World(), World()

    with outer.reached():
        client = boto3.client("sqs")
        with inner.reached():
            client.create_queue(QueueName="inner")
        client.create_queue(QueueName="outer")

    assert (queues_of(inner), queues_of(outer)) == (["inner"], ["outer"])


@pytest.mark.usefixtures("bare")
def test_process_is_afterwards_as_it_was(world: World) -> None:
    before, send = dict(os.environ), URLLib3Session.send

    with world.reached():
        boto3.client("sqs")
        assert URLLib3Session.send is not send

    assert (dict(os.environ), URLLib3Session.send, boto3.DEFAULT_SESSION) == (before, send, None)


@pytest.mark.usefixtures("no_network", "bare")
def test_credentials_of_a_role_of_the_world_are_that_role(world: World) -> None:
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    with world.reached():
        boto3.client("iam").create_role(
            RoleName="worker", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        )
        given = boto3.client("sts").assume_role(
            RoleArn="arn:aws:iam::000000000000:role/worker", RoleSessionName="test"
        )["Credentials"]
        client = boto3.client(
            "sqs", aws_access_key_id=given["AccessKeyId"], aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"],
        )  # fmt: skip

        with pytest.raises(ClientError, match="AccessDenied"):
            client.create_queue(QueueName="orders")


def test_client_of_a_world_used_inside_another_is_its_own_worlds() -> None:
    outer, other = World(), World()
    sqs, resource = other.client("sqs"), other.resource("sqs")

    with outer.reached():
        sqs.create_queue(QueueName="one")
        resource.create_queue(QueueName="two")

    assert (queues_of(other), queues_of(outer)) == (["one", "two"], [])


@pytest.mark.usefixtures("bare")
def test_child_process_reaches_the_same_world_at_the_same_virtual_time(world: World) -> None:
    program = """if True:
        import boto3
        queue = boto3.client("sqs").create_queue(QueueName="orders")["QueueUrl"]
        boto3.client("sqs").send_message(QueueUrl=queue, MessageBody="from the child", DelaySeconds=900)
        print(queue)
    """

    ran = subprocess.run(
        [sys.executable, "-c", program], env=world.environment, capture_output=True, text=True, check=True
    )

    queue = ran.stdout.strip()
    with world.reached():
        sqs = boto3.client("sqs")
        assert "Messages" not in sqs.receive_message(QueueUrl=queue)
        world.advance(minutes=15)
        assert sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"] == "from the child"


@pytest.mark.usefixtures("bare")
def test_exported_world_is_that_of_the_processes_started_after_it(world: World) -> None:
    program = 'import boto3; boto3.client("sqs").create_queue(QueueName="orders")'
    with world.reached():
        world.export()

        subprocess.run([sys.executable, "-c", program], check=True)

        boto3.client("sqs").create_queue(QueueName="after")
    assert queues_of(world) == ["after", "orders"]
    assert "AWS_ENDPOINT_URL" not in os.environ


@pytest.mark.usefixtures("bare")
def test_queue_url_made_in_process_is_one_that_other_processes_reach(world: World) -> None:
    url = world.endpoint_url

    with world.reached():
        assert boto3.client("sqs").create_queue(QueueName="orders")["QueueUrl"] == f"{url}/000000000000/orders"
        assert boto3.client("sqs", endpoint_url=url).list_queues()["QueueUrls"] == [f"{url}/000000000000/orders"]


def test_closed_world_listens_no_more() -> None:
    world = World()
    port = int(world.endpoint_url.rpartition(":")[2])

    world.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_all_domains_of_aws_are_known() -> None:
    partitions = Loader().load_data("partitions")["partitions"]
    outputs = [one["outputs"] for one in partitions]
    endpoints = Loader().load_data("endpoints")["partitions"]
    variants = [variant for one in endpoints for variant in one["defaults"].get("variants", [])]

    known = {one[key] for one in outputs for key in ("dnsSuffix", "dualStackDnsSuffix")}
    known |= {one["dnsSuffix"] for one in (*endpoints, *variants) if "dnsSuffix" in one}

    assert known - set(AWS_SUFFIXES) == set()


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("sqs.us-east-1.amazonaws.com", True),
        ("SQS.US-EAST-1.AMAZONAWS.COM.", True),
        ("reports.s3.eu-west-1.amazonaws.com.cn", True),
        ("lambda.us-east-1.api.aws", True),
        ("notamazonaws.com", False),
        ("amazonaws.com.example.org", False),
        ("localhost", False),
        ("localhost.localstack.cloud", False),
    ],
)
def test_host_is_aws_by_its_domain(host: str, is_one: bool) -> None:
    assert is_aws_host(host) is is_one


def test_bucket_in_the_name_of_the_host_is_found() -> None:
    """A client without an endpoint of its own writes the bucket there."""
    world = World()
    with world.reached():
        s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        s3.create_bucket(Bucket="inbox-of-files")
        s3.put_object(Bucket="inbox-of-files", Key="a/b.csv", Body=b"x")
        found = s3.list_objects_v2(Bucket="inbox-of-files")["Contents"]
    world.close()

    assert [one["Key"] for one in found] == ["a/b.csv"]
