"""The names that CloudFormation gives to resources which have none of their own."""

from __future__ import annotations

from redrive.core.entropy import Entropy

SUFFIX_LENGTH = 13
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def generate_name(entropy: Entropy, stack_name: str, logical_id: str, length_max: int) -> str:
    """`STACK-LOGICALID-1A2B3C4D5E6F7`; where that is too long, stack and logical id are shortened evenly.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
    """
    room = length_max - SUFFIX_LENGTH - 2
    half = room // 2
    stack = stack_name[: max(half, room - len(logical_id))]
    return f"{stack}-{logical_id[: room - len(stack)]}-{random_suffix(entropy)}"


def random_suffix(entropy: Entropy) -> str:
    """Thirteen random digits and capitals."""
    number = int(entropy.hex(20), 16)
    digits = []
    for _ in range(SUFFIX_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)
