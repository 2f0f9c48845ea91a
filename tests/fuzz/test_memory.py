"""What a server keeps of thousands of hostile calls: nothing."""

from __future__ import annotations

import gc
import http.client
import re
import sys
from collections import Counter

from redrive.core.clock import SystemClock
from redrive.core.log import LineLog
from redrive.gateway.server import Options, Server, running
from redrive.testing.world import World
from redrive.wire.model.files import Models
from redrive.wire.model.shapes import OperationModel, ServiceModel
from tests.fuzz.protocols import request_of
from tests.fuzz.shapes import Parameters, Pool
from tests.fuzz.values import Draw

WARM_UP_CALLS = 15_000
"""What fills the caches, each of which has a named limit, and has every operation compiled."""

CALLS = 2_500
"""What is measured."""

OBJECTS_PER_CALL_MAX = 0.5
"""A list, a task or a connection for each call would be one or more."""

BLOCKS_PER_CALL_MAX = 1.5
"""Texts, numbers and documents of those are blocks of the allocator, and no objects of the collector. Late fillings of
caches make some 0.9; a small document kept of each call makes 3.7."""

TIMEOUT_S = 20

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A name of a header that a client of HTTP can send."""

_OF_CLIENT = frozenset({"content-length", "expect", "transfer-encoding"})
"""Headers that are the client's own: a length is also a member of PutObject, and a server waits for so many bytes."""


def test_server_keeps_nothing_of_thousands_of_hostile_calls() -> None:
    """Refused calls of all operations, each with texts of its own, leave a bounded number of objects behind."""
    with running(Options(port=0, virtual=True), LineLog(SystemClock())) as server:
        operations = _operations()
        _call(server, operations, range(WARM_UP_CALLS))
        objects, blocks, kinds = _held()
        _call(server, operations, range(WARM_UP_CALLS, WARM_UP_CALLS + CALLS))
        objects_then, blocks_then, kinds_then = _held()

    grown = (kinds_then - kinds).most_common(8)
    assert objects_then - objects < CALLS * OBJECTS_PER_CALL_MAX, grown
    assert blocks_then - blocks < CALLS * BLOCKS_PER_CALL_MAX, grown


def _operations() -> list[tuple[ServiceModel, OperationModel, str]]:
    """Every operation that is served, in each protocol of its service."""
    models, world = Models(), World()
    served = {models.service(name): names for name, names in world.engine.registry.services.items()}
    world.close()
    return [
        (model, model.operations[name], protocol)
        for model, names in served.items()
        for name in sorted(names)
        for protocol in model.spec.protocols
    ]


def _call(server: Server, operations: list[tuple[ServiceModel, OperationModel, str]], seeds: range) -> None:
    """A call for each seed, which is answered. None of them is understood, so none of them may leave anything."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
    pool = Pool({})
    for seed in seeds:
        draw = Draw(seed)
        model, operation, protocol = operations[seed % len(operations)]
        params = Parameters(draw, pool, 0.9).of(operation.input) | {f"X{seed}": f"only {seed}"}
        request = request_of(model, operation, protocol, params, draw)
        query = f"{request.path}?{request.query}" if request.query else request.path
        headers = {
            name: value.encode("latin-1", "replace")
            for name, value in request.headers.items()
            if _is_plain(value) and name not in _OF_CLIENT and _NAME.fullmatch(name)
        }
        if seed % 2:
            headers["authorization"] = headers["authorization"].replace(b"us-east-1", b"region-%d" % seed)
        connection.request(request.method, query, request.body[:20_000], headers)
        connection.getresponse().read()
    connection.close()


def _is_plain(value: str) -> bool:
    """Whether a client of HTTP can send it as a header at all."""
    return value.isprintable()


def _held() -> tuple[int, int, Counter[str]]:
    """Objects of the collector, blocks of the allocator, and objects by type, when all that can go has gone."""
    gc.collect()
    gc.collect()
    objects = gc.get_objects()
    kinds = Counter(type(one).__name__ for one in objects)
    return len(objects), sys.getallocatedblocks(), kinds
