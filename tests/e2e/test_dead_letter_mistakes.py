"""examples/dead-letter-mistakes: each mistake does harm, and is told."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

from redrive.core.log import SilentLog
from redrive.gateway.server import Options, running

EXAMPLE = Path(__file__).parents[2] / "examples" / "dead-letter-mistakes"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the example prints where it stands alone, by the first words of each mistake."""
    copied = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("alone") / EXAMPLE.name)
    spec = importlib.util.spec_from_file_location("dead_letter_mistakes", copied / "run.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with pytest.MonkeyPatch.context() as patched, running(Options(port=0, virtual=True), SilentLog()) as one:
        for name, value in (
            ("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", one.endpoint_url),
        ):  # fmt: skip
            patched.setenv(name, value)
        return {found["mistake"].partition(":")[0]: found for found in example.play()}


@pytest.mark.parametrize(
    ("mistake", "happens", "says"),
    [
        ("The event is sent as it is", "NotAuthorizedForSourceException", "nobody but AWS may send events of aws.s3"),
        ("The source becomes `retry`, and the rule still asks for aws.s3", "FailedEntryCount 0", "nobody would get it"),
        ("One entry of ten fails", "10 letters are left, and 18 events were sent", "9 sent and deleted, 1 stays"),
        (
            "A function on the dead-letter queue raises for each letter, catches that, and returns",
            "of 3 letters 0 are left, and 0 came", "dlq-processor reads this queue",
        ),
        ("The event is sent to a retry queue without its attributes", "are gone", "No service has written it"),
        ("A retry is named `retry-` and the time", "2 executions for one file", "its name is made of the time"),
        ("An underscore in the placeholder", "with one key", "Scheduler knows no such attribute"),
        ("The function keeps its state under the message id, which a redrive changes.", "does not know", "begins anew"),
    ],
)  # fmt: skip
def test_mistake_does_harm_and_is_told(told: dict[str, Any], mistake: str, happens: str, says: str) -> None:
    assert happens in told[mistake]["happens"]
    assert says in told[mistake]["says"]
