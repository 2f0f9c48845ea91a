"""Local code that the template of a test names: packed for the Python that runs the test."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from redrive.invoke.keeping import cache_directory
from redrive.languages.template import TemplateError
from redrive.packaging.bundle import Bundler
from redrive.packaging.installer import Interpreter, interpreter_for
from redrive.packaging.template import Bring, packaged


def packed(template: Path, parameters: Mapping[str, str], bring: Bring) -> str:
    """The text of a template, with its local code brought. Errors: UserError; OSError (there is no such template)."""
    text = template.read_text("utf-8")
    directory = template.resolve().parent
    bundler = Bundler(cache_directory(os.environ, Path.home()), _own_interpreter, _tell)
    is_built = directory.name == "build" and directory.parent.name == ".aws-sam"
    try:
        return packaged(text, directory, bundler, bring, parameters=parameters, is_built=is_built)
    except TemplateError:
        return text  # The engine says what is wrong with it, in CloudFormation's words.


def _own_interpreter(runtime: str) -> Interpreter:  # noqa: ARG001 -- what a Bundler asks.
    """The installer of this process's Python, in which a test's functions run, whatever their Runtime is."""
    return interpreter_for(f"python{sys.version_info.major}.{sys.version_info.minor}")


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
