"""The families of errors.

    Exception
    ├── ServiceError     what the caller of an AWS operation sees: code, status, message
    ├── Conflict         the store could not serialise a step; running it again is right
    ├── Bug              a defect in redrive: an assertion failed
    └── UserError        our own surfaces (CLI, config): what is wrong, which thing, what to do next
        ├── Unavailable  something does not answer now; the same request may succeed later
        └── Doubtful     whether something was done is not known

The type tells who must act: the caller, the store's retry, the developers, or the user. Expected alternatives are
return values, not exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping


class ServiceError(Exception):
    """An error in the words of the AWS service that the caller used.

    `code` is the name of the error shape in the service's model (`ResourceNotFoundException`). The wire takes the HTTP
    status and the query-protocol code from the model. `http_status` is for codes that the model does not declare.
    `members` are further members of the error shape in AWS's spelling, such as `Item` of a failed condition.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        http_status: int | None = None,
        fault: str = "client",
        members: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.http_status = http_status
        self.fault = fault
        self.members: Mapping[str, object] = members or {}


class Conflict(Exception):
    """The store could not run this step beside another one. Nothing was written; run the step again."""


class Bug(AssertionError):
    """A defect in redrive: an assertion failed. Never the caller's fault."""


class UserError(Exception):
    """An error on our own surfaces that a person can correct.

    `what` names the thing and what is wrong with it. `next_step` says what to do, best as a command to paste.
    `exit_code` is the CLI's: 1 finding, 2 usage, 3 environment, 4 refused by a safety check.
    """

    def __init__(self, what: str, *, next_step: str = "", exit_code: int = 3) -> None:
        super().__init__(what if not next_step else f"{what} {next_step}")
        self.what = what
        self.next_step = next_step
        self.exit_code = exit_code


class Unavailable(UserError):
    """Something that redrive needs does not answer at the moment. The same request may succeed later."""


class Doubtful(UserError):
    """Whether something was done is not known: an answer was lost. Repeating the request may do it twice."""
