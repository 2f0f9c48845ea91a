"""Regular expressions of JSONata, by RE2: they match in linear time, and therefore have no lookahead."""

from __future__ import annotations

import re2

from redrive.languages.states.jsonata.failures import FailedEvaluation

PATTERN_CHARACTERS_MAX = 2_000


def compile_pattern(pattern: str, *, ignore_case: bool, multiline: bool) -> object:
    """A pattern between slashes. Errors: FailedEvaluation."""
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        raise FailedEvaluation(f"S0301: A regular expression has more than {PATTERN_CHARACTERS_MAX} characters")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        compiled: object = re2.compile(f"(?m){pattern}" if multiline else pattern, options)
    except re2.error as error:
        raise FailedEvaluation(f"S0301: The regular expression /{pattern}/ is not supported: {error}") from None
    return compiled


def matches_whole(pattern: str, text: str) -> bool:
    """Whether a pattern covers a text, in any case. Errors: FailedEvaluation."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        return re2.fullmatch(pattern, text, options) is not None
    except re2.error as error:
        raise FailedEvaluation(f"D3136: The picture cannot be read: {error}") from None
