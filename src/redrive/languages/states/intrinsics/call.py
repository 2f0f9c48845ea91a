"""Calls of intrinsic functions, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from redrive.core.documents import dump_json
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.errors import INTRINSIC_FAILURE, StatesError, runtime_error
from redrive.languages.states.intrinsics.functions import FUNCTIONS, Unfit
from redrive.languages.states.intrinsics.reader import Argument, MalformedCall, Parsed, Quoted, read_call
from redrive.languages.states.lookup import look_up, root_of
from redrive.languages.states.paths import NothingFound, Path

CALLS_KEPT = 4_096


@dataclass(frozen=True, slots=True)
class Call:
    """A call: its text, and what it says."""

    text: str
    parsed: Parsed

    def value(self, root: object, bindings: Bindings) -> object:
        """What the call gives for `$`. Errors: StatesError."""
        return self._called(self.parsed, root, bindings)

    def paths(self) -> Iterator[Path]:
        """The paths among the arguments."""
        yield from _paths(self.parsed)

    def _called(self, call: Parsed, root: object, bindings: Bindings) -> object:
        _, _, function = FUNCTIONS[call.name]
        arguments = [self._given(argument, root, bindings) for argument in call.arguments]
        if call.name == "Format" and isinstance(call.arguments[0], Quoted):
            arguments[0] = call.arguments[0].raw
        try:
            return function(bindings.entropy, arguments)
        except Unfit as error:
            raise StatesError(INTRINSIC_FAILURE, self._sentence(str(error))) from None

    def _given(self, argument: Argument, root: object, bindings: Bindings) -> object:
        match argument:
            case Quoted():
                return argument.text
            case Parsed():
                return self._called(argument, root, bindings)
            case Path():
                try:
                    return look_up(argument, root, bindings)
                except NothingFound:
                    place = dump_json(root_of(argument, root, bindings))
                    raise runtime_error(
                        self._sentence(
                            f"The JsonPath argument for the field '{argument.text}' could not be found in the input "
                            f"'{place}'"
                        )
                    ) from None
            case _:
                return argument

    def _sentence(self, why: str) -> str:
        return f"The function '{self.text}' had the following error: {why}"


@lru_cache(CALLS_KEPT)
def parse_call(text: str) -> Call:
    """Read a call, whose functions must exist and take that many arguments. Errors: MalformedCall."""
    parsed = read_call(text)
    _check(parsed)
    return Call(text, parsed)


def _check(call: Parsed) -> None:
    if call.name not in FUNCTIONS:
        raise MalformedCall(f"there is no function States.{call.name}")
    fewest, most, _ = FUNCTIONS[call.name]
    if not fewest <= len(call.arguments) <= most:
        takes = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise MalformedCall(f"States.{call.name} takes {takes} arguments, not {len(call.arguments)}")
    for argument in call.arguments:
        if isinstance(argument, Parsed):
            _check(argument)


def _paths(call: Parsed) -> Iterator[Path]:
    for argument in call.arguments:
        if isinstance(argument, Path):
            yield argument
        elif isinstance(argument, Parsed):
            yield from _paths(argument)
