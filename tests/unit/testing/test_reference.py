"""The reference of the server's own surface names what there is, and nothing else."""

from __future__ import annotations

from pathlib import Path

import yaml

from redrive.core.clock import VirtualClock
from redrive.core.log import SilentLog
from redrive.engine.driver import VirtualDrive
from redrive.gateway.admin import Admin, Facts
from redrive.testing.world import World
from redrive.wire.message import HttpRequest

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def answer(method: str, path: str, body: bytes = b"") -> int:
    world = World()
    assert isinstance(world.clock, VirtualClock)
    drive = VirtualDrive(world.engine, world.clock, SilentLog(), moved=lambda _: None)
    admin = Admin(
        Facts("000000000000", "memory"), world.clock, drive, reset=world.store.reset, load_blob={"known": b"zip"}.get
    )
    return admin.respond(HttpRequest(method, path, "", {}, body)).status


def test_every_path_of_the_reference_answers() -> None:
    document = yaml.safe_load((REFERENCE / "admin.openapi.yaml").read_text("utf-8"))
    calls = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]

    answers = {
        call: answer(call[0], call[1].replace("{digest}", "known"), b'{"advance_s": 60}' if call[0] == "POST" else b"")
        for call in calls
    }

    assert set(answers.values()) == {200}
    page = (REFERENCE / "admin.md").read_text("utf-8")
    assert all(f"`{method} {path.replace('{digest}', 'DIGEST')}`" in page for method, path in calls)


def test_clock_does_not_run_backwards_or_half_asked() -> None:
    assert answer("POST", "/_redrive/clock", b'{"to": "1999-01-01T00:00:00Z"}') == 400
    assert answer("POST", "/_redrive/clock", b'{"advance_s": 5, "to": "2030-01-01T00:00:00Z"}') == 400
    assert answer("POST", "/_redrive/clock", b'{"advance_s": "a day"}') == 400
    assert answer("POST", "/_redrive/clock", b"{not json") == 400


def test_unknown_path_is_refused_with_what_there_is() -> None:
    assert answer("GET", "/_redrive/nothing") == 404
