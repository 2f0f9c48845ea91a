"""Connections: how API destinations authorize their calls, and what an answer may show of that.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-target-connection-auth.html
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document
from redrive.core.scope import Scope

RENEWED_BEFORE_MS = MINUTE_MS
"""A token is renewed by a call that comes so shortly before the token expires. Ours: AWS publishes no figure."""

_UNSHOWN = frozenset({"Password", "ApiKeyValue", "ClientSecret"})


class ConnectionState(enum.Enum):
    """The state of a connection. A private endpoint's states do not occur, because private endpoints are refused."""

    CREATING = "CREATING"
    UPDATING = "UPDATING"
    DELETING = "DELETING"
    AUTHORIZED = "AUTHORIZED"
    DEAUTHORIZED = "DEAUTHORIZED"
    AUTHORIZING = "AUTHORIZING"
    DEAUTHORIZING = "DEAUTHORIZING"
    ACTIVE = "ACTIVE"
    FAILED_CONNECTIVITY = "FAILED_CONNECTIVITY"


class AuthorizationType(enum.Enum):
    """How a connection authorizes calls."""

    BASIC = "BASIC"
    API_KEY = "API_KEY"
    OAUTH_CLIENT_CREDENTIALS = "OAUTH_CLIENT_CREDENTIALS"

    @property
    def block(self) -> str:
        """The member of AuthParameters that belongs to this type."""
        return _BLOCKS[self]


_BLOCKS = {
    AuthorizationType.BASIC: "BasicAuthParameters",
    AuthorizationType.API_KEY: "ApiKeyAuthParameters",
    AuthorizationType.OAUTH_CLIENT_CREDENTIALS: "OAuthParameters",
}
BLOCKS = frozenset(_BLOCKS.values())


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection. `parameters` are AWS's AuthParameters; empty after DeauthorizeConnection.

    What is stored of it has no secrets: `services/events/secrets.py` takes them out and puts them in again.

    `token` is the OAuth token that calls use until `token_until`; empty if there is none. `fence` counts the requests
    for tokens: only the answer to the latest one counts. `failures` counts requests in a row without an answer.
    """

    KIND: ClassVar[str] = "events.connection"

    name: str
    uid: str
    secret_suffix: str
    type: AuthorizationType
    parameters: Document
    state: ConnectionState
    created_at: Instant
    modified_at: Instant
    authorized_at: Instant | None = None
    description: str | None = None
    kms_key: str | None = None
    reason: str | None = None
    token: str = ""
    token_until: Instant = 0
    fence: int = 0
    failures: int = 0

    def arn(self, scope: Scope) -> str:
        """The connection's ARN, which differs from that of an earlier connection of the same name."""
        return f"arn:aws:events:{scope.region}:{scope.account}:connection/{self.name}/{self.uid}"

    def secret_arn(self, scope: Scope) -> str:
        """The ARN of the secret that AWS keeps for the connection; here no operation shows it."""
        path = f"events!connection/{self.name}/{self.uid}-{self.secret_suffix}"
        return f"arn:aws:secretsmanager:{scope.region}:{scope.account}:secret:{path}"

    @property
    def is_oauth(self) -> bool:
        """Whether calls need a token."""
        return self.type is AuthorizationType.OAUTH_CLIENT_CREDENTIALS

    @property
    def http_parameters(self) -> Document:
        """The headers, query parameters and parts of the body that each call gets."""
        return dict(self.parameters.get("InvocationHttpParameters") or {})


def name_of_arn(arn: str) -> str:
    """The name in the ARN of a connection or of an API destination."""
    return arn.split(":", 5)[5].split("/")[1]


def shown_parameters(parameters: Document) -> Document:
    """AuthParameters as an answer shows them: without secrets."""
    shown: Document = {}
    for key, value in parameters.items():
        if key in _UNSHOWN:
            continue
        if isinstance(value, dict):
            shown[key] = shown_parameters(value)
        elif isinstance(value, list):
            shown[key] = [_shown_parameter(one) for one in value]
        else:
            shown[key] = value
    return shown


def _shown_parameter(parameter: Document) -> Document:
    """A header, a query parameter or a part of the body; a secret one without its value."""
    is_secret = parameter.get("IsValueSecret", False)
    return {key: value for key, value in parameter.items() if not (is_secret and key == "Value")}
