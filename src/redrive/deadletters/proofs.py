"""Verdicts of `redrive prove` on handlers, from the file that it leaves in a project: `.redrive/verdicts.json`.

    {"verdicts": [{"handler": "app.handler", "function": "orders", "verdict": "proved",
                   "at": "2026-01-01T00:00:00Z", "code_sha256": "…", "faults": 3}]}

`function` and `code_sha256` may be missing; the digest is Lambda's `CodeSha256`. A verdict of other code is no verdict.
What else stands in a verdict is for people: `faults`, `template`, `logical_id`. `cli/prove_records.py` writes the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import load_json
from redrive.core.errors import UserError
from redrive.deadletters.findings import Answer, Finding
from redrive.deadletters.targets import FunctionState, instant_of

GOOD = frozenset({"proved", "safe"})
"""Verdicts under which a handler neither loses nor repeats work within the bounds of the search."""
BAD = frozenset({"loses", "repeats", "defect", "refuted"})


@dataclass(frozen=True, slots=True)
class Proof:
    """One verdict. `digest` is empty if it is not known of which package it is."""

    handler: str
    verdict: str
    at: Instant | None
    function: str = ""
    digest: str = ""


def read_proofs(file: Path) -> list[Proof]:
    """The verdicts in a file; none if there is no file. Errors: UserError if it is not of this form."""
    if not file.exists():
        return []
    try:
        told = load_json(file.read_text("utf-8"))
        listed = told["verdicts"]
        return [
            Proof(
                str(one["handler"]), str(one["verdict"]), instant_of(one.get("at")), str(one.get("function") or ""),
                str(one.get("code_sha256") or ""),
            )
            for one in listed
        ]  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UserError(
            f"{file} holds no verdicts ({type(error).__name__}: {error}).",
            next_step="Delete it, or run redrive prove.", exit_code=2,
        ) from error  # fmt: skip


def proof_of(function: FunctionState, proofs: Sequence[Proof]) -> Finding | None:
    """What the last verdict on a function says; None if there is none."""
    of_it = [
        one
        for one in proofs
        if (one.function == function.name if one.function else one.handler == function.handler)
    ]  # fmt: skip
    if not of_it:
        return None
    last = max(of_it, key=lambda one: one.at or 0)
    detail = f"{last.handler}: {last.verdict}" + (f" at {format_instant(last.at)}" if last.at is not None else "")
    if last.digest and last.digest != function.digest:
        return Finding("proof", Answer.CAUTION, "redrive prove has searched other code than what is deployed", detail)
    if last.verdict in BAD:
        return Finding("proof", Answer.REFUSE, "redrive prove found work lost or repeated", detail)
    if last.verdict in GOOD:
        return Finding("proof", Answer.GO, "redrive prove found nothing lost or repeated", detail)
    return Finding("proof", Answer.CAUTION, "redrive prove did not decide", detail)
