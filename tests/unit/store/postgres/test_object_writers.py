"""Nodes on one database that write the same objects at once: one conditional write wins, and no version is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from tests.support.postgresql import database
from tests.support.stores import PostgresWorld
from tests.unit.store.postgres.test_concurrency import at_once, succeeded

NODES = 4
WRITES = 8
LARGE = 100_000

Nodes = Sequence[PostgresWorld]


@pytest.fixture(scope="module")
def nodes(postgresql_url: str) -> Iterator[Nodes]:
    with database(postgresql_url) as url:
        made = [PostgresWorld(url, seed=seed) for seed in range(NODES)]
        yield made
        for node in made:
            node.close()


def bucket(nodes: Nodes, name: str, *, versioning: bool = False) -> str:
    nodes[0].call("s3", "CreateBucket", Bucket=name)
    if versioning:
        nodes[0].call("s3", "PutBucketVersioning", Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def codes(answers: Sequence[Any]) -> Counter[str]:
    """How many answers are errors of each code; those that are none count for the empty code."""
    return Counter(one.code if isinstance(one, ServiceError) else "" for one in answers)


def reference_counts(node: PostgresWorld) -> list[int]:
    """How many references the bodies have that somebody has."""
    rows = node.store.rows(["bodies"])[0]
    return sorted(count for _, _, count, _, _ in rows if count)


def test_of_writers_that_want_no_object_one_wins(nodes: Nodes) -> None:
    name = bucket(nodes, "first")
    answers: list[list[Any]] = [[] for _ in nodes]

    def work(number: int, node: PostgresWorld) -> None:
        for key in range(WRITES):
            put = {"Bucket": name, "Key": str(key), "IfNoneMatch": "*"}
            answers[number] += node.calls(
                "s3", "PutObject", [{**put, "Body": f"{number}-{n}".encode()} for n in (0, 1)]
            )

    at_once(work, nodes)

    assert codes([one for some in answers for one in some]) == {
        "": WRITES,
        "PreconditionFailed": WRITES * (2 * NODES - 1),
    }


def test_of_writers_that_replace_the_same_object_one_wins_each_round(nodes: Nodes) -> None:
    name = bucket(nodes, "rounds")
    etag = nodes[0].call("s3", "PutObject", Bucket=name, Key="k", Body=b"0")["ETag"]
    won: list[int] = []

    for turn in range(WRITES):
        answers: list[Any] = []

        def work(
            number: int, node: PostgresWorld, turn: int = turn, answers: list[Any] = answers, etag: str = etag
        ) -> None:  # fmt: skip
            body = f"{turn}/{number}".encode()
            answers += node.calls("s3", "PutObject", [{"Bucket": name, "Key": "k", "Body": body, "IfMatch": etag}])

        at_once(work, nodes)
        won.append(codes(answers)[""])
        (etag,) = [one["ETag"] for one in answers if not isinstance(one, ServiceError)]

    assert won == [1] * WRITES


def test_each_write_of_a_key_is_a_version_and_one_is_the_latest(nodes: Nodes) -> None:
    name = bucket(nodes, "versions", versioning=True)

    def work(number: int, node: PostgresWorld) -> None:
        for turn in range(WRITES):
            succeeded(
                node.calls("s3", "PutObject", [{"Bucket": name, "Key": "k", "Body": f"{number}/{turn}".encode()}])
            )

    at_once(work, nodes)

    versions = nodes[0].call("s3", "ListObjectVersions", Bucket=name)["Versions"]
    assert len({one["VersionId"] for one in versions}) == NODES * WRITES
    assert [one["IsLatest"] for one in versions] == [True] + [False] * (NODES * WRITES - 1)
    current = nodes[1].call("s3", "HeadObject", Bucket=name, Key="k")
    assert current["VersionId"] == versions[0]["VersionId"]


def test_bodies_of_overwritten_copied_and_deleted_objects_are_counted_right(nodes: Nodes) -> None:
    """Copies, overwrites and deletions of the same two keys: at the end each object that is there has its body."""
    name = bucket(nodes, "bodies")
    put = [{"Bucket": name, "Key": key, "Body": key.encode() * LARGE} for key in ("a", "b")]
    succeeded(nodes[0].calls("s3", "PutObject", put))

    def work(number: int, node: PostgresWorld) -> None:
        for turn in range(WRITES):
            one, other = ("a", "b") if (number + turn) % 2 else ("b", "a")
            node.calls("s3", "CopyObject", [{"Bucket": name, "Key": one, "CopySource": f"{name}/{other}"}])
            node.calls("s3", "DeleteObject", [{"Bucket": name, "Key": other}])
            node.calls("s3", "PutObject", [{"Bucket": name, "Key": other, "Body": b"x" * LARGE}])

    at_once(work, nodes)

    assert sum(reference_counts(nodes[0])) == 2
    assert nodes[0].call("s3", "DeleteObjects", Bucket=name, Delete={"Objects": [{"Key": "a"}, {"Key": "b"}]})
    assert reference_counts(nodes[1]) == []


def test_each_write_of_each_node_is_told_once(nodes: Nodes) -> None:
    name = bucket(nodes, "told")
    arn = "arn:aws:sqs:us-east-1:000000000000:told"
    policy = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}]}
    attributes = {"Policy": json.dumps(policy)}
    url = nodes[0].call("sqs", "CreateQueue", QueueName="told", Attributes=attributes)["QueueUrl"]
    wanted = {"QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]}
    nodes[0].call("s3", "PutBucketNotificationConfiguration", Bucket=name, NotificationConfiguration=wanted)
    nodes[0].call("sqs", "PurgeQueue", QueueUrl=url)

    def work(number: int, node: PostgresWorld) -> None:
        params = [{"Bucket": name, "Key": f"{number}/{turn}", "Body": b"x"} for turn in range(WRITES)]
        succeeded(node.calls("s3", "PutObject", params))

    at_once(work, nodes)

    told: list[str] = []
    for _ in range(NODES * WRITES):
        for message in nodes[1].call("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            told += [record["s3"]["object"]["key"] for record in json.loads(message["Body"])["Records"]]
    assert sorted(told) == sorted(f"{number}/{turn}" for number in range(NODES) for turn in range(WRITES))
