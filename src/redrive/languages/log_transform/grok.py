"""Grok patterns: `%{IP:client} %{WORD:method}`. What stands between them is meant as it is; all of a text has to match.

The meaning of each name is that of AWS's table of supported patterns, in expressions of our own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from redrive.languages.log_transform.documents import MalformedTransformer
from redrive.languages.matching import CAPTURES, Capturing, MalformedPattern
from redrive.languages.matching.syntax import parse_regex

PATTERNS_MAX = 20
PLACES_MAX = 20_000
"""How large an expression may become, counted out; AWS's limit of 20 patterns is met first by nearly all."""

_PATTERN = re.compile(r"%\{(\w+)(?::([^{}]+))?\}", re.ASCII)
_OPEN = re.compile(r"%\{")

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_HEX4 = r"[0-9A-Fa-f]{1,4}"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_IPV6 = (
    rf"(?:(?:{_HEX4}:){{7}}{_HEX4}|(?:{_HEX4}:){{1,7}}:|(?:{_HEX4}:){{1,6}}(?::{_HEX4}){{1,6}}"
    rf"|:(?::{_HEX4}){{1,7}}|::|::(?:[fF]{{4}}:)?{_IPV4}|(?:{_HEX4}:){{6}}{_IPV4})(?:%\w+)?"
)
_HOST = r"[0-9A-Za-z][0-9A-Za-z-]{0,62}(?:\.[0-9A-Za-z][0-9A-Za-z-]{0,62})*\.?"
_IPORHOST = rf"(?:{_IPV6}|{_IPV4}|{_HOST})"
_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)"
_UNIXPATH = r"(?:/[\w_%!$@:.,+~?&=#;*-]*)+"
_WINPATH = r"(?:[A-Za-z]+:|\\)(?:\\[^\\?*\n]*)+"
_URIPROTO = r"[A-Za-z](?:[A-Za-z0-9+.-])*"
_URIPATH = r"(?:/[A-Za-z0-9$.+!*'(){},~:;=@#%&_-]*)+"
_URIPARAM = r"\?[A-Za-z0-9$.+!*'|(){},~@#%&/=:;_?\[\]<>-]*"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:tember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = r"(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)"
_MONTHNUM, _MONTHDAY, _YEAR = r"(?:0?[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01]|[1-9])", r"(?:\d\d){1,2}"
_HOUR, _MINUTE, _SECOND = r"(?:2[0-3]|[01]?\d)", r"[0-5]\d", r"(?:[0-5]?\d|60)(?:[:.,]\d+)?"
_TIME = rf"{_HOUR}:{_MINUTE}(?::{_SECOND})?"
_DATE_US, _DATE_EU = rf"{_MONTHNUM}[/-]{_MONTHDAY}[/-]{_YEAR}", rf"{_MONTHDAY}[./-]{_MONTHNUM}[./-]{_YEAR}"
_ZONE = rf"(?:Z|[+-]{_HOUR}:?{_MINUTE})"
_ISO8601 = rf"{_YEAR}-{_MONTHNUM}-{_MONTHDAY}[T ]{_HOUR}:?{_MINUTE}(?::?{_SECOND})?{_ZONE}?"
_HTTPDATE = rf"{_MONTHDAY}/{_MONTH}/{_YEAR}:{_TIME} [+-]?\d+"
_SYSLOGTIMESTAMP = rf"{_MONTH} +{_MONTHDAY} {_TIME}"
_TZ = r"(?:[APMCE][SD]T|UTC|GMT)"
_LOGLEVEL = (
    r"(?:[Aa]lert|ALERT|[Tt]race|TRACE|[Dd]ebug|DEBUG|[Nn]otice|NOTICE|[Ii]nfo(?:rmation)?|INFO(?:RMATION)?"
    r"|[Ww]arn(?:ing)?|WARN(?:ING)?|[Ee]rr(?:or)?|ERR(?:OR)?|[Cc]rit(?:ical)?|CRIT(?:ICAL)?|[Ff]atal|FATAL"
    r"|[Ss]evere|SEVERE|[Ee]merg(?:ency)?|EMERG(?:ENCY)?)"
)
_PATTERNS = {
    "USERNAME": r"[A-Za-z0-9._-]+", "USER": r"[A-Za-z0-9._-]+", "INT": r"[+-]?\d+", "BASE10NUM": _NUMBER,
    "NUMBER": _NUMBER, "BASE16NUM": r"[+-]?(?:0x)?[0-9A-Fa-f]+", "POSINT": r"[1-9]\d*", "NONNEGINT": r"\d+",
    "WORD": r"\w+", "NOTSPACE": r"\S+", "SPACE": r"\s*", "DATA": r".*?", "GREEDYDATA": r".*",
    "GREEDYDATA_MULTILINE": r"(?:.|\n)*",
    "UUID": r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}",
    "URN": r"urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:[A-Za-z0-9()+,.:=@;$_!*'/?#%-]+",
    "ARN": r"arn:aws(?:-cn|-us-gov)?:[^:\s]+:[^:\s]+:\d+:[^:/\s]+(?:[:/][^:/\s]+){0,4}",
    "CISCOMAC": r"(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}", "WINDOWSMAC": r"(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}",
    "COMMONMAC": r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}",
    "MAC": r"(?:(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}|(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2})",
    "IPV4": _IPV4, "IPV6": _IPV6, "IP": rf"(?:{_IPV6}|{_IPV4})", "HOSTNAME": _HOST, "HOST": _HOST,
    "IPORHOST": _IPORHOST, "HOSTPORT": rf"{_IPORHOST}:[1-9]\d*", "URIHOST": rf"{_IPORHOST}(?::[1-9]\d*)?",
    "UNIXPATH": _UNIXPATH, "WINPATH": _WINPATH, "PATH": rf"(?:{_UNIXPATH}|{_WINPATH})",
    "TTY": r"/dev/(?:pts|tty(?:[pq])?)(?:\w+)?/?(?:\d+)?", "URIPROTO": _URIPROTO, "URIPATH": _URIPATH,
    "URIPARAM": _URIPARAM, "URIPATHPARAM": rf"{_URIPATH}(?:{_URIPARAM})?",
    "URI": rf"{_URIPROTO}://(?:[A-Za-z0-9._-]+(?::[^@\s]*)?@)?{_IPORHOST}(?::[1-9]\d*)?(?:{_URIPATH}(?:{_URIPARAM})?)?",
    "MONTH": _MONTH, "MONTHNUM": _MONTHNUM, "MONTHNUM2": r"(?:0[1-9]|1[0-2])", "MONTHDAY": _MONTHDAY, "DAY": _DAY,
    "YEAR": _YEAR, "HOUR": _HOUR, "MINUTE": _MINUTE, "SECOND": _SECOND, "TIME": _TIME, "DATE_US": _DATE_US,
    "DATE_EU": _DATE_EU, "DATE": rf"(?:{_DATE_US}|{_DATE_EU})", "ISO8601_TIMEZONE": _ZONE, "ISO8601_SECOND": _SECOND,
    "TIMESTAMP_ISO8601": _ISO8601, "DATESTAMP": rf"(?:{_DATE_US}|{_DATE_EU})[- ]{_TIME}", "TZ": _TZ,
    "DATESTAMP_RFC822": rf"{_DAY} {_MONTH} {_MONTHDAY} {_YEAR} {_TIME} {_TZ}",
    "DATESTAMP_RFC2822": rf"{_DAY}, {_MONTHDAY} {_MONTH} {_YEAR} {_TIME} {_ZONE}",
    "DATESTAMP_OTHER": rf"{_DAY} {_MONTH} {_MONTHDAY} {_TIME} {_TZ} {_YEAR}",
    "DATESTAMP_EVENTLOG": r"\d{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d",
    "HTTPDATE": _HTTPDATE, "SYSLOGTIMESTAMP": _SYSLOGTIMESTAMP, "PROG": r"[!-Z\\^-~]+", "LOGLEVEL": _LOGLEVEL,
    "SYSLOGHOST": _IPORHOST, "SYSLOGFACILITY": r"<\d+\.\d+>",
}  # fmt: skip

_QUOTED = ("QUOTEDSTRING", "QS")
_QUOTED_TEXT = r'(?:"(?:\\.|[^\\"])*"|' + r"'(?:\\.|[^\\'])*')"

_LINES = ("APACHE_ACCESS_LOG", "NGINX_ACCESS_LOG", "SYSLOG5424")
"""Whole lines, which give fields with names, numbers and instants of their own on AWS: refused by name."""


@dataclass(frozen=True, slots=True)
class GrokPattern:
    """A compiled pattern. `fields` names what it captures, in order."""

    fields: tuple[str, ...]
    _quoted: frozenset[int]
    _capturing: Capturing

    def values(self, text: str) -> list[str | None] | None:
        """What the fields are in a text; None if it does not match."""
        found = self._capturing.groups(text)
        if found is None:
            return None
        return [
            value[1:-1] if number in self._quoted and value is not None else value for number, value in enumerate(found)
        ]


def compile_grok(text: str) -> GrokPattern:
    """The pattern of a text. Errors: MalformedTransformer."""
    names: list[str] = []
    quoted: set[int] = set()
    parts: list[str] = []
    at = 0
    for match in _PATTERN.finditer(text):
        parts.append(_literal(text[at : match.start()]))
        expression = _QUOTED_TEXT if match[1] in _QUOTED else _PATTERNS.get(match[1])
        if match[1] in _LINES:
            raise MalformedTransformer(f"redrive has no %{{{match[1]}}}: name the fields of the line one by one")
        if expression is None:
            raise MalformedTransformer(f"grok.match has %{{{match[1]}}}, which is none of the supported patterns")
        if match[2] is None:
            parts.append(f"(?:{expression})")
        else:
            quoted |= {len(names)} if match[1] in _QUOTED else set()
            parts.append(f"(?<g{len(names)}>{expression})")
            names.append(match[2])
        at = match.end()
    parts.append(_literal(text[at:]))
    if len(_PATTERN.findall(text)) > PATTERNS_MAX:
        raise MalformedTransformer(f"grok.match has more than {PATTERNS_MAX} patterns")
    if not names:
        raise MalformedTransformer("grok.match gives no pattern a name, so nothing would be found")
    try:
        tree = parse_regex(f"^{''.join(parts)}$", CAPTURES)
        return GrokPattern(tuple(names), frozenset(quoted), Capturing(tree, PLACES_MAX))
    except MalformedPattern as error:
        raise MalformedTransformer(f"grok.match cannot be read: {error}") from error


def _literal(text: str) -> str:
    if _OPEN.search(text):
        raise MalformedTransformer(f"grok.match has a pattern that is not %{{NAME}} or %{{NAME:field}}: {text}")
    return re.sub(r"([^A-Za-z0-9_ \t])", r"\\\1", text)
