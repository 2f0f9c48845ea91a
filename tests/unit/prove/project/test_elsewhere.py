"""Modules that lie elsewhere in the project: taken from the only folder that has them, and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from redrive.prove.process.subject import NamedSubject, subject_of
from redrive.prove.project.elsewhere import with_modules_elsewhere
from redrive.prove.proving import prove
from redrive.prove.search.options import Options

HANDLER = """
import boto3
from store_elsewhere import stored

def handler(event, context):
    stored(boto3.client("dynamodb"), event["Records"][0]["messageId"])
"""
STORE = """
import os
from words_elsewhere.texts import TEXT

def stored(client, key):
    client.put_item(TableName="done", Item={"id": {"S": key}, "text": {"S": TEXT}})
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose handler imports a layer's module, which imports a module of another layer."""
    (tmp_path / ".git").mkdir()
    made = {
        "service/src/app_elsewhere.py": HANDLER,
        "layers/store/python/store_elsewhere.py": STORE,
        "layers/words/words_elsewhere/__init__.py": "",
        "layers/words/words_elsewhere/texts.py": "TEXT = 'a'\n",
        "tests/store_elsewhere.py": STORE,
    }
    for name, text in made.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path / "service")
    return tmp_path


def subject() -> NamedSubject:
    return with_modules_elsewhere(subject_of("src/app_elsewhere.py:handler", Path.cwd()))


def test_module_of_a_layer_is_found_in_the_repository_and_told(project: Path) -> None:
    verdict = prove(subject_of("src/app_elsewhere.py:handler", Path.cwd()), Options(faults=0))

    assert verdict.effects["item in done"] == 1
    assert str(project / "layers" / "store" / "python") in verdict.assumptions["module store_elsewhere"]
    assert "module words_elsewhere" in verdict.assumptions


def test_folder_nearest_to_the_handler_is_taken(project: Path) -> None:
    near = project / "service" / "lib"
    near.mkdir()
    (near / "store_elsewhere.py").write_text("def stored(client, key): ...\n", "utf-8")

    assert [folder.name for folder in subject().folders] == ["lib"]


def test_none_is_taken_where_two_have_the_module(project: Path) -> None:
    other = project / "layers" / "other"
    other.mkdir()
    (other / "store_elsewhere.py").write_text(STORE, "utf-8")

    assert not subject().folders


def test_module_without_the_names_that_are_imported_is_another_one(project: Path) -> None:
    other = project / "layers" / "other"
    other.mkdir()
    (other / "store_elsewhere.py").write_text("def loaded(client): ...\n", "utf-8")

    assert [folder.parent.name for folder in subject().folders] == ["store", "layers"]
