"""The causes that are recognised, and what is found of one."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from redrive.prove.play.events import Called


class Cause(enum.StrEnum):
    """Why work was repeated, lost, changed or left stuck."""

    UNPROCESSED = "unprocessed entries"
    TOKEN_FORGOTTEN = "token forgotten"
    MISSPELT_RESPONSE = "misspelt response"
    UNREAD_RESPONSE = "response not read"
    MARKED_AFTER = "marked after the effect"
    NOT_REMEMBERED = "effect is not remembered"
    CHECKED_THEN_WRITTEN = "checked, then written"
    READ_MODIFY_WRITE = "read, modify, write"
    DROPPED = "dropped on an error path"
    UNCHECKED_STATUS = "status not checked"
    DELIVERY_KEY = "key of the delivery"
    RANDOM_KEY = "random key"
    RECORD_EXPIRES = "record expires too early"
    NO_LEASE = "claim without a lease"
    OWN_WRITE_REFUSED = "refused by its own write"
    SKIPPED = "returned while another run worked"
    UNRECORDED = "unrecorded"
    DELETED_FIRST = "message deleted first"
    UNCERTAIN = "effect uncertain"
    LETTERS_EXPIRED = "dead letters expired"
    GIVEN_UP = "given up without a dead letter"
    ENDLESS = "never comes to rest"
    FAILS_AGAIN = "fails after its redrive"
    OLDER_OVER_NEWER = "older over newer"
    REMEMBERED = "memory of the environment"
    DIFFERS = "differs from attempt to attempt"


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause, the call at which a change begins, and what the words need."""

    cause: Cause
    at: Called | None = None
    details: Mapping[str, str] = field(default_factory=dict)
