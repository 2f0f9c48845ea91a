"""Dead letters: what a dead-letter queue holds, why, and how it comes back. It knows AWS by boto3 alone.

    from redrive.deadletters import DeadLetterQueue

What is named here stays as it is from version to version; the modules below may change.
"""

from redrive.deadletters.account import Account
from redrive.deadletters.causes import Cause, Class, Judgement, Remedy
from redrive.deadletters.execution_keys import KeySource
from redrive.deadletters.findings import Answer, Finding, decided
from redrive.deadletters.letter import Failure, Letter, Origin, Work
from redrive.deadletters.memories import LedgerMemory, Memory, PowertoolsMemory
from redrive.deadletters.plan import Action, Canary, Plan, Rule, Stop, plan_document, read_plan
from redrive.deadletters.queue import DeadLetterQueue
from redrive.deadletters.runbook import runbook
from redrive.deadletters.sorting import Wishes
from redrive.deadletters.triage import Group, Triage

__all__ = [
    "Account", "Action", "Answer", "Canary", "Cause", "Class", "DeadLetterQueue", "Failure", "Finding", "Group",
    "Judgement", "KeySource", "LedgerMemory", "Letter", "Memory", "Origin", "Plan", "PowertoolsMemory", "Remedy",
    "Rule", "Stop", "Triage", "Wishes", "Work", "decided", "plan_document", "read_plan", "runbook",
]  # fmt: skip
