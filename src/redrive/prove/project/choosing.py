"""Which function of a template is meant: named by its logical id, by its handler or its file, or the only one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from redrive.core.errors import UserError
from redrive.prove.project.functions import ProjectFunction

_REPEATING = ("sqs", "kinesis", "dynamodb", "eventbridge")
"""What delivers again by itself, and has to be told apart before a function that others call is taken."""


def named(functions: Sequence[ProjectFunction], logical_id: str, file: Path) -> ProjectFunction:
    """The function with this logical id, however it is capitalised. Errors: UserError."""
    wanted = _plain(logical_id)
    found = [one for one in functions if one.logical_id == logical_id]
    found = found or [one for one in functions if _plain(one.logical_id) == wanted]
    if len(found) != 1:
        names = ", ".join(one.logical_id for one in functions) or "no functions at all"
        raise UserError(
            f"The template {file} has no function {logical_id}.", next_step=f"It has {names}.", exit_code=2
        )  # fmt: skip
    return found[0]


def of_handler(functions: Sequence[ProjectFunction], handler: str, module: Path | None) -> ProjectFunction | None:
    """The function whose handler this is, by the file of its module or else by its name; None if no single one."""
    if module is not None:
        same = [one for one in functions if module.resolve() == module_of(one) and _function_name(one) in handler]
        if same:
            return same[0] if len(same) == 1 else _fed_first(same)
    wanted = handler.replace(":", ".")
    same = [one for one in functions if one.handler and wanted.endswith(one.handler)]
    return same[0] if len(same) == 1 else _fed_first(same)


def only(functions: Sequence[ProjectFunction]) -> ProjectFunction | None:
    """The only function that anything feeds again and again, or else the only function; None if there are several."""
    repeated = [one for one in functions if one.feed.kind in _REPEATING]
    found = repeated or list(functions)
    return found[0] if len(found) == 1 else _fed_first(found)


def module_of(function: ProjectFunction) -> Path | None:
    """The file of the module with the handler, if its code is a folder or a single file."""
    if function.code is None or "." not in function.handler:
        return None
    if function.code.is_file():
        return function.code.resolve() if function.code.suffix == ".py" else None
    module = function.handler.rpartition(".")[0].replace(".", "/")
    return (function.code / f"{module}.py").resolve()


def _fed_first(found: Sequence[ProjectFunction]) -> ProjectFunction | None:
    """The only one that a queue feeds, if there is one."""
    fed = [one for one in found if one.feed.kind == "sqs"]
    return fed[0] if len(fed) == 1 else None


def _function_name(function: ProjectFunction) -> str:
    return function.handler.rpartition(".")[2]


def _plain(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())
