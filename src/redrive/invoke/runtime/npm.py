"""npm, by which Node.js code gets its packages, and the packages of AWS's SDK that code expects in its runtime.

Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html for the SDKs that the runtimes have.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.core.errors import UserError
from redrive.invoke.keeping import Say, kept, place_of, run_tool

MANIFEST, MODULES = "package.json", "node_modules"
LAYOUT = b"node-1"
"""Changes when installations are laid out in another way, so that earlier ones are not used."""

_SOURCES = (".js", ".cjs", ".mjs", ".ts", ".mts", ".cts")

# Up to Node.js 16 the runtimes have version 2 of the SDK, from 18 on the packages of version 3.
_LAST_MAJOR_WITH_SDK_2 = 16
_SDK_2 = re.compile(r"""(?:require\(\s*|from\s*|import\s*\(?\s*)["'](?P<name>aws-sdk)(?:/[^"']*)?["']""")
_SDK_3 = re.compile(r"""(?:require\(\s*|from\s*|import\s*\(?\s*)["'](?P<name>@(?:aws-sdk|smithy)/[\w.-]+)[^"']*["']""")


@dataclass(frozen=True, slots=True)
class Npm:
    """npm, and where what it installs is kept."""

    command: tuple[str, ...]
    cache: Path
    say: Say

    def packages(self, names: Mapping[str, str], what: str) -> Path:
        """The node_modules with these packages, in these versions; none of their scripts runs. Errors: UserError."""
        return self._installed(what, _asking_for(names), "--ignore-scripts")

    def kept_packages(self, names: Mapping[str, str]) -> Path | None:
        """The node_modules with these packages, if they were installed before; nothing is fetched."""
        place = place_of(self.cache, _parts(_asking_for(names))) / MODULES
        return place if place.is_dir() else None

    def installed(self, what: str, files: Mapping[str, bytes]) -> Path:
        """The node_modules that a package.json and the files beside it ask for. Errors: UserError."""
        return self._installed(what, files)

    def _installed(self, what: str, files: Mapping[str, bytes], *more: str) -> Path:
        def make(place: Path) -> None:
            command = self._found()
            self.say(f"installing {what} by npm from {_registry(command, place)}")
            for name, content in files.items():
                (place / name).write_bytes(content)
            options = ("--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", *more)
            run_tool("npm", f"{what} could not be installed", (*command, "install", *options), place)

        return kept(self.cache, _parts(files), make) / MODULES

    def _found(self) -> tuple[str, ...]:
        if shutil.which(self.command[0]) is None:
            raise UserError(
                "There is no npm on this machine, by which Node.js code gets its packages.",
                next_step="Install Node.js, or run `npm install` beside the code yourself.", exit_code=3,
            )  # fmt: skip
        return self.command


def _asking_for(names: Mapping[str, str]) -> dict[str, bytes]:
    text = json.dumps({"private": True, "dependencies": dict(sorted(names.items()))})
    return {MANIFEST: text.encode()}


def _parts(files: Mapping[str, bytes]) -> list[bytes]:
    parts = [LAYOUT, sys.platform.encode(), platform.machine().encode()]
    return parts + [part for name, content in sorted(files.items()) for part in (name.encode(), content)]


def _registry(command: tuple[str, ...], directory: Path) -> str:
    """The address from which npm fetches, as its configuration says."""
    try:
        ran = subprocess.run(
            (*command, "config", "get", "registry"), cwd=directory, check=False, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace",
        )  # fmt: skip
    except OSError:
        return "an unknown registry"  # The installation says why npm cannot be run.
    return ran.stdout.strip() or "an unknown registry"


def own_sources(files: Mapping[str, Path]) -> list[Path]:
    """The sources among the files of a function, without those of the packages that it has brought."""
    return [path for name, path in files.items() if f"{MODULES}/" not in name and path.suffix in _SOURCES]


def sdk_packages(files: Mapping[str, Path], runtime: str) -> dict[str, str]:
    """The packages of AWS's SDK that code uses and does not bring: AWS has them in the runtime. With their versions."""
    digits = re.match(r"nodejs(\d+)", runtime)
    if digits is None:
        return {}
    is_old = int(digits[1]) <= _LAST_MAJOR_WITH_SDK_2
    pattern, version = (_SDK_2, "^2") if is_old else (_SDK_3, "^3")
    own = own_sources(files)
    used = {match["name"] for path in own for match in pattern.finditer(path.read_text("utf-8", errors="replace"))}
    return {
        name: version if name.startswith("@aws-sdk/") or is_old else "*"
        for name in sorted(used)
        if f"{MODULES}/{name}/{MANIFEST}" not in files
    }
