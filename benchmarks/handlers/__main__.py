"""The command: `python -m benchmarks.handlers --repositories DIR`; `--help` says the rest."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from benchmarks.handlers.checkout import NoRepository, checked_out, tidied
from benchmarks.handlers.judged import Judgement, Proof, counted, judged
from benchmarks.handlers.listed import Listed, defects, read_list
from benchmarks.handlers.page import page
from benchmarks.handlers.running import Newcomer, Outcome, without_network
from redrive.core.documents import Document

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "proofs.md"
INSTALL_S_MAX = 1_800


def main() -> int:
    """Prove what was asked for, and write the results and the page."""
    arguments = _arguments()
    handlers = read_list()
    if wrong := list(defects(handlers)):
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    known = _earlier(handlers, arguments.json)
    proofs = list(known.values())
    chosen = [handler for handler in handlers if arguments.only in f"{handler.repository}/{handler.path}"]
    python = Path(sys.executable) if arguments.python is None else arguments.python.absolute()
    if arguments.install is not None:
        python = _installed(arguments.install.absolute(), handlers)
    if not without_network():
        print("This machine cannot take the network away from a process; redrive lets nothing out, either.")
    newcomer = Newcomer(python, arguments.seconds, arguments.faults)
    mirrors = None if arguments.fetch else arguments.repositories
    for group in _proved(chosen, newcomer, mirrors, arguments.jobs):
        known |= {_id_of(proof.handler): proof for proof in group}
        proofs = [known[_id_of(handler)] for handler in handlers if _id_of(handler) in known]
        _written(proofs, arguments.json)
    if len(proofs) == len(handlers):
        told = page(proofs, seconds=arguments.seconds, faults=arguments.faults, python=_version(python))
        PAGE.write_text(told, "utf-8")
    _summed_up(proofs)
    return 0


def _proved(handlers: Sequence[Listed], newcomer: Newcomer, mirrors: Path | None, jobs: int) -> Iterator[list[Proof]]:
    """The proofs of one repository after the other, as each is done: it is checked out once."""
    by_commit: defaultdict[tuple[str, str], list[Listed]] = defaultdict(list)
    for handler in handlers:
        by_commit[handler.repository, handler.commit].append(handler)
    with ThreadPoolExecutor(jobs) as threads:
        begun = [
            threads.submit(lambda group: list(_of_one_repository(group, newcomer, mirrors)), group)
            for group in by_commit.values()
        ]
        for done in as_completed(begun):
            yield done.result()


def _of_one_repository(handlers: Sequence[Listed], newcomer: Newcomer, mirrors: Path | None) -> Iterator[Proof]:
    try:
        with checked_out(handlers[0], mirrors) as folder:
            for handler in handlers:
                proof = _proof(handler, newcomer, folder)
                print(f"{proof.judgement.value:16} {proof.last_judgement.value:16} {handler.path}", flush=True)
                yield proof
    except NoRepository as error:
        print(f"{len(handlers)} handlers of {handlers[0].repository} are left out: {error}", file=sys.stderr)


def _proof(handler: Listed, newcomer: Newcomer, folder: Path) -> Proof:
    """Nobody adds an option where the first verdict is right."""
    first = newcomer.proves(handler, folder)
    tidied(folder)
    second = None
    if handler.added is not None and not judged(handler, first).is_right:
        second = newcomer.proves(handler, folder, handler.added)
        tidied(folder)
    return Proof(handler, first, second)


def _installed(folder: Path, handlers: Sequence[Listed]) -> Path:
    """The interpreter of a virtual environment with this redrive and the packages that the list names."""
    python = folder / "bin" / "python"
    packages = sorted({package for handler in handlers for package in handler.packages})
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)  # noqa: S603 - our own interpreter
    subprocess.run(  # noqa: S603 - pip of that environment
        [str(python), "-m", "pip", "install", "--quiet", "--editable", f"{ROOT}[engine]", *packages],
        check=True,
        timeout=INSTALL_S_MAX,
    )
    return python


def _version(python: Path) -> str:
    asked = [str(python), "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - as above.


def _earlier(handlers: Sequence[Listed], file: Path | None) -> dict[str, Proof]:
    """The results of earlier runs that stand in the file: a run of a few handlers leaves the others as they are."""
    if file is None or not file.exists():
        return {}
    results: dict[str, Document] = {result["handler"]: result for result in json.loads(file.read_text("utf-8"))}
    proofs = {}
    for handler in handlers:
        if (result := results.get(_id_of(handler))) is not None:
            second = None if result["second"] is None else Outcome(**result["second"])
            proofs[_id_of(handler)] = Proof(handler, Outcome(**result["first"]), second)
    return proofs


def _id_of(handler: Listed) -> str:
    return f"{handler.repository}/{handler.path}:{handler.function}"


def _written(proofs: Sequence[Proof], file: Path | None) -> None:
    if file is None:
        return
    results = [
        {
            "handler": _id_of(proof.handler),
            "truth": list(proof.handler.truth),
            "judgement": proof.judgement.value,
            "last_judgement": proof.last_judgement.value,
            "first": proof.first.as_document(),
            "second": None if proof.second is None else proof.second.as_document(),
        }
        for proof in proofs
    ]
    file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _summed_up(proofs: Sequence[Proof]) -> None:
    first, last = counted(proofs, last=False), counted(proofs, last=True)
    for judgement in Judgement:
        print(f"{judgement.value:16} {first[judgement]:4} {last[judgement]:4}")
    for name, counts in (("without any option", first), ("with options", last)):
        right = sum(count for judgement, count in counts.items() if judgement.is_right)
        print(f"right {name}: {right} of {len(proofs)} ({right / max(len(proofs), 1):.0%})")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.handlers", description=__doc__)
    parser.add_argument("--repositories", type=Path, help="A folder of git directories, named OWNER+NAME.")
    parser.add_argument("--fetch", action="store_true", help="Fetch the commits from GitHub instead.")
    parser.add_argument("--only", default="", metavar="TEXT", help="Those whose repository and path contain it.")
    parser.add_argument("--jobs", type=int, default=1, help="How many repositories at once.")
    parser.add_argument("--seconds", type=int, default=20, help="When a search is stopped.")
    parser.add_argument("--faults", type=int, default=1, help="Up to how many faults.")
    parser.add_argument("--python", type=Path, help="The interpreter that has redrive and the packages.")
    parser.add_argument("--install", type=Path, metavar="DIR", help="Make such an environment there, and use it.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Where results are kept: those of earlier runs stay.")
    arguments = parser.parse_args()
    if arguments.repositories is None and not arguments.fetch:
        parser.error("name a folder with --repositories, or say --fetch")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
