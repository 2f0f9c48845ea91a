"""One run of a plan, put together: what the command line and programs of users share.

The caller says where the letters are and who tells the time (`Means`); the gates, the sender, the receipts and the
threads follow from that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redrive.core.clock import Instant
from redrive.core.errors import UserError
from redrive.deadletters.bus_events import WantedEvents
from redrive.deadletters.changed_events import UnchangedEvents
from redrive.deadletters.contents import Contents
from redrive.deadletters.destinations import SourcesOf
from redrive.deadletters.gates import Gate
from redrive.deadletters.hiding import Hidden
from redrive.deadletters.journal import Journal
from redrive.deadletters.peek import HIDDEN_S_MAX, depth_of, hidden_s_for
from redrive.deadletters.plan import Plan
from redrive.deadletters.ports import Ports, Tell, told_nobody
from redrive.deadletters.preflight import Gates
from redrive.deadletters.preflighted import Preflighted
from redrive.deadletters.repairing import repair_all
from redrive.deadletters.run_files import discarded_of, export_letters
from redrive.deadletters.running import Redriving
from redrive.deadletters.sending import Sender
from redrive.deadletters.sorting import Refined, Wishes, as_it_is
from redrive.deadletters.sources import Client
from redrive.deadletters.streams import Streams
from redrive.deadletters.watching import FirstLetters

THREADS = 8
"""How many requests are under way at the same time. A client of boto3 keeps ten connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a run works with. `client_once` makes clients that never repeat a request."""

    client: Client
    client_once: Client
    now: Callable[[], Instant]
    wait: Callable[[float], None]
    sources: SourcesOf
    beside: Path
    """The file beside which discarded letters are written."""
    wait_s: int = 0
    """How long a receive waits for messages."""
    gates: Gates | None = None
    """What preflight asks; None: it is not asked."""
    refined: Refined = as_it_is
    tell: Tell = told_nobody
    say: Callable[[str], None] = lambda _: None
    """Hears of repairs before they are done."""

    def asked(self) -> Sequence[Gate]:
        """The gates that are asked before a letter is sent."""
        always = (UnchangedEvents(self.client), WantedEvents(self.client, self.now))
        return always if self.gates is None else (*always, Preflighted(self.client, self.now, self.gates))


def mend(plan: Plan, journal: Journal, means: Means, wishes: Wishes) -> None:
    """Do the repairs of a plan, before anything is sent.

    Errors: UserError if the plan has repairs and the user has not said so, or if AWS refuses one.
    """
    if plan.repairs and not wishes.remediate:
        raise UserError(
            f"The plan has repairs, the first: {plan.repairs[0].deed}.",
            next_step="Do them: --remediate; or take them out of `repairs` in the plan.", exit_code=2,
        )  # fmt: skip
    repair_all(plan.repairs, means.client, journal, means.now, means.say)


@contextmanager
def assembled(plan: Plan, journal: Journal, means: Means, wishes: Wishes) -> Iterator[Redriving]:
    """A run of a plan, letter by letter; its `rounds` have to be asked for inside. Errors: ClientError."""
    client, now, sqs = means.client, means.now, means.client("sqs")
    hidden_s = hidden_s_for(depth_of(sqs, plan.queue).visible) + plan.canary.watch_s
    hidden_s += 0 if plan.rate is None else int(10 / plan.rate)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as receipts,
        ThreadPoolExecutor(THREADS) as threads,
    ):
        hidden = Hidden(
            sqs, plan.queue, receipts, hidden_s=min(HIDDEN_S_MAX, hidden_s), wait_s=means.wait_s, now=now
        )  # fmt: skip
        ports = Ports(
            sqs, Sender(means.client_once), journal, now, means.wait, means.sources,
            partial(export_letters, discarded_of(means.beside)), means.asked(), threads.map,
            watch=FirstLetters(client, now, None if means.gates is None else means.gates.memory),
            contents=Contents(client, Streams(client, now)), refined=means.refined, tell=means.tell,
        )  # fmt: skip
        yield Redriving(plan, ports, hidden, wishes)
