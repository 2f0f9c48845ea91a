"""What a stack does with features of AWS that redrive does not support: which are refused, which get a stand-in.

A stack chooses with its tag `redrive:on-unknown`; otherwise the server's setting applies.
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
    """Return the leniency of a stack with these tags. Errors: ValidationError (an unknown value)."""
    asked = tags.get(TAG)
    if asked is None:
        return default
    known = {one.value: one for one in OnUnknown}
    if asked not in known:
        raise _refusal(f"The tag {TAG} is {asked}; it must be one of {', '.join(known)}.")
    return known[asked]


def check_known(unserved: Iterable[str], leniency: OnUnknown) -> None:
    """Refuse the types for which a stack with this leniency has no stand-ins.

    If AWS does not have the type, the message is AWS's; if only redrive lacks it, ours. Errors: ValidationError.
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
