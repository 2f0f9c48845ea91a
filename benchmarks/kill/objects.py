"""The command: `python -m benchmarks.kill.objects [--postgresql]`. Objects of all sizes while nodes are killed.

After each kill every object reads back as it was answered. At the end no file and no row is left that nobody has.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import psycopg

from benchmarks.kill.__main__ import join, said, tell, wait_for
from benchmarks.kill.cluster import Node, Weather, nodes_on
from benchmarks.kill.object_load import BUCKET, Client
from benchmarks.report import machine
from redrive.core.clock import SystemClock
from redrive.core.entropy import SystemEntropy
from redrive.store.files.bodies import bodies_beside
from redrive.store.files.directory import STORE_FILE
from redrive.store.sqlite import SqliteStore
from scripts.postgresql import Server, serving

CLIENTS = 4
_BODIES = "SELECT id, size, refs, place FROM bodies"
_PIECES = "SELECT body_id, sum(length(content)) FROM body_pieces GROUP BY body_id"
_DOCUMENTS = "SELECT document FROM objects UNION ALL SELECT document FROM upload_parts"
Rows = Sequence[Sequence[object]]


def main() -> None:
    """Serve, load, kill, check."""
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="redrive-kill-"))
    print(f"{machine()}\nlogs: {folder}", flush=True)
    if arguments.postgresql:
        with serving(durable=True) as database, nodes_on(("--store", database.url), 3, folder) as nodes:
            wrong = _play(nodes, arguments)
            wrong += [*_left_in_rows(database)]
    else:
        with nodes_on(("--data", str(folder / "data")), 1, folder) as nodes:
            wrong = _play(nodes, arguments)
        wrong += [*_left_on_disk(folder / "data" / STORE_FILE)]
    tell(wrong)


def _play(nodes: Sequence[Node], arguments: argparse.Namespace) -> list[str]:
    """Load and kill; read all objects; kill and start once more, and end. Returns what is wrong."""
    wait_for(nodes)
    ports = [node.port for node in nodes]
    weather = Weather(nodes, None, seconds=arguments.seconds, every_s=arguments.every, seed=arguments.seed)
    clients = [Client(number, ports, lambda: weather.kills, arguments.seed) for number in range(CLIENTS)]
    made = clients[0]._ask("PUT", f"/{BUCKET}")  # noqa: SLF001 - the bench's own.
    assert made[0] == 200, made
    threads = [threading.Thread(target=client.run, name=f"client-{number}") for number, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    weather.run()
    for node in nodes:
        node.kill()
        node.start()
    for client in clients:
        client.over.set()
    join(threads)
    wait_for(nodes)
    for client in clients:
        client.check()
    wrong = [*weather.ended_alone, *(line for client in clients for line in client.wrong)]
    wrong += [f"{node.log}: SIGTERM ended it with {code}" for node in nodes if (code := node.stop())]
    total = sum(client.bytes_put for client in clients) / 1e6
    print(f"{weather.kills} nodes killed, {total:,.0f} MB put")
    for outcome, count in sorted(sum((client.outcomes for client in clients), Counter()).items()):
        print(f"  {count:8,} {outcome}")
    return [*wrong, *said(nodes)]


def _left_on_disk(store: Path) -> Iterator[str]:
    """What is in files and rows after one more opening, and should not be."""
    SqliteStore(store, clock=SystemClock(), entropy=SystemEntropy()).close()
    with closing(sqlite3.connect(store)) as connection:
        bodies, pieces, documents = (connection.execute(sql).fetchall() for sql in (_BODIES, _PIECES, _DOCUMENTS))
    files = {path.name: path.stat().st_size for path in bodies_beside(store).rglob("*") if path.is_file()}
    in_files = {str(body_id): size for body_id, size, _, place in bodies if place == "file"}
    yield from (f"the file {name} has no row" for name in files.keys() - in_files.keys())
    yield from (f"the body {name} has no file" for name in in_files.keys() - files.keys())
    yield from (
        f"the file {name} has another size" for name in files.keys() & in_files.keys() if files[name] != in_files[name]
    )
    yield from _miscounted(bodies, pieces, documents)
    print(f"{len(files)} files, {len(bodies)} bodies, {sum(files.values()) / 1e6:,.0f} MB")


def _left_in_rows(database: Server) -> Iterator[str]:
    with psycopg.connect(database.url, autocommit=True) as connection:
        bodies, pieces, documents = (connection.execute(sql).fetchall() for sql in (_BODIES, _PIECES, _DOCUMENTS))
    print(f"{len(bodies)} bodies, {len(pieces)} of them have pieces")
    yield from _miscounted(bodies, pieces, documents)


def _miscounted(bodies: Rows, pieces: Rows, documents: Rows) -> Iterator[str]:
    """References, rows and pieces that do not agree. What was released not long ago may still be there."""
    text = "\n".join(json.dumps(document) for (document,) in documents)
    known = {str(body_id) for body_id, *_ in bodies}
    sizes = {str(body_id): int(str(size)) for body_id, size in pieces}
    yield from (f"the pieces of {body_id} have no body" for body_id in sizes.keys() - known)
    for body_id, size, refs, place in bodies:
        counted = text.count(str(body_id))
        if refs != counted:
            yield f"the body {body_id} has {refs} references, and {counted} objects and parts have it"
        if refs and place == "rows" and sizes.get(str(body_id)) != size:
            yield f"the pieces of {body_id} have {sizes.get(str(body_id))} bytes, and should have {size}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill.objects", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="three nodes on a PostgreSQL; otherwise SQLite")
    parser.add_argument("--seconds", type=float, default=120, help="how long there is weather")
    parser.add_argument("--every", type=float, default=4, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1, help="decides what is put, and which nodes are killed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
