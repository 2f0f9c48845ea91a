"""What stacks get from outside: answers of custom resources, signals of wait conditions, and uploaded files.

PUT /_redrive/answers/TOKEN            by whoever has a URL that a stack gave, until it expires
PUT /_redrive/assets/BUCKET/KEY        the file that templates mean by a bucket and a key, as S3 is not served
"""

from __future__ import annotations

import hashlib
from urllib.parse import unquote

from redrive.core.errors import UserError
from redrive.engine.engine import Runner
from redrive.gateway.admin_requests import read_id, read_query
from redrive.gateway.chain import json_response
from redrive.services.cloudformation.model_answers import ANSWERS_PATH, take
from redrive.services.cloudformation.model_assets import ASSETS_PATH, keep_asset
from redrive.wire.message import HttpRequest, HttpResponse

__all__ = ["ANSWERS_PATH", "ASSETS_PATH", "StackAdmin"]


class StackAdmin:
    """Answers PUTs below the two paths."""

    def __init__(self, run: Runner, account: str) -> None:
        self._run = run
        self._account = account

    def is_for(self, request: HttpRequest) -> bool:
        """Whether a request is answered here."""
        return request.method == "PUT" and request.path.startswith((ANSWERS_PATH, ASSETS_PATH))

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Answer one request. Errors: UserError."""
        return self._take(request) if request.path.startswith(ANSWERS_PATH) else self._keep(request)

    def _take(self, request: HttpRequest) -> HttpResponse:
        token = read_id(request)
        try:
            self._run(lambda tx: take(tx, token, request.body))
        except ValueError as error:
            raise UserError(f"The answer was not taken: {error}.", next_step="Send a JSON object.") from error
        # S3, which takes the answers on AWS, answers with nothing.
        return HttpResponse(200, (), b"")

    def _keep(self, request: HttpRequest) -> HttpResponse:
        query = read_query(request, "account")
        bucket, _, key = unquote(request.path.removeprefix(ASSETS_PATH)).partition("/")
        if not bucket or not key:
            raise UserError("An asset needs a bucket and a key.", next_step=f"PUT it to {ASSETS_PATH}BUCKET/KEY.")
        account, digest = query.get("account") or self._account, hashlib.sha256(request.body).hexdigest()
        self._run(lambda tx: keep_asset(tx, account, bucket, key, digest, request.body))
        return json_response(200, {"bucket": bucket, "key": key, "sha256": digest})
