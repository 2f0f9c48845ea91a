"""Random passwords.

Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetRandomPassword.html
"""

from __future__ import annotations

import string
from collections.abc import Callable

from redrive.core.entropy import Entropy
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.model.requests import invalid_parameter

_DIGITS_PER_DRAW = 16


def random_password(
    entropy: Entropy, *, length: int | None, excluded: str, numbers: bool, punctuation: bool, uppercase: bool,
    lowercase: bool, space: bool, each_type: bool,
) -> str:  # fmt: skip
    """Return a password of characters of the included types; with `each_type`, at least one of each.

    Errors: InvalidParameterException (no characters are left, or too short for all types).
    """
    wanted = limits.PASSWORD_LENGTH if length is None else length
    if not 1 <= wanted <= limits.PASSWORD_LENGTH_MAX:
        raise invalid_parameter(
            f"The password length must be between 1 and {limits.PASSWORD_LENGTH_MAX} characters: {wanted}"
        )
    included = (
        (lowercase, string.ascii_lowercase), (uppercase, string.ascii_uppercase), (numbers, string.digits),
        (punctuation, string.punctuation), (space, " "),
    )  # fmt: skip
    types = ["".join(one for one in characters if one not in excluded) for is_in, characters in included if is_in]
    types = [characters for characters in types if characters]
    everything = "".join(types)
    if not everything:
        raise invalid_parameter("The password has no characters to choose from: exclude fewer of them.")
    if each_type and len(types) > wanted:
        raise invalid_parameter("The password is too short to hold a character of each included type.")

    def below(limit: int) -> int:
        return int(entropy.hex(_DIGITS_PER_DRAW), 16) % limit

    chosen = [characters[below(len(characters))] for characters in types] if each_type else []
    chosen += [everything[below(len(everything))] for _ in range(wanted - len(chosen))]
    return "".join(_shuffled(chosen, below))


def _shuffled(characters: list[str], below: Callable[[int], int]) -> list[str]:
    """Return the characters in an order of chance: those of each type must not stand first."""
    for last in range(len(characters) - 1, 0, -1):
        other = below(last + 1)
        characters[last], characters[other] = characters[other], characters[last]
    return characters
