"""Projects on disk, and the command as somebody types it in their folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from redrive.cli.main import main

STORES = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        boto3.client("dynamodb").put_item(
            TableName=os.environ["TABLE"], Item={"id": {"S": json.loads(record["body"])["order"]}}
        )
"""
"""Writes the same item however often it runs: safe."""
SENDS = """
import json, os, boto3

def handler(event, context):
    for record in event["Records"]:
        boto3.client("sqs").send_message(QueueUrl=os.environ["NEXT"], MessageBody=json.loads(record["body"])["order"])
"""
"""Sends a message with each run: repeats it."""

Files = dict[str, str]
Project = Callable[[Files], Path]
Command = Callable[..., Any]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Writes files, and makes their folder the working directory."""

    def write(files: Files) -> Path:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


@pytest.fixture
def prove() -> Command:
    """Runs `redrive prove` with these arguments and one fault."""

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(main, ["prove", "--faults", "1", *arguments])

    return run
