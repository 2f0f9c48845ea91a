"""Intrinsic functions: `States.Format('order {}', $.id)`.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/intrinsic-functions.html
"""

from __future__ import annotations

from redrive.languages.states.intrinsics.call import Call, parse_call
from redrive.languages.states.intrinsics.reader import MalformedCall

__all__ = ["Call", "MalformedCall", "parse_call"]
