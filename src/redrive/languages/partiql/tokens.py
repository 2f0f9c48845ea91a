"""The tokens of a PartiQL statement. Lexing takes linear time: no part of a text is matched twice.

Keywords are reserved: an attribute with such a name needs double quotation marks.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.data-types.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from redrive.languages.partiql.refusals import malformed

EXPONENT_MAX = 2**31 - 1
_EXPONENT_DIGITS_MAX = 10


class TokenKind(Enum):
    """The kinds of tokens."""

    KEYWORD = 1
    NAME = 2
    STRING = 3
    NUMBER = 4
    SYMBOL = 5
    PARAMETER = 6
    END = 7


class Token(NamedTuple):
    """A token. `text` is a keyword in capitals, a name or string without its quotation marks, or the text itself."""

    kind: TokenKind
    text: str
    start: int
    end: int


# Possessive quantifiers: a quotation mark or comment that is never closed fails at once.
TOKEN = re.compile(
    r"""
    (?P<blank>\s++|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)
    |(?P<string>'(?:[^']|'')*+')
    |(?P<quoted>"(?:[^"]|"")*+")
    |(?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE](?P<exponent>[+-]?[0-9]++))?)
    |(?P<word>[A-Za-z_$][A-Za-z0-9_$]*+)
    |(?P<parameter>\?)
    |(?P<symbol><<|>>|<>|!=|<=|>=|\|\||[-+*/%=<>(){}\[\],.:;@])
    """,
    re.VERBOSE,
)

# The reserved words of SQL-92, and those that PartiQL adds.
# Source: https://partiql.org/assets/PartiQL-Specification.pdf, and SQL-92 (ISO 9075:1992), section 5.2.
KEYWORDS = frozenset(
    """
    ABSOLUTE ACTION ADD ALL ALLOCATE ALTER AND ANY ARE AS ASC ASSERTION AT AUTHORIZATION AVG BAG BEGIN BETWEEN BIT
    BIT_LENGTH BLOB BOOL BOOLEAN BY CASCADE CASCADED CASE CAST CATALOG CHAR CHARACTER CHARACTER_LENGTH CHAR_LENGTH CHECK
    CLOB CLOSE COALESCE COLLATE COLLATION COLUMN COMMIT CONNECT CONNECTION CONSTRAINT CONSTRAINTS CONTINUE CONVERT
    CORRESPONDING COUNT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATE
    DEALLOCATE DEC DECIMAL DECLARE DEFAULT DEFERRABLE DEFERRED DELETE DESC DESCRIBE DESCRIPTOR DIAGNOSTICS DISCONNECT
    DISTINCT DOMAIN DOUBLE DROP ELSE END ESCAPE EXCEPT EXCEPTION EXEC EXECUTE EXISTS EXTERNAL EXTRACT FALSE FETCH FIRST
    FLOAT FOR FOREIGN FOUND FROM FULL GET GLOBAL GO GOTO GRANT GROUP HAVING IDENTITY IMMEDIATE IN INDEX INDICATOR
    INITIALLY INNER INPUT INSENSITIVE INSERT INT INTEGER INTERSECT INTERVAL INTO IS ISOLATION JOIN KEY LANGUAGE LAST
    LEFT LET LEVEL LIKE LIMIT LIST LOCAL LOWER MATCH MAX MIN MISSING MODULE NAMES NATIONAL NATURAL NCHAR NEXT NO NOT
    NULL NULLIF NUMERIC OCTET_LENGTH OF ON ONLY OPEN OPTION OR ORDER OUTER OUTPUT OVERLAPS PAD PARTIAL PIVOT POSITION
    PRECISION PREPARE PRESERVE PRIMARY PRIOR PRIVILEGES PROCEDURE PUBLIC READ REAL REFERENCES RELATIVE REMOVE RESTRICT
    REVOKE RIGHT ROLLBACK ROWS SCHEMA SCROLL SECTION SELECT SESSION SESSION_USER SET SEXP SIZE SMALLINT SOME SPACE SQL
    SQLCODE SQLERROR SQLSTATE STRING STRUCT SUBSTRING SUM SYMBOL SYSTEM_USER TABLE TEMPORARY THEN TIME TIMESTAMP TO
    TRANSACTION TRANSLATE TRANSLATION TRIM TRUE TUPLE UNION UNIQUE UNKNOWN UNPIVOT UPDATE UPPER USAGE USER USING VALUE
    VALUES VARCHAR VARYING VIEW WHEN WHENEVER WHERE WITH WORK WRITE ZONE
    """.split()
)

_KINDS: Mapping[str, TokenKind] = {
    "string": TokenKind.STRING,
    "quoted": TokenKind.NAME,
    "number": TokenKind.NUMBER,
    "word": TokenKind.NAME,
    "parameter": TokenKind.PARAMETER,
    "symbol": TokenKind.SYMBOL,
}


def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a statement; the last is END.

    Errors: ValidationException for a character that begins no token, a quotation mark or comment that is not closed,
    and an exponent of more than 32 bits.
    """
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None or (text.startswith("/*", place) and found.lastgroup != "blank"):
            raise malformed("")
        if found.lastgroup != "blank":
            tokens.append(_token(found))
        place = found.end()
    tokens.append(Token(TokenKind.END, "", place, place))
    return tuple(tokens)


def place_of(text: str, token: Token) -> str:
    """Where a token is, as AWS tells it: line, column (both from 1) and length."""
    line_start = text.rfind("\n", 0, token.start) + 1
    line = text.count("\n", 0, token.start) + 1
    return f"{line}:{token.start - line_start + 1}:{token.end - token.start}"


def _token(found: re.Match[str]) -> Token:
    name = "number" if found["number"] is not None else str(found.lastgroup)
    text = found[name]
    kind = _KINDS[name]
    match name:
        case "string":
            text = text[1:-1].replace("''", "'")
        case "quoted":
            text = text[1:-1].replace('""', '"')
        case "number":
            _check_exponent(found["exponent"])
        case "word" if text.upper() in KEYWORDS:
            kind, text = TokenKind.KEYWORD, text.upper()
    return Token(kind, text, found.start(), found.end())


def _check_exponent(exponent: str | None) -> None:
    digits = (exponent or "0").lstrip("+-").lstrip("0")
    if len(digits) > _EXPONENT_DIGITS_MAX or int(digits or "0") > EXPONENT_MAX:
        raise malformed("")
