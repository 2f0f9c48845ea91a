"""How a state fails: AWS's name of the error, and its cause."""

from __future__ import annotations

ALL = "States.ALL"
DATA_LIMIT_EXCEEDED = "States.DataLimitExceeded"
EXCEED_TOLERATED_FAILURE_THRESHOLD = "States.ExceedToleratedFailureThreshold"
HEARTBEAT_TIMEOUT = "States.HeartbeatTimeout"
INTRINSIC_FAILURE = "States.IntrinsicFailure"
ITEM_READER_FAILED = "States.ItemReaderFailed"
NO_CHOICE_MATCHED = "States.NoChoiceMatched"
QUERY_EVALUATION_ERROR = "States.QueryEvaluationError"
RESULT_PATH_MATCH_FAILURE = "States.ResultPathMatchFailure"
RUNTIME = "States.Runtime"
TASK_FAILED = "States.TaskFailed"
TIMEOUT = "States.Timeout"


class StatesError(ValueError):
    """What Retry and Catch match: an error and its cause.

    `location` names the field whose JSONata failed, as the event EvaluationFailed has it: Output/result. `is_bare` says
    that AWS gives the cause without the sentence on the state (`cause_in`).
    """

    def __init__(self, error: str, cause: str, *, location: str | None = None, is_bare: bool = False) -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause
        self.location = location
        self.is_bare = is_bare

    def cause_in(self, state: str, entered_event_id: int) -> str:
        """The cause as an execution tells it, with the name of the state and the event by which it was entered."""
        if self.is_bare:
            return self.cause
        return (
            f"An error occurred while executing the state '{state}' (entered at the event id #{entered_event_id}). "
            f"{self.cause}"
        )


def runtime_error(cause: str) -> StatesError:
    """A failure that no Retry and no Catch sees."""
    return StatesError(RUNTIME, cause)
