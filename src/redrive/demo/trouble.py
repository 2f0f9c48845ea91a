"""Injected failures. Deployed beside the example's handler, it wraps the handler's `work` and nothing else.

TROUBLE says for a scheduled time what happens to its attempts: `fail` raises before the effect, `crash` ends the
process after the effect and before anything is recorded, `ok` changes nothing; the last word holds for all later
attempts.
"""

from __future__ import annotations

import importlib
import json
import os

index = importlib.import_module("index")

_TROUBLE: dict[str, list[str]] = json.loads(os.environ["TROUBLE"])
_work = index.work


def _troubled_work(job: dict[str, dict[str, str]], attempt: int) -> None:
    fates = _TROUBLE.get(job["context"]["scheduled_time"], ["ok"])
    fate = fates[min(attempt, len(fates)) - 1]
    if fate == "fail":
        raise RuntimeError("the sales database does not answer")
    _work(job, attempt)
    if fate == "crash":
        print("the process dies before it can say that the work is done", flush=True)  # noqa: T201 - a function logs by printing.
        os._exit(1)


vars(index)["work"] = _troubled_work
handler = index.handler
