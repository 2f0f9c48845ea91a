"""`/_redrive/assets/DIGEST`: archives of code that a deployment brings before its template names them.

Large ones come in pieces, since a request has its limit; the pieces of one asset at a time are held.
"""

from __future__ import annotations

import hashlib
import threading

from redrive.core.errors import UserError
from redrive.engine.engine import Runner
from redrive.gateway.admin_requests import Missing, Routes, read_count, read_id, read_query
from redrive.gateway.chain import json_response
from redrive.services.lambda_.limits import UNZIPPED_BYTES_MAX
from redrive.services.lambda_.model_assets import find_asset, keep_asset
from redrive.wire.message import HttpRequest, HttpResponse

PIECES_MAX = 64
USAGE = "Send the zip archive as the body, or its pieces one after the other with ?piece=1&pieces=3."


class AssetAdmin:
    """Takes assets, and says which there are."""

    def __init__(self, run: Runner) -> None:
        self._run = run
        self._turn = threading.Lock()
        self._pieces: list[bytes] = []
        self._digest = ""

    @property
    def routes(self) -> Routes:
        """What is answered here."""
        return {
            ("GET", "/_redrive/assets/{id}"): self._show,
            ("POST", "/_redrive/assets/{id}"): self._bring,
        }

    def _show(self, request: HttpRequest) -> HttpResponse:
        digest = read_id(request)
        asset = self._run(lambda tx: find_asset(tx, digest))
        if asset is None:
            raise Missing(f"There is no asset {digest}.", next_step=f"Bring it: POST {request.path}")
        return json_response(200, {"digest": asset.digest, "size_bytes": asset.size_bytes})

    def _bring(self, request: HttpRequest) -> HttpResponse:
        digest = read_id(request)
        query = read_query(request, "piece", "pieces")
        pieces = read_count(query, "pieces", default=1, count_max=PIECES_MAX)
        piece = read_count(query, "piece", default=1, count_max=pieces)
        content = self._whole(digest, piece, pieces, request.body)
        if content is None:
            return json_response(200, {"digest": digest, "pieces": piece})
        if hashlib.sha256(content).hexdigest() != digest:
            raise UserError(f"The body is not what has the SHA-256 digest {digest}.", next_step=USAGE)
        asset = self._run(lambda tx: keep_asset(tx, content))
        return json_response(200, {"digest": asset.digest, "size_bytes": asset.size_bytes})

    def _whole(self, digest: str, piece: int, pieces: int, body: bytes) -> bytes | None:
        """The asset, once its last piece is there. Errors: UserError."""
        if pieces == 1:
            return body
        with self._turn:
            if piece == 1:
                self._digest, self._pieces = digest, []
            if digest != self._digest or piece != len(self._pieces) + 1:
                raise UserError(f"Piece {piece} of {digest} does not follow the one before it.", next_step=USAGE)
            self._pieces.append(body)
            if sum(map(len, self._pieces)) > UNZIPPED_BYTES_MAX:
                self._pieces = []
                raise UserError(f"The asset is larger than {UNZIPPED_BYTES_MAX} bytes.", next_step=USAGE)
            if piece < pieces:
                return None
            content, self._pieces = b"".join(self._pieces), []
            return content
