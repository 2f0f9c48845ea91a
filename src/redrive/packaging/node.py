"""Packages of Node.js code: what a package.json asks for, what AWS's runtime brings along, and TypeScript bundled.

All of it comes by npm, without development dependencies, and is kept by what asked for it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from redrive.core.errors import UserError
from redrive.invoke.keeping import kept, run_tool
from redrive.invoke.runtime.npm import LAYOUT, MANIFEST, MODULES, Npm, sdk_packages
from redrive.packaging.files import LEFT_OUT, digest_of, files_of

_ALSO_READ = ("package-lock.json", "npm-shrinkwrap.json", ".npmrc")

# The properties of Metadata.BuildProperties and the options of esbuild that they mean.
# https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/serverless-sam-cli-using-build-typescript.html
_FLAGS = {"KeepNames": "keep-names", "Minify": "minify", "Sourcemap": "sourcemap", "Splitting": "splitting"}
_VALUES = {"Format": "format", "MainFields": "main-fields", "SourcesContent": "sources-content", "Target": "target"}
_EACH = {"Alias": "alias", "Banner": "banner", "Define": "define", "External": "external", "Footer": "footer",
         "Inject": "inject", "Loader": "loader", "OutExtension": "out-extension"}  # fmt: skip
_JOINED = frozenset({"alias", "banner", "define", "footer", "loader", "out-extension"})
_TARGET = "es2020"


def dependencies(npm: Npm, directory: Path) -> Path | None:
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
    return npm.installed(str(manifest), {file.name: file.read_bytes() for file in read})


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
        LAYOUT,
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
