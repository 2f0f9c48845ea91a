"""The files that a proof leaves for others: test reports, code scanning, a summary."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redrive import __version__
from redrive.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redrive.prove.tell.result import Result

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
"""The file that GitHub's runner shows on the page of a run.

Source: https://docs.github.com/en/actions/reference/workflow-commands
"""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the results go, beside the terminal. `step_summary` is added to, as other commands of the step do."""

    junit: Path | None = None
    sarif: Path | None = None
    summary: Path | None = None
    step_summary: Path | None = None

    def write(self, results: Sequence[Result]) -> None:
        """Write the files that were asked for. Errors: UserError."""
        from redrive.prove.tell.junit import as_junit
        from redrive.prove.tell.sarif import as_sarif
        from redrive.prove.tell.summary import as_summary

        here = Path.cwd()
        if self.junit is not None:
            write_file(self.junit, as_junit(results, here))
        if self.sarif is not None:
            write_file(self.sarif, as_sarif(results, here, __version__))
        if self.summary is not None:
            write_file(self.summary, as_summary(results))
        if self.step_summary is not None:
            with self.step_summary.open("a", encoding="utf-8") as file:
                file.write(as_summary(results))


def output_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options for the files; the function gets them as `outputs`."""

    @click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit's XML.")
    @click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF, for code scanning.")
    @click.option("--summary", is_flag=True, help=f"Add Markdown to the file that {SUMMARY_VARIABLE} names.")
    @click.option("--summary-to", type=click.Path(path_type=Path), metavar="FILE", help="Write Markdown.")
    @functools.wraps(function)
    def with_outputs(
        *, junit: Path | None, sarif: Path | None, summary: bool, summary_to: Path | None, **others: Any
    ) -> None:
        step_summary = os.environ.get(SUMMARY_VARIABLE, "")
        if summary and not step_summary:
            raise UserError(
                f"--summary is for GitHub's runner, which sets {SUMMARY_VARIABLE}; here it is not set.",
                next_step="Name a file: --summary-to FILE.", exit_code=2,
            )  # fmt: skip
        outputs = Outputs(junit, sarif, summary_to, Path(step_summary) if summary else None)
        function(outputs=outputs, **others)

    return with_outputs


def write_file(file: Path, text: str) -> None:
    """Write a file, and make its folder. Errors: UserError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.", exit_code=3) from error
