"""An engine for tests: in process, in virtual time, with boto3 clients. In pytest, it is the fixture `redrive`.

`redrive.testing.prove` searches the histories of a handler for one in which work is lost or repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redrive.testing.proving import Prove

    prove: Prove

__all__ = ["prove"]


def __getattr__(name: str) -> Prove:
    """Import names that need the engine at their first use."""
    if name != "prove":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from redrive.testing.proving import Prove  # noqa: PLC0415 - see above.

    return Prove()
