"""The request to an API destination: what the connection, the target and the event put into it.

The connection's parameters win over those of the target.
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json, load_json
from redrive.delivery.outside.http_call import HttpCall
from redrive.delivery.outside.http_request import Headers, with_query
from redrive.services.events.model.api_destination import ApiDestination
from redrive.services.events.model.connection import AuthorizationType, Connection

TIMEOUT_MS = 5 * SECOND_MS

_DEFAULT_HEADERS: Mapping[str, str] = {
    "User-Agent": "Amazon/EventBridge/ApiDestinations",
    "Content-Type": "application/json; charset=utf-8",
    "Range": "bytes=0-1048575",
    "Accept-Encoding": "gzip,deflate",
    "Connection": "close",
}
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})


def destination_call(
    destination: ApiDestination, connection: Connection, given: Document, body: str
) -> HttpCall:  # fmt: skip
    """The call of an API destination. `given` are the target's HttpParameters, `body` is the target's input."""
    invocation = connection.http_parameters
    query = {**(given.get("QueryStringParameters") or {}), **pairs_of(invocation.get("QueryStringParameters"))}
    headers = Headers(_DEFAULT_HEADERS)
    headers.add_all((given.get("HeaderParameters") or {}).items())
    headers.add_all(pairs_of(invocation.get("HeaderParameters")).items())
    headers.add_all(authorization(connection))
    content = "" if destination.method in _BODILESS else _merged_body(body, invocation.get("BodyParameters"))
    url = with_query(filled_path(destination.endpoint, given.get("PathParameterValues") or []), query)
    return HttpCall(url, destination.method, headers.as_pairs(), content.encode(), timeout_ms=TIMEOUT_MS)


def token_call(connection: Connection) -> HttpCall:
    """The request for an OAuth token, with the client's id and secret.

    Without a grant type among the body parameters, the request asks for `client_credentials`.
    Source: https://datatracker.ietf.org/doc/html/rfc6749#section-4.4.2
    """
    asked = connection.parameters["OAuthParameters"]
    http = asked.get("OAuthHttpParameters") or {}
    client = asked["ClientParameters"]
    form = {
        "grant_type": "client_credentials", "client_id": client["ClientID"], "client_secret": client["ClientSecret"],
        **pairs_of(http.get("BodyParameters")),
    }  # fmt: skip
    query = pairs_of(http.get("QueryStringParameters"))
    method = asked["HttpMethod"]
    headers = Headers({**_DEFAULT_HEADERS, "Content-Type": "application/x-www-form-urlencoded"})
    headers.add_all(pairs_of(http.get("HeaderParameters")).items())
    if method == "GET":
        return HttpCall(
            with_query(asked["AuthorizationEndpoint"], {**form, **query}), method, headers.as_pairs(),
            timeout_ms=TIMEOUT_MS,
        )  # fmt: skip
    url = with_query(asked["AuthorizationEndpoint"], query)
    return HttpCall(url, method, headers.as_pairs(), urlencode(form).encode(), timeout_ms=TIMEOUT_MS)


def filled_path(endpoint: str, values: list[str]) -> str:
    """An endpoint in which each `*` of the path is replaced by the next value, encoded, as long as there are values."""
    url = urlsplit(endpoint)
    pieces = url.path.split("*")
    path = pieces[0]
    for place, piece in enumerate(pieces[1:]):
        path += (quote(values[place], safe="") if place < len(values) else "*") + piece
    return url._replace(path=path).geturl()


def authorization(connection: Connection) -> list[tuple[str, str]]:
    """The headers that authorize a call."""
    parameters = connection.parameters
    match connection.type:
        case AuthorizationType.BASIC:
            basic = parameters["BasicAuthParameters"]
            credentials = f"{basic['Username']}:{basic['Password']}".encode()
            return [("Authorization", f"Basic {base64.b64encode(credentials).decode()}")]
        case AuthorizationType.API_KEY:
            key = parameters["ApiKeyAuthParameters"]
            return [(key["ApiKeyName"], key["ApiKeyValue"])]
        case AuthorizationType.OAUTH_CLIENT_CREDENTIALS:
            return [("Authorization", f"Bearer {connection.token}")]


def _merged_body(body: str, added: list[Document] | None) -> str:
    """The body with the connection's parameters added, if the body is a JSON object."""
    if not added:
        return body
    try:
        document = load_json(body)
    except ValueError:
        return body
    return dump_json({**document, **pairs_of(added)}) if isinstance(document, dict) else body


def pairs_of(parameters: list[Document] | None) -> dict[str, str]:
    """The parameters of a connection by their keys."""
    return {one["Key"]: one.get("Value", "") for one in parameters or [] if "Key" in one}
