"""How a stack takes what AWS has and redrive does not serve: what it asks for, and what is refused otherwise.

A stack asks by its tag `redrive:on-unknown`, else the server's setting holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redrive.core.errors import ServiceError
from redrive.core.leniency import OnUnknown
from redrive.services.cloudformation.types.stand_ins import is_known_to_aws, is_third_party, only_observes

TAG = "redrive:on-unknown"
"""A tag of the stack, not of its resources."""

STUB_HINT = f"Have its attributes made up: redrive deploy --on-unknown stub, or the tag {TAG}=stub of the stack."

_HINT = (
    f"Take them out, or have stand-ins made for them that do nothing: redrive deploy --on-unknown stub, or the tag "
    f"{TAG}=stub of the stack."
)


def leniency_of(tags: Mapping[str, str], default: OnUnknown) -> OnUnknown:
    """What a stack of these tags asks for. Errors: ValidationError for a value that there is not."""
    asked = tags.get(TAG)
    if asked is None:
        return default
    known = {one.value: one for one in OnUnknown}
    if asked not in known:
        raise _refusal(f"The tag {TAG} is {asked}; it must be one of {', '.join(known)}.")
    return known[asked]


def check_known(unserved: Iterable[str], leniency: OnUnknown) -> None:
    """Refuse those of the types that a stack of this leniency does not have stand-ins for.

    What AWS does not have is refused in AWS's words, what only redrive lacks in ours. Errors: ValidationError.
    """
    unserved = list(unserved)
    foreign = [name for name in unserved if is_third_party(name) and leniency is OnUnknown.STUB]
    unknown = [name for name in unserved if not is_known_to_aws(name) and name not in foreign]
    if unknown:
        raise _refusal(f"Template format error: Unrecognized resource types: [{', '.join(unknown)}]")
    missing = [name for name in unserved if not only_observes(name)]
    if missing and leniency is OnUnknown.REFUSE:
        raise _refusal(f"AWS has the resource types [{', '.join(missing)}], redrive does not serve them. {_HINT}")


def _refusal(message: str) -> ServiceError:
    return ServiceError("ValidationError", message)
