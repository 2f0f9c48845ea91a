"""Web pages and buckets: a page that the guard refuses may use a bucket as the bucket's CORS rules say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from redrive.core.entropy import SeededEntropy
from redrive.testing.world import World
from tests.unit.gateway.test_app import House

PAGE = "https://shop.example"
SIGNED: Any = {
    "authorization": "AWS4-HMAC-SHA256 Credential=x/20250101/us-east-1/s3/aws4_request, SignedHeaders=a, Signature=0",
    "x-amz-date": "20250101T000000Z",
    "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
}
RULES: list[dict[str, Any]] = [
    {"AllowedMethods": ["GET"], "AllowedOrigins": ["https://*.example"], "AllowedHeaders": ["x-amz-*", "Authorization"],
     "ExposeHeaders": ["ETag"], "MaxAgeSeconds": 60},
    {"AllowedMethods": ["GET", "PUT"], "AllowedOrigins": ["*"], "AllowedHeaders": ["*"]},
]  # fmt: skip
Play = Callable[..., None]


@pytest.fixture
def play() -> Iterator[Play]:
    """Runs a scenario in a house with two buckets: one has CORS rules, the other has none."""
    world = World()
    s3 = world.client("s3")
    for name in ("open", "shut"):
        s3.create_bucket(Bucket=name)
        s3.put_object(Bucket=name, Key="a", Body=b"x")

    def play_one(scenario: Callable[[House], Awaitable[None]], *, rules: list[dict[str, Any]] = RULES) -> None:
        s3.put_bucket_cors(Bucket="open", CORSConfiguration={"CORSRules": rules})

        async def run_one() -> None:
            house = House(world, run=None, entropy=SeededEntropy(3))
            try:
                async with asyncio.timeout(10):
                    await scenario(house)
            finally:
                await house.close()

        asyncio.run(run_one())

    yield play_one
    world.close()


def preflight(method: str, *headers: str, origin: str = PAGE) -> Any:
    asked = {"access-control-request-headers": ", ".join(headers)} if headers else {}
    return {"origin": origin, "access-control-request-method": method, **asked}


@pytest.mark.parametrize(
    ("target", "host"), [("/open/a", "localhost"), ("/a", "open.localhost"), ("/a", "open.s3.localhost")]
)
def test_preflight_is_answered_by_the_first_rule_that_matches(target: str, host: str, play: Play) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("OPTIONS", target, **preflight("GET", "X-Amz-Date", "authorization"), host=host)

        assert (answer.status, answer.body) == (200, b"")
        assert dict(answer.headers) == {
            "access-control-allow-origin": PAGE,
            "access-control-allow-methods": "GET",
            "access-control-allow-headers": "x-amz-date, authorization",
            "access-control-expose-headers": "ETag",
            "access-control-max-age": "60",
            "access-control-allow-credentials": "true",
            "vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
        }

    play(scenario)


def test_rule_for_every_origin_says_so_and_takes_no_credentials(play: Play) -> None:
    async def scenario(house: House) -> None:
        headers = dict((await house.ask("OPTIONS", "/open/a", **preflight("PUT", "content-type"))).headers)

        assert headers["access-control-allow-origin"] == "*"
        assert headers["access-control-allow-methods"] == "GET, PUT"
        assert "access-control-allow-credentials" not in headers

    play(scenario)


@pytest.mark.parametrize(
    ("target", "method", "told"),
    [
        ("/open/a", "DELETE", b"CORSResponse: This CORS request is not allowed."),
        ("/shut/a", "GET", b"CORSResponse: CORS is not enabled for this bucket."),
        ("/nothing/a", "GET", b"--allow-origin"),
    ],
)
def test_preflight_that_no_rule_allows_is_refused(target: str, method: str, told: bytes, play: Play) -> None:
    async def scenario(house: House) -> None:
        answer = await house.ask("OPTIONS", target, **preflight(method))

        assert answer.status == 403
        assert told in answer.body

    play(scenario)


def test_page_that_a_rule_allows_reads_the_answer_and_the_error(play: Play) -> None:
    async def scenario(house: House) -> None:
        found = await house.ask("GET", "/open/a", origin=PAGE, **SIGNED)
        missing = await house.ask("GET", "/open/none", origin=PAGE, **SIGNED)

        assert (found.status, found.body, missing.status) == (200, b"x", 404)
        assert dict(found.headers)["access-control-allow-origin"] == PAGE
        assert dict(missing.headers)["access-control-allow-origin"] == PAGE

    play(scenario)


def test_page_uses_a_presigned_url_as_the_rules_allow(play: Play) -> None:
    async def scenario(house: House) -> None:
        query = (
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=x%2F20250101%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20250101T000000Z&X-Amz-Expires=600&X-Amz-SignedHeaders=host&X-Amz-Signature=0"
        )
        put = await house.ask("PUT", f"/open/new?{query}", b"y", origin=PAGE)
        got = await house.ask("GET", f"/open/new?{query}", origin=PAGE)

        assert (put.status, got.status, got.body) == (200, 200, b"y")

    play(scenario)


def test_page_that_no_rule_allows_is_refused_and_nothing_happens(play: Play) -> None:
    async def scenario(house: House) -> None:
        shut = await house.ask("PUT", "/shut/new", b"y", origin=PAGE, **SIGNED)
        deleted = await house.ask("DELETE", "/open/a", origin=PAGE, **SIGNED)
        still = await house.ask("GET", "/open/a", **SIGNED)
        none = await house.ask("GET", "/shut/new", **SIGNED)

        assert (shut.status, deleted.status) == (403, 403)
        assert (still.status, none.status) == (200, 404)

    play(scenario)


def test_rules_of_a_bucket_open_no_other_service(play: Play) -> None:
    """A request whose path names an open bucket may be for another service, by its header."""

    async def scenario(house: House) -> None:
        call: Any = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.CreateQueue"}
        answer = await house.ask("PUT", "/open/a", b'{"QueueName": "q"}', **call, origin=PAGE)
        own = await house.ask("GET", "/_redrive/status", origin=PAGE)

        assert (answer.status, own.status) == (403, 403)
        assert b"--allow-origin" in answer.body

    play(scenario)
