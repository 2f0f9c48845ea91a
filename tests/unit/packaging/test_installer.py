"""Dependencies are installed by the Python that runs the function on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from redrive.packaging.installer import interpreter_for

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize("runtime", ["python3.99", f"python{OWN}", ""])
def test_runtime_whose_python_is_not_here_is_installed_for_the_python_that_runs_it_instead(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))

    found = interpreter_for(runtime)

    assert found.version == OWN


def test_runtime_is_installed_for_the_python_of_pyenv_although_it_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "versions" / "3.98.1" / "bin" / "python3.98"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 3.98.1\n")
    python.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))

    found = interpreter_for("python3.98")

    assert (found.command, found.version) == ((str(python), "-m", "pip", "install"), "3.98")
