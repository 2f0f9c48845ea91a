"""Packages of Node.js code: what a package.json asks for, what AWS's runtime brings along, and TypeScript bundled.

All of it comes by npm, without development dependencies, and is kept by what asked for it.
Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html for the SDKs that the runtimes have.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redrive.core.errors import UserError
from redrive.packaging.files import LEFT_OUT, digest_of, files_of
from redrive.packaging.keeping import Say, kept, run_tool

MANIFEST, MODULES = "package.json", "node_modules"
_ALSO_READ = ("package-lock.json", "npm-shrinkwrap.json", ".npmrc")
_LAYOUT = b"node-1"  # Changes when installations are laid out in another way, so that earlier ones are not used.
_SOURCES = (".js", ".cjs", ".mjs", ".ts", ".mts", ".cts")

# Up to Node.js 16 the runtimes have version 2 of the SDK, from 18 on the packages of version 3.
_LAST_MAJOR_WITH_SDK_2 = 16
_SDK_2 = re.compile(r"""(?:require\(\s*|from\s*|import\s*\(?\s*)["'](?P<name>aws-sdk)(?:/[^"']*)?["']""")
_SDK_3 = re.compile(r"""(?:require\(\s*|from\s*|import\s*\(?\s*)["'](?P<name>@(?:aws-sdk|smithy)/[\w.-]+)[^"']*["']""")

# The properties of Metadata.BuildProperties and the options of esbuild that they mean.
# https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/serverless-sam-cli-using-build-typescript.html
_FLAGS = {"KeepNames": "keep-names", "Minify": "minify", "Sourcemap": "sourcemap", "Splitting": "splitting"}
_VALUES = {"Format": "format", "MainFields": "main-fields", "SourcesContent": "sources-content", "Target": "target"}
_EACH = {"Alias": "alias", "Banner": "banner", "Define": "define", "External": "external", "Footer": "footer",
         "Inject": "inject", "Loader": "loader", "OutExtension": "out-extension"}  # fmt: skip
_JOINED = frozenset({"alias", "banner", "define", "footer", "loader", "out-extension"})
_TARGET = "es2020"


@dataclass(frozen=True, slots=True)
class Npm:
    """npm, and where what it installs is kept."""

    command: tuple[str, ...]
    cache: Path
    say: Say

    def dependencies(self, directory: Path) -> Path | None:
        """The node_modules of a directory's package.json; None if it asks for nothing, or has them beside it.

        Errors: UserError (npm is missing, or fails; the package.json cannot be read; it names a local package).
        """
        manifest = directory / MANIFEST
        if not manifest.is_file() or (directory / MODULES).is_dir():
            return None
        wanted = _dependencies(manifest)
        if not wanted:
            return None
        local = [name for name, version in wanted.items() if version.startswith(("file:", "link:", "workspace:"))]
        if local:
            raise UserError(
                f"{manifest} asks for {', '.join(local)} by a path, which redrive does not install.",
                next_step="Run `npm install` there, or `sam build` and deploy .aws-sam/build/template.yaml.",
                exit_code=2,
            )
        read = [directory / name for name in (MANIFEST, *_ALSO_READ) if (directory / name).is_file()]
        return self._installed(str(manifest), {file.name: file.read_bytes() for file in read})

    def packages(self, names: Mapping[str, str], what: str) -> Path:
        """The node_modules with these packages, in these versions. Errors: UserError."""
        text = json.dumps({"private": True, "dependencies": dict(sorted(names.items()))})
        return self._installed(what, {MANIFEST: text.encode()})

    def _installed(self, what: str, files: Mapping[str, bytes]) -> Path:
        def make(place: Path) -> None:
            self.say(f"installing {what} by npm")
            for name, content in files.items():
                (place / name).write_bytes(content)
            options = ("--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
            run_tool("npm", f"{what} could not be installed", (*self._found(), "install", *options), place)

        parts = [_LAYOUT, sys.platform.encode(), platform.machine().encode()]
        parts += [part for name, content in sorted(files.items()) for part in (name.encode(), content)]
        return kept(self.cache, parts, make) / MODULES

    def _found(self) -> tuple[str, ...]:
        if shutil.which(self.command[0]) is None:
            raise UserError(
                "There is no npm on this machine, by which Node.js code gets its packages.",
                next_step="Install Node.js, or run `npm install` beside the code yourself.", exit_code=3,
            )  # fmt: skip
        return self.command


def sdk_packages(files: Mapping[str, Path], runtime: str) -> dict[str, str]:
    """The packages of AWS's SDK that code uses and does not bring: AWS has them in the runtime. With their versions."""
    digits = re.match(r"nodejs(\d+)", runtime)
    if digits is None:
        return {}
    is_old = int(digits[1]) <= _LAST_MAJOR_WITH_SDK_2
    pattern, version = (_SDK_2, "^2") if is_old else (_SDK_3, "^3")
    own = [path for name, path in files.items() if f"{MODULES}/" not in name and path.suffix in _SOURCES]
    used = {match["name"] for path in own for match in pattern.finditer(path.read_text("utf-8", errors="replace"))}
    return {
        name: version if name.startswith("@aws-sdk/") or is_old else "*"
        for name in sorted(used)
        if f"{MODULES}/{name}/{MANIFEST}" not in files
    }


def with_sdk(files: Mapping[str, Path], runtime: str, npm: Npm) -> dict[str, Path]:
    """The files of a function with the packages of AWS's SDK that they use and do not bring.

    Where npm cannot install them, that is said, and the files stay as they are.
    """
    sdk = sdk_packages(files, runtime)
    if not sdk:
        return dict(files)
    try:
        modules = npm.packages(sdk, f"{', '.join(sdk)}, which AWS has in the runtime {runtime},")
    except UserError as error:
        npm.say(f"{error.what}\nThe function will not find {', '.join(sdk)}.")
        return dict(files)
    return module_files(modules) | dict(files)


def module_files(place: Path | None) -> dict[str, Path]:
    """The files of a node_modules, as they lie in an archive."""
    if place is None:
        return {}
    return {f"{MODULES}/{name}": path for name, path in files_of(place, (".bin", ".package-lock.json")).items()}


def bundled(source: Path, modules: Path | None, properties: Mapping[str, object], npm: Npm) -> Path:
    """The directory of what esbuild makes of TypeScript or JavaScript, as SAM has it built.

    Errors: UserError (esbuild fails; no entry points).
    """
    entries = _texts(properties.get("EntryPoints"))
    if not entries:
        raise UserError(f"{source} is to be built by esbuild, but its EntryPoints are missing.", exit_code=2)
    program = _esbuild(source, npm)
    options = [f"--{option}" for option in _options(properties)]

    def make(place: Path) -> None:
        npm.say(f"building {source} by esbuild")
        work = place / ".work"
        shutil.copytree(source, work, ignore=shutil.ignore_patterns(*LEFT_OUT))
        if modules is not None:
            (work / MODULES).symlink_to(modules)
        command = [str(program), *entries, "--bundle", "--platform=node", f"--outdir={place}", *options]
        run_tool("esbuild", f"{source} could not be built", command, work, errors="[ERROR]")
        shutil.rmtree(work)

    parts = [
        _LAYOUT,
        b"esbuild",
        str(modules).encode(),
        digest_of(files_of(source)).encode(),
        "\n".join(options).encode(),
    ]
    return kept(npm.cache, [*parts, "\n".join(entries).encode()], make)


def _esbuild(source: Path, npm: Npm) -> Path:
    """The esbuild of the project, else that on PATH, else one by npm, in the version that the project asks for."""
    for folder in (source, *source.parents):
        own = folder / MODULES / ".bin" / "esbuild"
        if own.is_file():
            return own
    found = shutil.which("esbuild")
    if found is not None:
        return Path(found)
    manifest = source / MANIFEST
    document = _document(manifest) if manifest.is_file() else {}
    asked = {**_section(document, "devDependencies"), **_section(document, "dependencies")}
    return npm.packages({"esbuild": asked.get("esbuild", "*")}, "esbuild") / ".bin" / "esbuild"


def _options(properties: Mapping[str, object]) -> Iterable[str]:
    known = {"Target": _TARGET, **properties}
    for name, option in _FLAGS.items():
        if known.get(name) in (True, "true", "True"):
            yield option
    for name, option in _VALUES.items():
        if name in known:
            yield f"{option}={','.join(_texts(known[name]))}"
    for name, option in _EACH.items():
        for text in _texts(known.get(name)):
            yield f"{option}:{text}" if option in _JOINED or option == "external" else f"{option}={text}"


def _texts(value: object) -> Sequence[str]:
    if value is None:
        return []
    if isinstance(value, list):
        return [str(one) for one in value]
    if isinstance(value, dict):
        return [f"{key}={one}" for key, one in value.items()]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _dependencies(manifest: Path) -> dict[str, str]:
    document = _document(manifest)
    return {**_section(document, "optionalDependencies"), **_section(document, "dependencies")}


def _section(document: Mapping[str, object], name: str) -> dict[str, str]:
    section = document.get(name)
    return {str(key): str(value) for key, value in section.items()} if isinstance(section, dict) else {}


def _document(manifest: Path) -> dict[str, object]:
    try:
        document = json.loads(manifest.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{manifest} cannot be read: {error}.", exit_code=2) from error
    if not isinstance(document, dict):
        raise UserError(f"{manifest} is no JSON object.", exit_code=2)
    return document
