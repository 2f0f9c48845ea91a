"""JSONPath as Step Functions reads it: Jayway's dialect. `$` is the input, `$$` the context object, `$name` a variable.

    parse_path("$.orders[?(@.price > 10)].id").find({"orders": [{"id": 1, "price": 5}, {"id": 2, "price": 20}]})  →  [2]

A path that can name one place only is definite: it gives the value there, or fails. Any other path gives the list of
what it finds, which may be empty.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/amazon-states-language-paths.html
"""

from __future__ import annotations

from redrive.languages.states.paths.path import NothingFound, Path
from redrive.languages.states.paths.reader import MalformedPath, parse_path, parse_path_at
from redrive.languages.states.paths.reference import UnwritablePath, parse_reference, write

__all__ = [
    "MalformedPath",
    "NothingFound",
    "Path",
    "UnwritablePath",
    "parse_path",
    "parse_path_at",
    "parse_reference",
    "write",
]
