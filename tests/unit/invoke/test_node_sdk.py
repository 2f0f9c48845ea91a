"""The packages of AWS's SDK that functions in Node.js name and do not bring."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from redrive.invoke.runtime.node_sdk import NodeSdk
from redrive.invoke.runtime.npm import Npm

NPM = """#!{python}
import json, pathlib, sys
if sys.argv[1] == "config":
    sys.exit(print("https://registry.example/"))
wanted = json.loads(pathlib.Path("package.json").read_text())["dependencies"]
with open({calls!r}, "a") as calls:
    print(json.dumps([*sorted(wanted), "scripts" if "--ignore-scripts" not in sys.argv else "no scripts"]), file=calls)
if {fails!r}:
    sys.exit("no network")
for name in wanted:
    place = pathlib.Path("node_modules", name)
    place.mkdir(parents=True)
    (place / "index.js").write_text("")
"""
"""A program that does of npm what is asked here: it writes down each call."""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """Where the code of functions lies."""
    place = tmp_path / "code"
    place.mkdir()
    return place


def sdk(
    tmp_path: Path, code: Path, *, fails: bool = False, fetches: bool = True, told: list[str] | None = None
) -> NodeSdk:
    program = tmp_path / "npm"
    program.write_text(NPM.format(python=sys.executable, calls=str(tmp_path / "calls"), fails=fails))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    say = (told if told is not None else []).append
    return NodeSdk(Npm((str(program),), tmp_path / "cache", say), code, fetches=fetches)


def calls(tmp_path: Path) -> list[list[str]]:
    """The packages that each call of npm installed."""
    file = tmp_path / "calls"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def function(code: Path, text: str, name: str = "f") -> Path:
    place = code / name
    place.mkdir()
    (place / "index.mjs").write_text(text)
    return place


def test_named_package_lies_where_nodejs_looks_after_the_functions_own(tmp_path: Path, code: Path) -> None:
    root = function(code, 'import { S3 } from "@aws-sdk/client-s3";\n')

    warning = sdk(tmp_path, code).provide(root, "nodejs22.x")

    assert warning == ""
    assert (code / "node_modules/@aws-sdk/client-s3/index.js").is_file()
    assert calls(tmp_path) == [["@aws-sdk/client-s3", "no scripts"]]


def test_package_is_installed_once_for_all_functions(tmp_path: Path, code: Path) -> None:
    text = 'require("@aws-sdk/client-s3")\n'
    provider = sdk(tmp_path, code)

    provider.provide(function(code, text), "nodejs22.x")
    provider.provide(function(code, text, "g"), "nodejs22.x")

    assert len(calls(tmp_path)) == 1


@pytest.mark.parametrize("text", ["import(`@aws-sdk/client-${name}`)", 'require("@aws-sdk/client-" + name)'])
def test_code_that_makes_up_the_name_finds_the_clients_of_what_is_served(tmp_path: Path, code: Path, text: str) -> None:
    sdk(tmp_path, code).provide(function(code, text), "nodejs22.x")

    assert {"@aws-sdk/client-s3", "@aws-sdk/client-ssm"} <= set(calls(tmp_path)[0])


@pytest.mark.parametrize("runtime", ["python3.12", "nodejs22.x"])
def test_code_that_names_none_installs_none(tmp_path: Path, code: Path, runtime: str) -> None:
    sdk(tmp_path, code).provide(function(code, "export const handler = () => 1;\n"), runtime)

    assert calls(tmp_path) == []


def test_function_is_told_what_npm_could_not_install(tmp_path: Path, code: Path) -> None:
    root = function(code, 'require("@aws-sdk/client-s3")\n')

    warning = sdk(tmp_path, code, fails=True).provide(root, "nodejs22.x")

    assert "The function will not find @aws-sdk/client-s3." in warning
    assert [path.name for path in code.iterdir()] == ["f"]


def test_log_says_once_what_is_fetched_and_from_where(tmp_path: Path, code: Path) -> None:
    told: list[str] = []
    provider = sdk(tmp_path, code, told=told)

    provider.provide(function(code, 'require("@aws-sdk/client-s3")\n'), "nodejs22.x")
    provider.provide(function(code, 'require("@aws-sdk/client-s3")\n', "g"), "nodejs22.x")

    assert told == [
        "installing @aws-sdk/client-s3, which AWS has in the runtime nodejs22.x, by npm from https://registry.example/"
    ]


def test_server_that_may_not_fetch_says_which_packages_are_missing(tmp_path: Path, code: Path) -> None:
    root = function(code, 'require("@aws-sdk/client-s3")\n')

    warning = sdk(tmp_path, code, fetches=False).provide(root, "nodejs22.x")

    assert warning.startswith("The function will not find @aws-sdk/client-s3: packages are not installed")
    assert calls(tmp_path) == []


def test_server_that_may_not_fetch_uses_what_was_installed_before(tmp_path: Path, code: Path) -> None:
    text = 'require("@aws-sdk/client-s3")\n'
    sdk(tmp_path, code).provide(function(code, text), "nodejs22.x")
    later = tmp_path / "later"
    later.mkdir()

    warning = sdk(tmp_path, later, fetches=False).provide(function(later, text), "nodejs22.x")

    assert warning == ""
    assert (later / "node_modules/@aws-sdk/client-s3/index.js").is_file()
    assert len(calls(tmp_path)) == 1


def test_package_of_a_layer_is_not_installed(tmp_path: Path, code: Path) -> None:
    (tmp_path / "opt/nodejs/node_modules/@aws-sdk/client-s3").mkdir(parents=True)
    root = function(code, 'require("@aws-sdk/client-s3"); require("@aws-sdk/client-sqs")\n')

    sdk(tmp_path, code).provide(root, "nodejs22.x", tmp_path / "opt")

    assert calls(tmp_path) == [["@aws-sdk/client-sqs", "no scripts"]]
