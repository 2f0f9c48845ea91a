"""Web sites of a simulation, which API destinations call: plain callables, run at the instant of their event."""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.documents import Document, load_json
from redrive.delivery.outside.http_call import HttpCall, HttpEnding, HttpResult
from redrive.sim.weather import Hazard, Weather

Site = Callable[[Document], None]
"""Takes the body of a request."""

NO_ANSWER = HttpResult(HttpEnding.TIMED_OUT, error="The site did not answer in time.")
THROTTLED = HttpResult(HttpEnding.ANSWERED, status=429)
BROKEN = HttpResult(HttpEnding.ANSWERED, status=503)


class Sites:
    """An HttpCaller whose sites are callables by URL."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather
        self._sites: dict[str, Site] = {}

    def register(self, url: str, site: Site) -> None:
        """Register a callable as the site at this URL."""
        self._sites[url] = site

    def call(self, call: HttpCall) -> HttpResult:
        """Call the site now. A busy site refuses, and a broken one fails, before it has read the request."""
        if self._weather.strikes(Hazard.THROTTLED):
            return THROTTLED
        if self._weather.strikes(Hazard.FLAKY):
            return BROKEN
        self._sites[call.url](load_json(call.body))
        return HttpResult(HttpEnding.ANSWERED, status=200)
