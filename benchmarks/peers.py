"""Other servers of SQS's API, installed from the package registries. Their code is run, and nothing else.

Each lives in a folder of its own in a cache outside this repository. Versions are not pinned: a table says which it was
made with. A peer that cannot be installed or does not start is left out, and the reason is told.
"""

from __future__ import annotations

import json
import os
import subprocess
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dialects import Dialect, JsonDialect, QueryDialect
from benchmarks.processes import NotStarted, ServerProcess, free_port, serving

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "redrive-bench"
INSTALL_S_MAX = 300
START_S_MAX = 30
PROBE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True, slots=True)
class PyPI:
    """A package of Python, in a virtual environment of its own."""

    package: str
    distribution: str

    def install(self, folder: Path) -> None:
        """Errors: NotStarted."""
        venv.create(folder, with_pip=True)
        _run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", self.package], folder)

    def version(self, folder: Path) -> str:
        """What is installed."""
        code = f"import importlib.metadata as m; print(m.version('{self.distribution}'))"
        return _run([str(folder / "bin/python"), "-c", code], folder).strip()


@dataclass(frozen=True, slots=True)
class Npm:
    """A package of Node.js."""

    package: str

    def install(self, folder: Path) -> None:
        """Errors: NotStarted."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        _run(["npm", "install", "--no-audit", "--no-fund", self.package], folder)

    def version(self, folder: Path) -> str:
        """What is installed."""
        manifest = (folder / "node_modules" / self.package / "package.json").read_text(encoding="utf-8")
        return str(json.loads(manifest)["version"])


@dataclass(frozen=True, slots=True)
class Peer:
    """How to start a server: `command` and `env` are given its folder and the port."""

    name: str
    source: PyPI | Npm
    command: Callable[[Path, int], Sequence[str]]
    env: Callable[[Path, int], Mapping[str, str]] = lambda _, __: {}
    dialect: Callable[[int], Dialect] = JsonDialect


def _elasticmq(folder: Path, port: int) -> list[str]:
    jar = next((folder / "node_modules/elasticmq").glob("*.jar"))
    # The jar is of 2013: it looks into a class of Java's that newer Javas hide.
    opened = ["--add-opens", "java.base/java.util.regex=ALL-UNNAMED"]
    address = ["-Drest-sqs.bind-hostname=127.0.0.1", f"-Drest-sqs.bind-port={port}", f"-Dnode-address.port={port}"]
    return ["java", *opened, *address, "-jar", str(jar)]


PEERS = (
    Peer(
        "ministack", PyPI("ministack", "ministack"),
        command=lambda folder, _: [str(folder / "bin/ministack")], env=lambda _, port: {"GATEWAY_PORT": str(port)},
    ),
    Peer(
        "moto", PyPI("moto[server,s3,sqs,sns,events]", "moto"),
        command=lambda folder, port: [str(folder / "bin/moto_server"), "-H", "127.0.0.1", "-p", str(port)],
    ),
    Peer(
        "fauxqs", Npm("fauxqs"),
        command=lambda folder, _: [str(folder / "node_modules/.bin/fauxqs")],
        env=lambda _, port: {"FAUXQS_PORT": str(port), "FAUXQS_LOGGER": "false"},
    ),
    Peer("elasticmq", Npm("elasticmq"), command=_elasticmq, dialect=QueryDialect),
)  # fmt: skip


DYNALITE = Peer(
    "dynalite", Npm("dynalite"),
    command=lambda folder, port: [
        str(folder / "node_modules/.bin/dynalite"), "--host", "127.0.0.1", "--port", str(port), "--createTableMs", "0",
    ],
)  # fmt: skip
"""A server of DynamoDB alone."""


@contextmanager
def running(peer: Peer) -> Iterator[tuple[ServerProcess, Dialect, str]]:
    """A peer, its dialect, and its version; installed first if it is not in the cache. Errors: NotStarted."""
    folder = CACHE / peer.name
    if not (folder / "installed").exists():
        peer.source.install(folder)
        (folder / "installed").touch()
    port = free_port()
    command, env = peer.command(folder, port), peer.env(folder, port)
    with serving(command, port, probe=PROBE, env=env, start_s_max=START_S_MAX) as server:
        yield server, peer.dialect(port), peer.source.version(folder)


def _run(command: Sequence[str], folder: Path) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the commands are those above.
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise NotStarted(f"{command[0]}: {said.strip()[-300:]}") from error
    return done.stdout
