"""Files that a handler writes: gone with its environment, and never those of the user."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

ORDER = '{"order": "o-1"}'
HEAD = """
import json, os, pathlib, shutil, tempfile
import boto3

def done(event, text):
    order = json.loads(event["Records"][0]["body"])["order"]
    boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": order}, "text": {"S": text}})

def handler(event, context):
"""


def proved(folder: Path, body: str, faults: int = 1, *, warm: bool = True) -> Verdict:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    (folder / "app_files.py").write_text(HEAD + lines, "utf-8")
    return prove(subject_of("app_files:handler", folder), Options(faults=faults, bodies=(ORDER,), warm=warm))


def test_each_run_begins_with_an_empty_tmp(tmp_path: Path) -> None:
    """Appended to from run to run the text would differ, and the real file is not touched."""
    verdict = proved(
        tmp_path,
        """
with open("/tmp/redrive-test-log.txt", "a") as file:
    file.write("one ")
done(event, pathlib.Path("/tmp/redrive-test-log.txt").read_text())
""",
        warm=False,
    )

    assert verdict.counterexample is None
    assert not Path("/tmp/redrive-test-log.txt").exists()


def test_handler_that_decides_by_a_file_repeats_itself_and_is_warned(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        """
if os.path.exists("/tmp/redrive-test-seen"):
    return
with open("/tmp/redrive-test-seen", "w") as file:
    file.write("x")
boto3.client("sqs").send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/000000000000/mails", MessageBody="m")
""",
    )

    assert verdict.counterexample is not None
    assert "new environment" in verdict.assumptions["file /tmp/redrive-test-seen"]


@pytest.mark.parametrize(
    "body",
    [
        ("with tempfile.NamedTemporaryFile('w', delete=False) as file: file.write('a')\n"
            "text = pathlib.Path(file.name).read_text()"),
        ("folder = tempfile.mkdtemp()\npathlib.Path(folder, 'f').write_text('a')\n"
            "text = pathlib.Path(folder, 'f').read_text()"),
        ("os.makedirs('/tmp/redrive-a/b', exist_ok=True)\npathlib.Path('/tmp/redrive-a/b/f').write_text('a')\n"
        "shutil.move('/tmp/redrive-a/b/f', '/tmp/redrive-a/g')\ntext = pathlib.Path('/tmp/redrive-a/g').read_text()\n"
        "assert os.listdir('/tmp/redrive-a') and not os.path.exists('/tmp/redrive-a/b/f')\n"
            "shutil.rmtree('/tmp/redrive-a')"),
        ("s3 = boto3.client('s3')\npathlib.Path('/tmp/redrive-up').write_text('a')\n"
        "s3.upload_file('/tmp/redrive-up', 'files', 'k')\ns3.download_file('files', 'k', '/tmp/redrive-down')\n"
        "text = pathlib.Path('/tmp/redrive-down').read_text()"),
    ],
    ids=["file", "folder", "moves", "transfers"],
)  # fmt: skip
def test_files_are_written_and_read_as_ever(tmp_path: Path, body: str) -> None:
    verdict = proved(tmp_path, f"{body}\nassert text == 'a'\ndone(event, text)", faults=0)

    assert verdict.effects["item in done"] == 1
    assert not Path("/tmp/redrive-a").exists()
    assert not Path("/tmp/redrive-up").exists()


def test_files_of_the_code_are_read_and_never_written(tmp_path: Path) -> None:
    kept = tmp_path / "config.json"
    kept.write_text(json.dumps({"text": "a"}), "utf-8")

    read = proved(
        tmp_path, "done(event, json.loads((pathlib.Path(__file__).parent / 'config.json').read_text())['text'])"
    )
    with pytest.raises(UserError, match="Read-only file system"):
        proved(tmp_path, "(pathlib.Path(__file__).parent / 'config.json').write_text('lost')\ndone(event, 'a')")

    assert read.counterexample is None
    assert kept.read_text("utf-8") == '{"text": "a"}'


def test_temporary_folder_is_elsewhere_below_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where TMPDIR is set: what the library of temporary files opens stands at the top of the run's own folder."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    verdict = proved(
        tmp_path,
        "folder = tempfile.mkdtemp()\npathlib.Path(folder, 'f').write_text('a')\n"
        "with tempfile.NamedTemporaryFile() as file:\n    done(event, pathlib.Path(folder, 'f').read_text())",
        faults=0,
    )

    assert verdict.effects["item in done"] == 1
    assert not list((tmp_path / "temporary").glob("*/f"))


def test_files_of_the_whole_project_are_read_where_it_lies_below_tmp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "text").write_text("a", "utf-8")
    (tmp_path / "src").mkdir()

    verdict = proved(
        tmp_path / "src", f"done(event, pathlib.Path({str(tmp_path)!r}, 'config', 'text').read_text())", faults=0
    )

    assert verdict.effects["item in done"] == 1


@pytest.mark.parametrize(
    "writes",
    [
        "subprocess.run([sys.executable, '-c', 'import sys; open(sys.argv[1], chr(119)).close()', PATH], check=True)",
        "os.close(ctypes.CDLL(None).creat(PATH.encode(), 0o600))",
    ],
    ids=["process", "library"],
)
def test_what_other_processes_and_compiled_libraries_write_lands_in_the_real_folder(
    tmp_path: Path, writes: str
) -> None:
    """Only Python's own functions are led: the file is on the machine, and the handler does not see it."""
    written = Path(tempfile.mkdtemp(dir="/tmp")) / "written"

    verdict = proved(
        tmp_path,
        f"import ctypes, subprocess, sys\nPATH = {str(written)!r}\n{writes}\n"
        "assert not os.path.exists(PATH)\ndone(event, 'written')",
        faults=0,
    )

    is_real = written.exists()
    shutil.rmtree(written.parent)
    assert is_real
    assert verdict.effects == {"item in done": 1}
