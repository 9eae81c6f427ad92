# SPDX-License-Identifier: BSD-3-Clause
"""Text for messages: counts, lists of names, suggestions for a misspelled name, masked passwords, visible controls."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any

# Passwords in an address such as postgresql://user:secret@host/db (or in a path, which has one slash), in
# password=secret with or without quotes (which a repr escapes), and in parameters such as ?token=secret.
PASSWORD = re.compile(
    r"(:/{1,2}[^\s:/@'\"]*:)\S+(?=@)"
    r"|(\b\w*(?:password|passwd|pwd)\s*=\s*)(?:\\'[^']*'|'(?:\\.|[^'\\])*'|[^\s&'\"]+)"
    r"|([?&]\w*(?:token|secret|sig|signature|key|credential)=)[^\s&'\"]+",
    re.IGNORECASE,
)

# Control characters (C0, DEL, C1), marks of direction and of invisible text, line separators, and lone surrogates.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End of an error message about an unknown name: the closest known names, or the first ten.

    >>> did_you_mean("agee", ["age", "size"]), did_you_mean("x", ["size"])
    (" Did you mean 'age'?", " There is only 'size'.")
    """
    options = list(known)
    if not options:
        return " There are none."
    by_fold = {option.casefold(): option for option in options}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=3)
    if near:
        return f" Did you mean {' or '.join(repr(by_fold[option]) for option in near)}?"
    more = len(options) - 10
    there = "There is only" if len(options) == 1 else "There are"
    return f" {there} {', '.join(map(repr, options[:10]))}{f' and {more} more' if more > 0 else ''}."


def masked(text: str, address: str = "") -> str:
    """Replace passwords of connection strings in a message, and parts of the password of ``address``, by three stars.

    >>> masked("postgresql://me:secret@host/db and host=h password=secret")
    'postgresql://me:***@host/db and host=h password=***'
    >>> masked("https://host/t.csv?token=secret&sslPassword=secret and password = 'two words' x")
    'https://host/t.csv?token=***&sslPassword=*** and password = *** x'
    >>> masked("invalid token: se%cret", "postgresql://me:se%cret@host/db")
    'invalid token: ***'
    """
    found = [address[match.end(match.lastindex or 0) : match.end()].strip("'") for match in PASSWORD.finditer(address)]
    parts = {part for password in found for part in (password, *password.split("@")) if len(part) > 2}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, "***")
    return PASSWORD.sub(lambda found: f"{found[found.lastindex or 0]}***", text)


def option(name: str, value: object) -> str:
    """Write an option of the command line so that a shell reads its value as one word.

    >>> option("--drop", "income"), option("--types", "status code=categorical")
    ('--drop income', "--types 'status code=categorical'")
    """
    return f"{name} {quote(str(value))}"


def type_setting(column: str, kind: str) -> str:
    """Argument of Python, and option of the command line, that set the type of a column.

    >>> type_setting("zip", "categorical")
    "types={'zip': 'categorical'} (--types zip=categorical)"
    """
    return f"types={{{column!r}: {kind!r}}} ({option('--types', f'{column}={kind}')})"


def counted(n: float, noun: str) -> str:
    """Format a count with its noun.

    >>> counted(1, "row"), counted(32_561, "row"), counted(3, "class")
    ('1 row', '32,561 rows', '3 classes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,.0f} {noun if n == 1 else plural}"


def listed(labels: list[Any]) -> str:
    """List at most eight labels."""
    return ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")


def enumerated(names: Sequence[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``."""
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def first_few(names: Sequence[str], most: int = 5) -> str:
    """List the first names: ``a, b, c and 57 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + f" and {more} more" if more > 1 else enumerated(names)


def columns_are(names: Sequence[str]) -> str:
    """Subject and verb of a message: ``Column 'a' is``, or ``Columns 'a' and 'b' are``."""
    shown = first_few(list(map(repr, names)), 8)
    return f"Column {shown} is" if len(names) == 1 else f"Columns {shown} are"


def decimals(value: float, form: str = ".4f") -> str:
    """Format a number with a fixed number of decimals, or with an exponent if it is huge. Zero has no sign.

    >>> decimals(0.25), decimals(1e300), decimals(-1e-9)
    ('0.2500', '1e+300', '0.0000')
    """
    return f"{value:z{form}}" if abs(value) < 1e7 else f"{value:.4g}"


def visible(text: str, *, keep: str = "") -> str:
    r"""Show unsafe characters, except those in ``keep``, as escapes; bytes of a name that is not UTF-8 as ``\xe9``.

    >>> visible("a\x1b[31mb\udce9\n")
    'a\\x1b[31mb\\xe9\\n'
    """
    return UNSAFE.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    byte = ord(character) - 0xDC00  # Python decodes a byte of a file name that is not UTF-8 as such a surrogate
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else repr(character)[1:-1]
