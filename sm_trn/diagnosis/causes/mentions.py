"""Lines that speak of a failure and report none: code, comments, questions, advice, lists and quotations."""

from __future__ import annotations

import ast
import re
import warnings

_LONGEST = 400  # characters of a line of code
_REMARK = re.compile(  # a comment, a docstring, a command, a row of a table, an item of a list or of a difference
    r"\s{0,40}(?:#(?![\d ]?\d)|//|/\*|<!--|\$ |\"\"\"|'''|\||(?:TODO|FIXME)\b|[-*+] {1,8}\S)"
)
_OTHER_CODE = re.compile(  # of a shell, of C, of YAML; names and texts in a list
    r"\s{0,40}(?:[\w.]{1,80},$|[fF][rR]?[\"']"
    r"|(?:if|elif|while|for|catch|throw|case|switch|function|try)\b.{0,380}[{;]|[\w-]{1,80}: \[[^\]]{0,380}\]$)"
)
_FOUND = re.compile(r"[\w./-]{1,200}\.[a-z]{1,5}:\d{1,6}:(?= )")  # what grep writes in front of a line
_ASKS = re.compile(
    r"(?i:how|is|are|what|why|can|do|does|should|where|which|has|have)\b[^:]{0,400}\?|(?:I|I'm|I've|My|Hi|Hello)\b[ ,]"
)
_PRINTED = re.compile(r"\b[A-Z]\w{0,80}(?:Error|Exception): ")  # a question may hold the error itself
_ADVISES = re.compile(r"(?:If|When|Whenever|In case|To avoid|See|Note|Consider|We recommend|You (?:can|should|may))\b")
_DEFINES = re.compile(
    r"(?:[Ee]xit (?:code|status)|[Ss]ignal|SIG[A-Z]{3,4})\b.{0,24} (?:is what|means|indicates|usually|often|typically)\b"
)
_LISTS = re.compile(r"[^:]{0,60}: (?:[A-Za-z_.]{1,80}, ){1,40}(?:and |or )?[A-Za-z_.]{1,80}$")
_STATEMENTS = (
    ast.Raise, ast.Try, ast.If, ast.For, ast.While, ast.With, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Return,
)  # fmt: skip


def only_mentions(line: str) -> bool:
    """Whether a line that is no exception only speaks of failures.

    >>> only_mentions("# TODO: catch CUDA out of memory"), only_mentions("CUDA error: out of memory")
    (True, False)
    """
    text = line[: _LONGEST + 1]
    found = _FOUND.match(text)
    said = text[found.end() :] if found is not None else text
    asks = said.rstrip().endswith("?") or _ASKS.match(said) is not None
    if _REMARK.match(said) is not None or (asks and _PRINTED.search(said) is None):
        return True
    prose = any(each.match(said) is not None for each in (_ADVISES, _DEFINES, _LISTS))
    return prose or _OTHER_CODE.match(said) is not None or _is_code(said.strip())


def _is_code(text: str) -> bool:
    """Whether Python reads the text as a statement that a message is not: no name, no number, no printed exception."""
    if len(text) > _LONGEST or not text.isprintable():
        return False
    for program in (text, f"{text}\n pass", f"try:\n pass\n{text}\n pass", f"def f():\n {text}"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (*_, node) = ast.parse(program).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return _acts(node.body[0] if isinstance(node, ast.FunctionDef) and program.startswith("def f():\n ") else node)
    return False


def _acts(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return not ast.unparse(node.value.func).endswith(("Error", "Exception"))
    if isinstance(node, ast.Assign):
        return any(isinstance(each, ast.Call) for each in ast.walk(node.value))
    return isinstance(node, _STATEMENTS)


def without_quotation(text: str) -> str:
    """A text without the lines that it quotes as a letter does, with ``>``; one that quotes everything stays."""
    lines = text.splitlines()
    own = [line for line in lines if not line.startswith(">")]
    return "\n".join(own) if any(line.strip() for line in own) else text
