"""Puts the files of received bodies where they belong, and deletes those that nobody wants. Not for a step's thread."""

from __future__ import annotations

from redrive.store.api import Transaction
from redrive.store.bodies import Runner
from redrive.store.files.bodies import BodyFiles

TURNS_MAX = 90
"""A body that nobody has adopted in so many turns belongs to a request that has failed: a quarter of an hour."""


def settle(files: BodyFiles, run: Runner) -> None:
    """Look at the bodies that were received. Call it from time to time."""
    files.sweep()
    unsettled = files.unsettled
    if not unsettled:
        return

    def judge(tx: Transaction) -> frozenset[str]:
        """The bodies that were adopted. Others that are too old are discarded here, so no later step adopts them."""
        adopted = tx.bodies.known(unsettled)
        for body_id, turns in unsettled.items():
            if body_id not in adopted and turns >= TURNS_MAX:
                files.discard(body_id)
        return adopted

    adopted = run(judge)
    files.settle(adopted, unsettled.keys() - adopted)
    files.sweep()
