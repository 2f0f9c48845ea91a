"""How a server runs steps in a world's store, in SQLite or with `--store postgresql`."""

from __future__ import annotations

import asyncio
from typing import Any

from redrive.core.knobs import PRODUCTION
from redrive.gateway.storage import Commits
from redrive.store.group import GroupCommit
from redrive.store.sqlite import SqliteStore


def served_commits(store: Any) -> Commits:
    """Begin to run steps on the loop that runs; `end_commits` ends it. `store` is a world's."""
    if isinstance(store, SqliteStore):
        return GroupCommit(store, post=asyncio.get_running_loop().call_soon_threadsafe)
    from redrive.store.postgres.commits import LaneCommits  # noqa: PLC0415 - its packages are an extra.

    return LaneCommits(store.lane, store.announce, steps_max=PRODUCTION.steps_per_commit)


async def end_commits(commits: Any) -> None:
    """Finish the steps that wait."""
    ended = commits.close()
    if ended is not None:
        await ended
