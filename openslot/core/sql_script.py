"""Split an SQL script into its statements, as psql does."""

import re

# A semicolon inside one of these does not end a statement.
PART = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\* )
  | (?P<quoted>
        [eE]'(?: [^'\\] | \\. | '' )*'
      | '(?: [^'] | '' )*'
      | "(?: [^"] | "" )*"
      | \$(?P<tag>(?: [^\W\d]\w* )?)\$ .*? \$(?P=tag)\$
    )
  | (?P<word> [^\W\d][\w$]* | \d[\w.]* | \$\d+ )
  | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
BLOCK_EDGE = re.compile(r"/\*|\*/")
UNENDED = {"'": "a string", '"': "a quoted name", "$": "a dollar quote"}


def split_statements(script: str) -> list[str]:
    """List the statements of a script without comments and without the semicolons between them."""
    statements, parts, word, depth, at = [], "", "", 0, 0
    while found := PART.match(script, at):
        text, at = found[0], found.end()
        if found["comment"]:
            text, at = " ", _end_of_block(script, found.start()) if text == "/*" else at
        elif found["word"]:
            word = _check_simple(word, text.lower())
        elif found["sign"]:
            _check_ended(script, found.start())
            depth += (text == "(") - (text == ")")
        if text == ";" and depth == 0:
            statements.append(parts)
            parts = ""
        else:
            parts += text
    return [kept for each in (*statements, parts) if (kept := each.strip())]


def _end_of_block(script: str, start: int) -> int:
    """Find where a block comment ends; comments can be nested."""
    depth, at = 1, start + 2
    while depth:
        edge = BLOCK_EDGE.search(script, at)
        if edge is None:
            raise ValueError(f"a comment that begins at character {start + 1} does not end")
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return at


def _check_ended(script: str, at: int) -> None:
    """Raise an error for a quote that is never closed; a closed one would have matched as a quoted part."""
    if script[at] in UNENDED:
        raise ValueError(f"{UNENDED[script[at]]} that begins at character {at + 1} does not end")


def _check_simple(before: str, word: str) -> str:
    """Raise an error for a body of several statements that is not quoted."""
    if (before, word) == ("begin", "atomic"):
        raise ValueError("a function's body must be quoted: `begin atomic` can't be split safely")
    return word
