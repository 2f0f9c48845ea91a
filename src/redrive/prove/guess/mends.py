"""Changes of guesses, as values, and the exceptions that ask for them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from types import FrameType

from redrive.prove.guess.reading import EventPath
from redrive.prove.guess.watched import At

ID = "5068e532-bca5-4efc-be63-c93601fe6344"
"""An identifier, where one is asked for."""


class Content(enum.Enum):
    """What stands at a place whose value is not said."""

    ANY = "a value"
    """What its name, and what is read below it, ask for."""
    JSON = "a text in JSON"


@dataclass(frozen=True, slots=True)
class Mend:
    """A change of a guess: another value at a place."""

    at: At
    value: object = Content.ANY


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception in a frame of the user's code, at the instruction that it came from."""

    error: BaseException
    frame: FrameType
    instruction: int
    line: int

    @property
    def file(self) -> str:
        """The file of the code."""
        return self.frame.f_code.co_filename


class Exactly(dict[str, object]):
    """An object with these members and no others."""


def path_told(path: EventPath) -> str:
    """A path as the user would write it: `order.lines.0.sku`."""
    return ".".join(map(str, path))
