"""The names that CloudFormation generates for resources without a name of their own."""

from __future__ import annotations

from redrive.core.entropy import Entropy

SUFFIX_LENGTH = 13
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def generate_name(entropy: Entropy, stack_name: str, logical_id: str, length_max: int) -> str:
    """Return `STACK-LOGICALID-1A2B3C4D5E6F7`; if too long, the stack's name and the logical id are shortened equally.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
    """
    room = length_max - SUFFIX_LENGTH - 2
    half = room // 2
    stack = stack_name[: max(half, room - len(logical_id))]
    return f"{stack}-{logical_id[: room - len(stack)]}-{random_suffix(entropy)}"


def random_suffix(entropy: Entropy) -> str:
    """Return thirteen random digits and capital letters."""
    number = int(entropy.hex(20), 16)
    digits = []
    for _ in range(SUFFIX_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)
