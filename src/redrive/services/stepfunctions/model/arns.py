"""The ARNs of Step Functions: what they name, and how a bad one is refused.

arn:aws:states:REGION:ACCOUNT:stateMachine:NAME          a machine
arn:aws:states:REGION:ACCOUNT:stateMachine:NAME:7        its version 7; or its alias, if that is no number
arn:aws:states:REGION:ACCOUNT:stateMachine:NAME/LABEL    the machine of the children of a map run
arn:aws:states:REGION:ACCOUNT:execution:NAME:EXECUTION   an execution
arn:aws:states:REGION:ACCOUNT:express:NAME:EXECUTION:ID  an execution of an express machine
arn:aws:states:REGION:ACCOUNT:mapRun:NAME/LABEL:ID       a map run
arn:aws:states:REGION:ACCOUNT:activity:NAME              an activity
"""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.errors import ServiceError
from redrive.core.scope import Scope

MACHINE = "stateMachine"
EXECUTION = "execution"
EXPRESS = "express"
MAP_RUN = "mapRun"
ACTIVITY = "activity"


class StatesArn(NamedTuple):
    """A parsed ARN. `label` is that of a distributed Map; `qualifier` is a version, an alias or an execution's name."""

    scope: Scope
    kind: str
    name: str
    label: str = ""
    qualifier: str = ""
    id: str = ""

    @property
    def machine_arn(self) -> str:
        """The ARN of the machine without version, alias and label."""
        return machine_arn(self.scope, self.name)


def machine_arn(scope: Scope, name: str) -> str:
    """The ARN of a machine."""
    return f"arn:aws:states:{scope.region}:{scope.account}:{MACHINE}:{name}"


def activity_arn(scope: Scope, name: str) -> str:
    """The ARN of an activity."""
    return f"arn:aws:states:{scope.region}:{scope.account}:{ACTIVITY}:{name}"


def execution_arn(scope: Scope, machine: str, name: str) -> str:
    """The ARN of an execution of a standard machine. `machine` is `NAME/LABEL` for children of a map run."""
    return f"arn:aws:states:{scope.region}:{scope.account}:{EXECUTION}:{machine}:{name}"


def express_arn(scope: Scope, machine: str, name: str, id: str) -> str:
    """The ARN of an execution of an express machine, which several executions of a name may be."""
    return f"arn:aws:states:{scope.region}:{scope.account}:{EXPRESS}:{machine}:{name}:{id}"


def map_run_arn(scope: Scope, machine: str, label: str, id: str) -> str:
    """The ARN of a map run."""
    return f"arn:aws:states:{scope.region}:{scope.account}:{MAP_RUN}:{machine}/{label}:{id}"


def read_arn(text: str, *kinds: str) -> StatesArn:
    """Parse an ARN of one of these kinds. Errors: InvalidArn."""
    parts = text.split(":")
    if parts[0] != "arn" or len(parts) < 7:
        raise invalid_arn(f"Invalid ARN prefix: {text}" if parts[0] != "arn" else f"Invalid ARN: {text}")
    if parts[2] != "states":
        raise invalid_arn(f"Service name not valid: {text}")
    scope, kind = Scope(parts[4], parts[3]), parts[5]
    if kind not in kinds:
        raise invalid_arn(f"Resource type not valid in this context: {kind}")
    name, _, label = parts[6].partition("/")
    if not name:
        raise invalid_arn(f"Invalid ARN: {text}")
    return StatesArn(scope, kind, name, label, *parts[7:9])


def invalid_arn(text: str) -> ServiceError:
    """The error for an ARN that is none, or of another kind."""
    return ServiceError("InvalidArn", f"Invalid Arn: '{text}'")
