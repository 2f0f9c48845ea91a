"""Environment variables of the handler that the user has given, as those of its function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from redrive.core.errors import ServiceError, UserError
from redrive.prove.guess.reading import own_files
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Trigger

FROM_FILE = "variables of .env"
"""The name of what the report says of variables that nobody has named on the command line."""


def with_given(
    stage: Stage, trigger: Trigger, subject: Subject, variables: Mapping[str, str], defaults: Mapping[str, str]
) -> Trigger:
    """Set variables of the function: `variables` in any case, and `defaults` that the handler's code names, where the
    function has none. Errors: UserError.
    """
    named = _named_by(subject, defaults)
    if not variables and not named:
        return trigger
    name = trigger.function_name
    own = stage.call("lambda", "GetFunctionConfiguration", FunctionName=name).get("Environment", {})
    before = own.get("Variables", {})
    taken = {key: value for key, value in named.items() if key not in before and key not in variables}
    try:
        changed = {"Variables": {**taken, **before, **variables}}
        stage.call("lambda", "UpdateFunctionConfiguration", FunctionName=name, Environment=changed)
    except ServiceError as error:
        raise UserError(f"The variables cannot be set: {error.message}", exit_code=2) from error
    stage.settle()
    told = {FROM_FILE: ", ".join(taken)} if taken else {}
    return replace(trigger, guesses={**trigger.guesses, **told})


def _named_by(subject: Subject, defaults: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names stand in the handler's code: a file of variables has those of other programs, too."""
    if not defaults or not isinstance(subject, NamedSubject):
        return {}
    texts = [file.read_text("utf-8", errors="replace") for file in own_files(subject.file) if file.is_file()]
    return {name: value for name, value in defaults.items() if any(name in text for text in texts)}
