"""Why letters are dead: their grouping by cause, and the class of each cause.

Two letters have the same cause if source, error code, message and the innermost line of the traceback agree, after the
variable parts of the message are taken out (ids, numbers, times, addresses). The class follows from what the letter
says alone; what the logs and the target say refines it later.

A cause is judged by the first that is known: an error of AWS inside the message (`An error occurred
(ThrottlingException) when calling …`), the code of the letter, which may be the type of the function's exception, the
condition that ended the retries, and last the words of the message.

Sources of the tables: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html;
https://docs.aws.amazon.com/lambda/latest/dg/invocation-retries.html; handler/failures.py for codes of AWS. Which class
the exceptions of a language have is our judgement.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.deadletters.letter import Failure, Letter, Origin
from redrive.handler.failures import THROTTLED_CODES, TRANSIENT_CODES

MESSAGE_CHARS_MAX = 300
"""How much of a message tells causes apart; the rest is often a copy of the input."""


class Class(enum.Enum):
    """What kind of cause it is."""

    TRANSIENT = "transient"
    """It went away by itself, or will: a timeout, a connection, an internal error."""
    THROTTLED = "throttled"
    """There was too much at once: the same again succeeds if it comes slowly."""
    CONFIGURATION = "configuration"
    """Something is missing or set wrong: a target that does not exist, a limit, a package."""
    PERMISSION = "permission"
    """A role or a policy does not allow it."""
    POISON = "poison"
    """The code refuses this input; other inputs pass."""
    CODE = "code defect"
    """The code fails, whatever the input is."""
    DEFINITION = "definition"
    """The definition of the state machine fails: a redriven execution keeps the one with which it began."""
    UNKNOWN = "unknown"
    """The letter does not say it: its consumer's logs do."""


class Remedy(enum.Enum):
    """What to do with the letters of a cause."""

    REDRIVE = "redrive now"
    SLOWLY = "redrive slowly"
    FIX = "fix, then redrive"
    EXAMINE = "examine, then redrive or discard"


@dataclass(frozen=True, slots=True)
class Cause:
    """What letters have in common. Equal causes are one group."""

    origin: Origin
    source_arn: str
    code: str
    message: str
    """The message without its variable parts."""
    place: str
    """The innermost line of the traceback, without its number; empty if the letter has none."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The class of a cause, the words of the letter that it follows from, and what to do."""

    kind: Class
    evidence: str
    remedy: Remedy
    advice: str


def cause_of(letter: Letter) -> Cause:
    """The cause of a letter."""
    failure = letter.failure
    code = failure.code or failure.condition
    place = _place(failure.trace)
    return Cause(letter.origin, letter.source_arn, code, without_variables(failure.message), place)


def judge(failure: Failure, origin: Origin) -> Judgement:
    """The class of a failure by what the letter says."""
    inner = _AWS_ERROR.search(failure.message)
    for code, evidence in (
        (inner["code"] if inner else "", failure.message[:MESSAGE_CHARS_MAX]),
        (failure.code, failure.code),
        (failure.condition, failure.condition),
    ):
        kind = _class_of(code)
        if kind is not None:
            return Judgement(kind, evidence, *_ADVICE[kind])
    kind = next((kind for pattern, kind in _MESSAGES if pattern.search(failure.message)), None)
    if kind is not None:
        return Judgement(kind, failure.message[:MESSAGE_CHARS_MAX], *_ADVICE[kind])
    if origin is Origin.UNKNOWN:
        return Judgement(Class.UNKNOWN, "the letter names no source and no error", Remedy.EXAMINE, _OF_NOBODY)
    if origin in {Origin.QUEUE, Origin.SUBSCRIPTION} or not (failure.code or failure.message):
        return Judgement(Class.UNKNOWN, "the letter holds no error", Remedy.EXAMINE, _OF_CONSUMER)
    return Judgement(Class.UNKNOWN, failure.code or failure.message, Remedy.EXAMINE, _EXAMINE)


def without_variables(message: str) -> str:
    """A message with `…` in place of what differs from letter to letter: ids, numbers, times, addresses, tokens."""
    text = message[: MESSAGE_CHARS_MAX * 2]
    for pattern, put in _VARIABLES:
        text = pattern.sub(put, text)
    return text[:MESSAGE_CHARS_MAX]


_VARIABLES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"arn:aws[\w-]*:(?P<service>[\w-]+):[^\s'\",)]*"), r"arn:…:\g<service>:…"),
    (re.compile(r"https?://(?P<host>[^/\s'\",):]+)[^\s'\",)]*"), r"https://\g<host>/…"),
    (re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"), "…@…"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?"), "…"),
    (re.compile(r"\b(?=[\w-]*\d)[0-9A-Za-z][\w-]*"), "…"),
    (re.compile(r"\b[A-Za-z0-9+/=_-]{32,}"), "…"),
    (re.compile(r"-?\d+(?:[.,]\d+)*"), "…"),
    (re.compile(r"…(?:[\s,.:/-]*…)+"), "…"),
)
"""From the most special to the most general: an ARN has numbers, too. A word with a digit in it is taken for an id."""

_AWS_ERROR = re.compile(r"An error occurred \((?P<code>[\w.]+)\) when calling the (?P<operation>\w+) operation")
_PLACE = re.compile(r'File "(?P<file>[^"]+)", line \d+(?:, in (?P<function>\S+))?')

_PERMISSION = re.compile(r"(?i)access.?denied|unauthori[sz]ed|forbidden|no_permissions|assume_?role|not.?authori[sz]ed")
_MISSING = re.compile(r"(?i)not.?found|nonexistent|does.?not.?exist|no_resource|nosuch|doesnotexist")

_CLASSES: Mapping[str, Class] = {
    # Rules, and subscribers of custom buses.
    "CONNECTION_FAILURE": Class.TRANSIENT, "CROSS_ACCOUNT_INGESTION_FAILED": Class.TRANSIENT,
    "CROSS_REGION_INGESTION_FAILED": Class.TRANSIENT, "ERROR_FROM_TARGET": Class.POISON,
    "EVENTS_IN_BATCH_REQUEST_REJECTED": Class.TRANSIENT, "FAILED_TO_ASSUME_ROLE": Class.PERMISSION,
    "INTERNAL_ERROR": Class.TRANSIENT, "INVALID_JSON": Class.POISON, "INVALID_PARAMETER": Class.CONFIGURATION,
    "NO_PERMISSIONS": Class.PERMISSION, "NO_RESOURCE": Class.CONFIGURATION,
    "RESOURCE_ALREADY_EXISTS": Class.CONFIGURATION, "RESOURCE_LIMIT_EXCEEDED": Class.THROTTLED,
    "RESOURCE_MODIFICATION_COLLISION": Class.TRANSIENT, "SDK_CLIENT_ERROR": Class.TRANSIENT,
    "THIRD_ACCOUNT_HOP_DETECTED": Class.CONFIGURATION, "THIRD_REGION_HOP_DETECTED": Class.CONFIGURATION,
    "THROTTLING": Class.THROTTLED, "TIMEOUT": Class.TRANSIENT, "TRANSIENT_ASSUME_ROLE": Class.TRANSIENT,
    "CUSTOMER_VALIDATION": Class.POISON, "ACCESS_DENIED": Class.PERMISSION, "RESOURCE_NOT_FOUND": Class.CONFIGURATION,
    "INPUT_TRANSFORMATION_FAILURE": Class.CONFIGURATION, "EXECUTION_TIMEOUT": Class.TRANSIENT,
    "REQUEST_TOO_LARGE": Class.POISON, "RESOURCE_CONFLICT": Class.TRANSIENT, "KMS_INVALID_STATE": Class.CONFIGURATION,
    "LOOP_DETECTED": Class.CONFIGURATION, "INTERNAL_SERVER_ERROR": Class.TRANSIENT,
    # Statuses and conditions of Lambda.
    "429": Class.THROTTLED, "404": Class.CONFIGURATION, "403": Class.PERMISSION, "500": Class.TRANSIENT,
    "502": Class.TRANSIENT, "503": Class.TRANSIENT, "504": Class.TRANSIENT,
    "ZeroReservedConcurrency": Class.CONFIGURATION, "EventAgeExceeded": Class.THROTTLED,
    "RecordAgeExceeded": Class.THROTTLED, "RecursiveInvocationException": Class.CONFIGURATION,
    # What ends a function.
    "Sandbox.Timedout": Class.TRANSIENT, "Runtime.OutOfMemory": Class.CONFIGURATION, "Runtime.ExitError": Class.CODE,
    "Runtime.ImportModuleError": Class.CONFIGURATION, "Runtime.HandlerNotFound": Class.CONFIGURATION,
    "Runtime.UserCodeSyntaxError": Class.CODE, "Runtime.MarshalError": Class.CODE,
    "AWS.Scheduler.InternalServerError": Class.TRANSIENT,
    # Errors of Step Functions.
    "States.Timeout": Class.TRANSIENT, "States.HeartbeatTimeout": Class.TRANSIENT,
    "States.Permissions": Class.PERMISSION,
    "States.Runtime": Class.DEFINITION, "States.ParameterPathFailure": Class.DEFINITION,
    "States.ResultPathMatchFailure": Class.DEFINITION, "States.NoChoiceMatched": Class.DEFINITION,
    "States.IntrinsicFailure": Class.DEFINITION, "States.QueryEvaluationError": Class.DEFINITION,
    "States.BranchFailed": Class.UNKNOWN, "States.ExceedToleratedFailureThreshold": Class.UNKNOWN,
    "States.DataLimitExceeded": Class.DEFINITION, "States.ItemReaderFailed": Class.CONFIGURATION,
    "States.ResultWriterFailed": Class.CONFIGURATION, "States.Http.Socket": Class.TRANSIENT,
    "Lambda.AWSLambdaException": Class.TRANSIENT, "Lambda.SdkClientException": Class.TRANSIENT,
    "Lambda.ClientExecutionTimeoutException": Class.TRANSIENT, "TIMED_OUT": Class.TRANSIENT, "ABORTED": Class.UNKNOWN,
    # Exceptions of Python, JavaScript and Java.
    "TypeError": Class.CODE, "AttributeError": Class.CODE, "NameError": Class.CODE, "ImportError": Class.CONFIGURATION,
    "ModuleNotFoundError": Class.CONFIGURATION, "NotImplementedError": Class.CODE, "RecursionError": Class.CODE,
    "UnboundLocalError": Class.CODE, "AssertionError": Class.CODE, "ZeroDivisionError": Class.POISON,
    "ReferenceError": Class.CODE, "java.lang.NullPointerException": Class.CODE,
    "KeyError": Class.POISON, "IndexError": Class.POISON, "ValueError": Class.POISON, "JSONDecodeError": Class.POISON,
    "UnicodeDecodeError": Class.POISON, "ValidationError": Class.POISON, "SyntaxError": Class.POISON,
    "SchemaValidationError": Class.POISON, "PayloadChanged": Class.POISON, "EffectUncertain": Class.UNKNOWN,
    "MemoryError": Class.CONFIGURATION, "TimeoutError": Class.TRANSIENT, "ConnectionError": Class.TRANSIENT,
    "StillRunning": Class.TRANSIENT, "CircuitOpen": Class.TRANSIENT,
}  # fmt: skip

_MESSAGES: tuple[tuple[re.Pattern[str], Class], ...] = (
    (re.compile(r"(?i)timed? ?out|connection (?:reset|refused)|max retries exceeded|unavailable"), Class.TRANSIENT),
    (re.compile(r"(?i)rate exceeded|too many requests|throttl|slow ?down"), Class.THROTTLED),
    (_PERMISSION, Class.PERMISSION),
    (re.compile(r"(?i)no module named|unable to import module|out ?of ?memory"), Class.CONFIGURATION),
    (_MISSING, Class.CONFIGURATION),
    (re.compile(r"(?i)invalid json|expecting value|validation error|is required|malformed"), Class.POISON),
)  # fmt: skip
"""What messages say whose code nobody knows, as those of exceptions of the user's own."""

_OF_CONSUMER = "Its consumer knows the error: look at the logs of the function or program that reads the source."
_OF_NOBODY = (
    "No service has written it: a program has sent it here, without the attributes that tell where it failed. "
    "Name a destination (`to`), or discard it."
)
_EXAMINE = "Look at one of them: redrive dlq show."

_ADVICE: Mapping[Class, tuple[Remedy, str]] = {
    Class.TRANSIENT: (Remedy.REDRIVE, "Redrive one, then the rest."),
    Class.THROTTLED: (Remedy.SLOWLY, "Redrive at a rate that the target takes."),
    Class.CONFIGURATION: (Remedy.FIX, "Make what is missing, or set it right; then redrive."),
    Class.PERMISSION: (Remedy.FIX, "Allow it in the role or the policy; then redrive."),
    Class.POISON: (Remedy.EXAMINE, "The code refuses this input: correct the code or the input, or discard it."),
    Class.CODE: (Remedy.FIX, "Correct the code and deploy it; then redrive."),
    Class.DEFINITION: (
        Remedy.EXAMINE,
        "A redriven execution keeps its definition: correct that, and start another one (`to` stateMachine:ARN).",
    ),
    Class.UNKNOWN: (Remedy.EXAMINE, _EXAMINE),
}


def _class_of(code: str) -> Class | None:
    """The class that an error code has, if it is known; names of exceptions count without their package."""
    if not code:
        return None
    name = code.rpartition(".")[2]
    known = _CLASSES.get(code) or _CLASSES.get(name)
    if known is not None:
        return known
    if name in THROTTLED_CODES:
        return Class.THROTTLED
    if name in TRANSIENT_CODES or name.endswith(("Timeout", "TimeoutError", "ConnectionError")):
        return Class.TRANSIENT
    if name == "ConditionalCheckFailedException":
        return Class.POISON
    if _PERMISSION.search(name):
        return Class.PERMISSION
    return Class.CONFIGURATION if _MISSING.search(name) else None


def _place(trace: tuple[str, ...]) -> str:
    """The innermost line of the user's code in a traceback: libraries change, and stand below the cause."""
    found = [match for line in trace if (match := _PLACE.search(line)) is not None]
    own = [match for match in found if not _is_installed(match["file"])]
    if not found:
        return ""
    last = (own or found)[-1]
    return f"{last['file']} in {last['function']}" if last["function"] else last["file"]


def _is_installed(file: str) -> bool:
    return any(part in file for part in ("site-packages", "/opt/python", "/var/runtime", "/var/lang"))
