"""Makes private keys. The search for the primes of an RSA key takes seconds, so it runs without a transaction."""

from __future__ import annotations

from collections import defaultdict, deque
from functools import partial

from redrive.delivery.operation import Beforehand
from redrive.services.kms.model.secrets import PrivateKey, new_private_key
from redrive.services.kms.model.specs import KeySpec

_found: defaultdict[str, deque[PrivateKey]] = defaultdict(deque)
"""Keys by their spec that nobody has taken yet: one for each operation that runs between its two calls."""


def made_key(spec: KeySpec) -> PrivateKey | Beforehand:
    """Return a new private key, or the work after which a second call returns one. Each key is returned once."""
    if spec.curve:
        return new_private_key(spec)
    try:
        return _found[spec.name].popleft()
    except IndexError:
        return Beforehand(partial(_find, spec))


def _find(spec: KeySpec) -> None:
    _found[spec.name].append(new_private_key(spec))
