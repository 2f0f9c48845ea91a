"""docs/proofs.md, from the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from benchmarks.handlers.judged import Judgement, Proof, counted
from benchmarks.handlers.listed import Listed
from benchmarks.handlers.running import Outcome

REASON_CHARS_MAX = 160
HEAD = """\
# Public handlers under redrive prove

Written by `python -m benchmarks.handlers`, from `benchmarks/handlers/list.json`: {handlers} handlers of {repositories}
public repositories, at one commit each. In the project's folder, as somebody does who has installed redrive and reads
nothing:

```
redrive prove FILE:HANDLER
```

{bounds} Each run has a process of its own, under
Python {python}, without network and without credentials.
"Options" are what the first message told to add: `added` in the list. What is right was said by somebody who read the
code: `truth` and `why` in the list. Where several defects are true of a handler, each of them is right.
Handlers marked ¹ need packages that a newcomer may not have; they were installed.
"""
MEANINGS = {
    Judgement.FINDING: "a defect that the code has",
    Judgement.ACQUITTAL: "no counterexample, and there is none",
    Judgement.NOTHING: "it changes nothing, and redrive says so",
    Judgement.REFUSAL: "it fails always or cannot be proved, and redrive says why",
    Judgement.OTHER: "a finding, but not one of those that the reader saw",
    Judgement.CULPRIT: "the right verdict about another effect than the one at fault",
    Judgement.ALARM: "a finding, and the code is right",
    Judgement.MISSED: "no finding, and the code has a defect",
    Judgement.UNSEEN: "redrive says that it changes nothing, but the sample was at fault",
    Judgement.FAILED: "no verdict",
    Judgement.UNFINISHED: "stopped by its time",
}


PROJECTS = Path(__file__).with_name("projects.md")
"""What a round over whole projects found; it was written by hand."""


def page(proofs: Sequence[Proof], *, seconds: int, faults: int, python: str) -> str:
    """The whole page. `python` is the version of the interpreter that ran the handlers."""
    return "\n".join(_lines(proofs, seconds, faults, python)) + "\n"


def _lines(proofs: Sequence[Proof], seconds: int, faults: int, python: str) -> Iterator[str]:
    repositories = {proof.handler.repository for proof in proofs}
    bounds = f"Histories have up to {faults} fault{'s' if faults != 1 else ''}; a search is stopped after {seconds} s."
    yield HEAD.format(handlers=len(proofs), repositories=len(repositories), bounds=bounds, python=python)
    yield from _counts(proofs)
    yield PROJECTS.read_text("utf-8")
    yield from _handlers(proofs)
    yield from _repositories([proof.handler for proof in proofs])


def _counts(proofs: Sequence[Proof]) -> Iterator[str]:
    first, last = counted(proofs, last=False), counted(proofs, last=True)
    yield "## Counts\n"
    yield "| Judged | Without any option | With options | |"
    yield "|---|--:|--:|---|"
    for judgement, meaning in MEANINGS.items():
        if first[judgement] or last[judgement]:
            yield f"| {judgement.value} | {first[judgement]} | {last[judgement]} | {meaning} |"
    right = frozenset(judgement for judgement in Judgement if judgement.is_right)
    wrong = frozenset(judgement for judgement in Judgement if judgement.is_wrong)
    for name, of in (("right", right), ("wrong", wrong)):
        yield f"| **{name}** | {_share(first, of, len(proofs))} | {_share(last, of, len(proofs))} | |"
    yield ""


def _share(counts: Counter[Judgement], of: Collection[Judgement], total: int) -> str:
    number = sum(counts[judgement] for judgement in of)
    return f"**{number}** ({number / total:.0%})" if total else "0"


def _handlers(proofs: Sequence[Proof]) -> Iterator[str]:
    yield "## Handlers\n"
    yield "| Handler | Trigger | Without any option | With options | Judged | Why not |"
    yield "|---|---|---|---|---|---|"
    for proof in proofs:
        handler = proof.handler
        needs = "¹" if handler.packages else ""
        second = "" if proof.second is None else proof.second.verdict
        yield (
            f"| {_link(handler)}{needs} | {handler.trigger} | {proof.first.verdict} | {second} "
            f"| {_judgements(proof)} | {_why_not(proof)} |"
        )
    yield ""


def _judgements(proof: Proof) -> str:
    if proof.second is None or proof.judgement is proof.last_judgement:
        return proof.judgement.value
    return f"{proof.judgement.value}, then {proof.last_judgement.value}"


def _why_not(proof: Proof) -> str:
    """The message; for what is not right with options either, what a reader says, too."""
    if proof.judgement.is_right:
        return ""
    outcome: Outcome = proof.first if proof.second is None or proof.last_judgement.is_right else proof.second
    told = _short(outcome.sentence)
    return (
        told
        if proof.last_judgement.is_right
        else f"{told} A reader: {'/'.join(proof.handler.truth)}. {proof.handler.why}"
    )


def _short(sentence: str) -> str:
    text = sentence.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    return text if len(text) <= REASON_CHARS_MAX else text[:REASON_CHARS_MAX].rsplit(" ", 1)[0] + " …"


def _link(handler: Listed) -> str:
    _, name = handler.owner_and_name
    shown = handler.path if len(handler.path) <= 60 else "…/" + "/".join(handler.path.split("/")[-3:])
    return f"[{name}: {shown}]({handler.repository}/blob/{handler.commit}/{quote(handler.path)})"


def _repositories(handlers: Sequence[Listed]) -> Iterator[str]:
    yield "## Repositories\n"
    yield "| Repository | Licence | Handlers |"
    yield "|---|---|--:|"
    counts = Counter((handler.repository, handler.licence) for handler in handlers)
    for (repository, licence), count in sorted(counts.items()):
        yield f"| [{repository.removeprefix('https://github.com/')}]({repository}) | {licence} | {count} |"
