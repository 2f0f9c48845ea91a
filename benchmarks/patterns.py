"""Event patterns: events of 1 KiB against the rules of a bus, parse included, beside one rule after another."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping

import orjson

from benchmarks.report import Figure
from redrive.core.documents import dump_json
from redrive.languages.event_pattern import Matcher, Pattern, matches, parse

SIZES = (1, 100, 1_000, 10_000)
EVENTS = 20_000
EVENT_BYTES = 1_024
SOURCES = ("orders", "payments", "stock", "shipping", "users", "mail", "ledger", "search", "carts", "fraud")
TYPES = ("Created", "Updated", "Deleted", "Failed", "Paid", "Refunded", "Shipped", "Returned")
TIERS = ("gold", "silver", "free")


def measure() -> Iterator[Figure]:
    """Rates for buses of few and many rules, and what it takes to build the largest."""
    chance = random.Random(7)  # noqa: S311 - The same rules and events in each run.
    events = [_event(chance) for _ in range(EVENTS)]
    yield Figure("orjson alone", _rate(orjson.loads, events), "events/s")
    for size in SIZES:
        for name, rule in (("mixed rules", _mixed), ("rules of one service each", _narrow)):
            texts = [rule(chance, number) for number in range(size)]
            began = time.process_time()
            patterns = {str(number): parse(text) for number, text in enumerate(texts)}
            matcher = Matcher.of(patterns)
            built = time.process_time() - began
            hits = sum(len(matcher.matching_json(event)) for event in events) / EVENTS
            rate = _rate(matcher.matching_json, events)
            what = f"{size:,} {name}, {hits:.1f} of which match"
            yield Figure(what, rate, "events/s")
            yield Figure(f"{what}: times as many as rule by rule", rate / _naive_rate(patterns, events), "")
            if size == SIZES[-1]:
                yield Figure(f"{size:,} {name}: read and built", built, "s")
    yield Figure(
        f"{SIZES[-1]:,} mixed rules: memory, with the cache of {EVENTS:,} events", _memory_mb(chance, events), "MB"
    )


def _rate(match: Callable[[bytes], object], events: list[bytes]) -> float:
    began = time.process_time()
    for event in events:
        match(event)
    return len(events) / (time.process_time() - began)


def _naive_rate(patterns: Mapping[str, Pattern], events: list[bytes]) -> float:
    def match(text: bytes) -> object:
        event = orjson.loads(text)
        return [name for name, pattern in patterns.items() if matches(pattern, event)]

    return _rate(match, events[: max(3, 3_000 // len(patterns))])


def _memory_mb(chance: random.Random, events: list[bytes]) -> float:
    texts = [_mixed(chance, number) for number in range(SIZES[-1])]
    tracemalloc.start()
    matcher = Matcher.of({str(number): parse(text) for number, text in enumerate(texts)})
    for event in events:
        matcher.matching_json(event)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used / 1e6


def _mixed(chance: random.Random, number: int) -> str:
    """A rule of any kind: exact values, ranges, beginnings, ends, wildcards, networks, absence, $or, arrays."""
    low, high = chance.randrange(1_000), chance.randrange(1_000, 2_000)
    details: list[dict[str, object]] = [
        {"customer": {"tier": [chance.choice(TIERS)]}},
        {"total": [{"numeric": [">", low, "<=", high]}]},
        {"region": [{"prefix": chance.choice(["eu-", "us-", "ap-"])}], "status": [{"anything-but": ["test", "draft"]}]},
        {"file": [{"wildcard": f"*/{chance.choice(['in', 'out', 'tmp'])}/*.{chance.choice(['csv', 'json'])}"}]},
        {"file": [{"suffix": chance.choice([".csv", ".png"])}], "error": [{"exists": False}]},
        {"items": {"sku": [f"sku-{chance.randrange(500)}"]}},
        {"customer": {"id": [f"c-{chance.randrange(5_000)}"]}},
        {"ip": [{"cidr": f"10.{chance.randrange(200)}.0.0/16"}]},
        {"$or": [{"total": [{"numeric": [">", 1_900]}]}, {"customer": {"tier": ["gold"]}}]},
        {"status": [{"equals-ignore-case": chance.choice(["paid", "open"])}]},
    ]
    pattern = {"source": [f"shop.{chance.choice(SOURCES)}"], "detail": details[number % 10]}
    kind = {} if number % 10 > 6 else {"detail-type": [chance.choice(TYPES)]}
    return dump_json(pattern | kind)


def _narrow(chance: random.Random, number: int) -> str:
    """A rule as most are: one source, one type, one value or two."""
    source = SOURCES[number % len(SOURCES)]
    detail = {"customer": {"id": [f"c-{number}"]}, "status": [{"anything-but": "test"}]}
    return dump_json({"source": [f"shop.{source}"], "detail-type": [chance.choice(TYPES)], "detail": detail})


def _event(chance: random.Random) -> bytes:
    folder, ending = chance.choice(["in", "out", "x"]), chance.choice(["csv", "json", "png"])
    detail = {
        "order": f"o-{chance.getrandbits(40)}",
        "customer": {"id": f"c-{chance.randrange(5_000)}", "tier": chance.choice(TIERS), "mail": "a@example.com"},
        "total": round(chance.random() * 2_200, 2),
        "currency": "EUR",
        "region": chance.choice(["eu-west-1", "us-east-1", "ap-south-1"]),
        "status": chance.choice(["paid", "open", "test", "Paid"]),
        "file": f"s/{folder}/f{chance.randrange(9)}.{ending}",
        "ip": f"10.{chance.randrange(255)}.3.4",
        "items": [{"sku": f"sku-{chance.randrange(500)}", "n": 1} for _ in range(3)],
        "note": "",
    }
    event = {
        "version": "0",
        "id": f"{chance.getrandbits(128):032x}",
        "detail-type": chance.choice(TYPES),
        "source": f"shop.{chance.choice(SOURCES)}",
        "account": "000000000000",
        "time": "2026-11-22T21:00:00Z",
        "region": "us-east-1",
        "resources": [],
        "detail": detail,
    }
    detail["note"] = "x" * (EVENT_BYTES - len(dump_json(event)))
    return dump_json(event).encode()
