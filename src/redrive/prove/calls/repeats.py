"""Which calls leave the same when they are made again with the same parameters: by the verb of an operation's name.

AWS names its operations alike: what tags, sets, enables, stops or deletes something names the resource and the state
that it is to have. The services say so of many of them (the trait `idempotent` of their models); of most they say
nothing, and the verb decides. A second call that is refused, because what it deletes is gone, leaves the same as well.
"""

from __future__ import annotations

import re

from redrive.prove.calls.calls import Call, Params
from redrive.prove.calls.verbs import verb_of

_SETTING = frozenset(
    """
    Activate Associate Attach Cancel Change Deactivate Delete Deregister Detach Disable Disassociate Enable Modify
    Pause Remove Resume Set Stop Suspend Tag Terminate Unsubscribe Untag Update Withdraw
    """.split()
)
"""The verbs of operations that give a resource a state which their parameters name, or take the resource away."""
_COLLECTED = re.compile(
    r"(Data|Detections?|Entry|Entries|Evaluations|Events?|Feedback|Files?|Items?|Logs|Measurements?|Messages?|Objects?|"
    r"Records?|RecordBatch|Results?|Segments|Spans|Traces|Values?|Vectors)$"
)
"""How the names of operations end that put something to what is there: an event, a record, a measured value."""
_ADDED_TO_A_SET = re.compile(r"(Tags|Permission|User|Role)")
"""What stands in the names of operations whose `Add` adds a member to a set."""
_STATES = frozenset(
    {
        "docdb:StartDBCluster", "ec2:StartInstances", "glue:StartTrigger", "neptune:StartDBCluster",
        "rds:StartDBCluster", "rds:StartDBInstance", "sagemaker:StartNotebookInstance",
    }
)  # fmt: skip
"""Starts of something that runs or does not; any other start begins something new."""
_ADDING = frozenset({"cloudcontrol:UpdateResource", "dynamodb:UpdateItem"})
"""Operations whose parameters can say how the state is to differ from the one before."""


def leaves_the_same(service: str, operation: str) -> bool:
    """Whether an operation gives a resource a state, by its name alone."""
    name, verb = f"{service}:{operation}", verb_of(operation)
    if name in _ADDING:
        return False
    if verb == "Put":
        return _COLLECTED.search(operation) is None
    if verb == "Add":
        return _ADDED_TO_A_SET.search(operation) is not None
    return verb in _SETTING or name in _STATES


def sets_the_same(call: Call) -> bool:
    """Whether a call that is made again leaves what it has left: unless it forces something to be done anew."""
    return leaves_the_same(call.service, call.operation) and not _forces(call.params)


def _forces(params: Params) -> bool:
    return any(str(name).lower().startswith("force") and value is True for name, value in params.items())
