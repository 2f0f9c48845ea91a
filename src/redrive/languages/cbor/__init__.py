"""CBOR, as far as AWS's protocols use it: a binary form of what JSON can say, plus bytes and tagged values.

    decode(data) ──► Value        encode(value) ──► bytes

Keys of maps are text. What is written has its shortest form and definite lengths; indefinite lengths and numbers of
every size are read, too. Source: https://www.rfc-editor.org/rfc/rfc8949
"""

from __future__ import annotations

from redrive.languages.cbor.reader import NESTING_MAX, decode
from redrive.languages.cbor.values import EPOCH_TAG, Malformed, Tagged, Value
from redrive.languages.cbor.writer import encode

__all__ = ["EPOCH_TAG", "NESTING_MAX", "Malformed", "Tagged", "Value", "decode", "encode"]
