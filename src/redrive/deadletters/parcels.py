"""What is sent for a letter; work that stands elsewhere is fetched at the last moment, because it may be large."""

from __future__ import annotations

from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.clock import Instant
from redrive.deadletters.contents import Contents, Unfetched, is_elsewhere
from redrive.deadletters.letter import Letter
from redrive.deadletters.outcomes import Parcel, Refused, outcome_of
from redrive.deadletters.sorting import Sends
from redrive.handler.failures import Kind


def parcel_of(letter: Letter, sends: Sends, contents: Contents | None) -> Parcel | Refused:
    """What is sent for a letter; refused if its work cannot be fetched, or does not fit its patch."""
    if not is_elsewhere(letter, sends.to):
        return Parcel(letter, sends.text)
    if contents is None:
        return Refused("NoContent", "its work is not in the letter", Kind.PERMANENT)
    try:
        work = replace(letter.work, text=contents.text(letter))
        return Parcel(letter, sends.rule.text_of(replace(letter, work=work)))
    except (Unfetched, ValueError) as error:
        return Refused("NoContent", str(error), Kind.PERMANENT)
    except (ClientError, BotoCoreError) as error:
        outcome = outcome_of(error)  # Nothing was sent: an unknown answer is a refusal here.
        return outcome if isinstance(outcome, Refused) else Refused("NoContent", outcome.message, Kind.TRANSIENT)


def until_of(letter: Letter, contents: Contents) -> Instant | None:
    """When the stream drops the records of a batch; None if that cannot be asked."""
    try:
        return contents.until(letter)
    except (ClientError, BotoCoreError):
        return None
