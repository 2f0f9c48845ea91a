"""Node.js code gets what its package.json asks for, the SDK that AWS's runtime has, and is bundled by esbuild."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.invoke.runtime.npm import sdk_packages
from redrive.packaging.bundle import Bundler
from tests.unit.packaging.conftest import Said
from tests.unit.packaging.test_bundle import names_in

RUNTIME = "nodejs22.x"
# Stands for npm: puts down each package that is asked for, and esbuild as a program that concatenates.
_NPM = """
import json, os, pathlib, sys
for name, version in json.loads(pathlib.Path("package.json").read_text()).get("dependencies", {}).items():
    if version == "missing":
        print("npm error 404 Not Found")
        sys.exit(1)
    place = pathlib.Path("node_modules") / name
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps({"version": version}))
    if name == "esbuild":
        program = pathlib.Path("node_modules/.bin/esbuild")
        program.parent.mkdir()
        program.write_text(ESBUILD)
        program.chmod(0o755)
"""
_ESBUILD = """#!{python}
import pathlib, sys
given = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
out = pathlib.Path(next(option for option in options if option.startswith("--outdir=")).partition("=")[2])
shown = sorted(option for option in options if not option.startswith("--outdir="))
for name in given:
    text = pathlib.Path(name).read_text()
    if "nonsense" in text:
        print("X [ERROR] Unexpected nonsense")
        print("1 error")
        print("a trace of the tool itself")
        sys.exit(1)
    (out / name).with_suffix(".js").write_text(" ".join(shown) + text)
"""


@pytest.fixture
def node(tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> Bundler:
    """A bundler whose npm asks no registry."""
    npm = tmp_path / "npm.py"
    npm.write_text(f"ESBUILD = {_ESBUILD.format(python=sys.executable)!r}\n{_NPM}")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    return Bundler(tmp_path / "cache", lambda _: pytest.fail("no Python"), said, (sys.executable, str(npm)))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "node"
    directory.mkdir()
    (directory / "index.js").write_text("exports.handler = async () => {}\n")
    return directory


def asks(source: Path, **sections: object) -> None:
    (source / "package.json").write_text(json.dumps(sections))


def test_package_json_gets_its_dependencies_and_no_others(source: Path, node: Bundler, said: Said) -> None:
    asks(source, dependencies={"left": "1"}, devDependencies={"jest": "1"})

    found = names_in(node.bundle(source, RUNTIME))
    said.clear()
    node.bundle(source, RUNTIME)

    assert found == ["index.js", "node_modules/left/package.json", "package.json"]
    assert said == []


@pytest.mark.parametrize("sections", [{}, {"dependencies": {}}, {"devDependencies": {"jest": "1"}}])
def test_package_json_that_asks_for_nothing_installs_nothing(
    source: Path, node: Bundler, sections: dict[str, object]
) -> None:
    asks(source, **sections)

    assert names_in(node.bundle(source, RUNTIME)) == ["index.js", "package.json"]


def test_modules_that_lie_beside_the_code_are_taken_as_they_are(source: Path, node: Bundler) -> None:
    asks(source, dependencies={"left": "missing"})
    (source / "node_modules" / "left").mkdir(parents=True)
    (source / "node_modules" / "left" / "index.js").write_text("")

    assert "node_modules/left/index.js" in names_in(node.bundle(source, RUNTIME))


def test_installation_that_fails_tells_npms_last_lines_and_leaves_nothing(source: Path, node: Bundler) -> None:
    asks(source, dependencies={"left": "missing"})

    with pytest.raises(UserError, match=r"could not be installed\. npm's last lines:\n  npm error 404"):
        node.bundle(source, RUNTIME)

    assert list((node.cache / "installed").iterdir()) == []


def test_package_that_is_named_by_a_path_is_refused_with_the_way_out(source: Path, node: Bundler) -> None:
    asks(source, dependencies={"own": "file:../own"})

    with pytest.raises(UserError, match="asks for own by a path") as caught:
        node.bundle(source, RUNTIME)
    assert "npm install" in caught.value.next_step


def test_missing_npm_is_said_where_packages_are_asked_for(source: Path, tmp_path: Path, said: Said) -> None:
    asks(source, dependencies={"left": "1"})
    bundler = Bundler(tmp_path / "cache", lambda _: pytest.fail("no Python"), said, ("npm-that-nobody-has",))

    with pytest.raises(UserError, match="There is no npm on this machine"):
        bundler.bundle(source, RUNTIME)


def test_sdk_of_the_runtime_comes_along_where_code_uses_it(source: Path, node: Bundler) -> None:
    (source / "index.js").write_text("const { SQSClient } = require('@aws-sdk/client-sqs')\n")

    assert "node_modules/@aws-sdk/client-sqs/package.json" in names_in(node.bundle(source, RUNTIME))


def test_function_is_packed_without_the_sdk_where_there_is_no_npm(source: Path, tmp_path: Path, said: Said) -> None:
    (source / "index.js").write_text("const { SQSClient } = require('@aws-sdk/client-sqs')\n")
    bundler = Bundler(tmp_path / "cache", lambda _: pytest.fail("no Python"), said, ("npm-that-nobody-has",))

    assert names_in(bundler.bundle(source, RUNTIME)) == ["index.js"]
    assert any("The function will not find @aws-sdk/client-sqs." in line for line in said)


@pytest.mark.parametrize(
    ("text", "runtime", "wanted"),
    [
        ("import {A} from '@aws-sdk/client-s3';", "nodejs22.x", ["@aws-sdk/client-s3"]),
        ('const a = await import("@aws-sdk/lib-storage/dist");', "nodejs18.x", ["@aws-sdk/lib-storage"]),
        ("require('@smithy/signature-v4')", "nodejs24.x", ["@smithy/signature-v4"]),
        ("require('aws-sdk')", "nodejs16.x", ["aws-sdk"]),
        ("require('aws-sdk/clients/sqs')", "nodejs16.x", ["aws-sdk"]),
        ("require('aws-sdk')", "nodejs18.x", []),  # AWS has it there no more.
        ("require('@aws-sdk/client-s3')", "nodejs16.x", []),
        ("require('left')", "nodejs22.x", []),
        ("require('@aws-sdk/client-s3')", "python3.12", []),
    ],
)
def test_sdk_that_a_runtime_has(tmp_path: Path, text: str, runtime: str, wanted: list[str]) -> None:
    (tmp_path / "index.mjs").write_text(text)

    assert list(sdk_packages({"index.mjs": tmp_path / "index.mjs"}, runtime)) == wanted


def test_sdk_that_the_code_brings_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "index.js").write_text("require('@aws-sdk/client-s3')")
    files = {"index.js": tmp_path / "index.js", "node_modules/@aws-sdk/client-s3/package.json": tmp_path / "index.js"}

    assert sdk_packages(files, RUNTIME) == {}


def test_typescript_is_bundled_by_esbuild_with_the_properties_of_the_template(source: Path, node: Bundler) -> None:
    (source / "app.ts").write_text("// typed")
    properties = {"EntryPoints": ["app.ts"], "Minify": True, "Format": "esm", "External": ["@aws-sdk/*"],
                  "OutExtension": [".js=.mjs"], "Sourcemap": False}  # fmt: skip

    content = node.bundle(source, RUNTIME, esbuild=properties)

    assert names_in(content) == ["app.js"]
    made = next(node.cache.rglob("app.js")).read_text()
    assert made == (
        "--bundle --external:@aws-sdk/* --format=esm --minify --out-extension:.js=.mjs --platform=node "
        "--target=es2020// typed"
    )


def test_code_that_esbuild_refuses_tells_its_errors_from_the_first(source: Path, node: Bundler) -> None:
    (source / "app.ts").write_text("nonsense")

    with pytest.raises(UserError, match=r"could not be built\. esbuild's errors:\n  X \[ERROR\] Unexpected nonsense"):
        node.bundle(source, RUNTIME, esbuild={"EntryPoints": ["app.ts"]})


def test_esbuild_without_entry_points_is_refused(source: Path, node: Bundler) -> None:
    with pytest.raises(UserError, match="its EntryPoints are missing"):
        node.bundle(source, RUNTIME, esbuild={})
