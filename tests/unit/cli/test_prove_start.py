"""What `redrive prove` shows and imports before its first verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.text import Text

from redrive.cli.main import main
from redrive.cli.prove_progress import cropped, progress_told_by

SHOP = Path("examples/shop").resolve()
SAFE = Path("examples/prove/safe.py").resolve()

UNUSED = (
    "_pytest", "cryptography", "greenlet", "jsonata", "psycopg", "re2", "samtranslator", "sqlglot", "uvloop",
    "redrive.deadletters", "redrive.languages.insights", "redrive.languages.states", "redrive.prove.system",
    "redrive.services.cloudwatch.workers", "redrive.services.kms", "redrive.services.logs.operations",
    "redrive.services.s3.operations", "redrive.services.sns.operations", "redrive.services.stepfunctions",
    "redrive.sim",
)  # fmt: skip
"""What a queue, a function and a table have no use for."""
IMPORTED = """
import sys
from redrive.cli.prove_loading import load_engine
load_engine("it", is_system=False)
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from pathlib import Path
print(prove(subject_of(sys.argv[1], Path.cwd()), Options(faults=0)).sentence)
print(*sys.modules, sep="\\n")
"""


def test_short_proof_imports_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    """The first verdict is to come within a second, and half of that are imports."""
    told = subprocess.run(
        [sys.executable, "-c", IMPORTED, f"{SAFE}:handler"], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path)},
    ).stdout.splitlines()  # fmt: skip

    assert "no counterexample" in told[0]
    assert [name for name in told[1:] if name.startswith(UNUSED)] == []


def test_project_is_told_before_its_functions_are_proved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    functions = "\n".join(
        f"  F{number}: {{Type: AWS::Lambda::Function, Properties: {{Runtime: nodejs22.x, Handler: a.b, Role: r, "
        "Code: {ZipFile: x}}}"
        for number in range(7)
    )
    (tmp_path / "template.yaml").write_text(f"Resources:\n{functions}\n")

    told = CliRunner().invoke(main, ["prove"]).stderr.splitlines()

    assert told[:2] == [
        "proving template.yaml",
        "Found template.yaml with 7 functions: F0, F1, F2, F3, F4 and 2 more.",
    ]


@pytest.mark.parametrize(
    ("text", "shown"), [("a" * 18, "a" * 18), ("a" * 19, "a" * 17 + "…"), ("[red]", "[red]")]
)  # fmt: skip
def test_live_line_is_one_line(text: str, shown: str) -> None:
    """In 20 columns, two of which the spinner takes."""
    assert Text.from_markup(cropped(text, 20)).plain == shown


def test_live_line_names_resources_as_the_template_does() -> None:
    told: list[str] = []

    progress_told_by(told.append, 0)(1, 2, 0, "crash-after dynamodb:PutItem stack-Orders-VV4ZEADR30BBM")

    assert [line.split(" · ")[-1] for line in told] == ["crash-after dynamodb:PutItem Orders …"]
