"""Recognition of secrets by their name or their form. It must not know where it was found.

Forms: each service's page about its tokens, and GitHub's list of secrets that it scans for
(https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns).
"""

from __future__ import annotations

import itertools
import re
from typing import Final

_NAME: Final = re.compile(
    r"(^|_)(secrets?|passwords?|passwd|passphrase|pwd|credentials?|(api|access|private|secret|auth|account|signing|ssh)_?key"
    r"|(hf|hub|auth|access|api|session|refresh|bearer|github|gitlab|slack|bot|wandb|hugging_?face(_hub)?)_?token)(_|$)"
)
_PASS: Final = re.compile(r"(^|_)pass$")
_REFERENCE: Final = re.compile(
    r"_(name|arn|id|path|file|dir|uri|url|column|field|version|length|len|size|count|ttl)s?$"
)
# Tokens of a vocabulary, a program's switches and places are no secrets, whatever they are called.
_VOCABULARY: Final = frozenset({
    "pad", "padding", "eos", "bos", "unk", "sep", "cls", "mask", "special", "start", "end", "stop", "begin", "image", "audio", "video",
    "prompt", "per", "by", "next", "first", "last", "new", "add", "no", "each",
})  # fmt: skip
_PLAIN: Final = re.compile(
    r"(?i)true|false|none|null|yes|no|(s3|file|https?)://[^@\s]*|arn:aws.*|/[\w./-]*|\{\{.*\}\}|\$\{?\w+\}?|<[^>]*>"
    r"|YOUR-[A-Z0-9-]+|os\.(environ|getenv)\b.*"  # a placeholder, and code that asks for it
)
_NUMBER: Final = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")
_RANDOM: Final = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{16,}")
_FORM: Final = re.compile(
    "|".join(
        (
            r"(?<![A-Za-z0-9_])(?:hf_|api_org_)[A-Za-z0-9]{20,}",  # Hugging Face
            r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])",  # AWS
            r"wJalrXUtnFEMI/[A-Za-z0-9/+]{26}",  # AWS's own example of a secret key, which is less random than others
            r"(?:FwoGZXIvYXdz|IQoJb3JpZ2luX2Vj)[A-Za-z0-9/+=]{40,}",  # session tokens of AWS
            r"(?<![A-Za-z0-9_])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
            r"(?<![A-Za-z0-9_-])gl(?:pat|dt|rt|ptt|oas|soat|cbt)-[A-Za-z0-9_.-]{20,}",  # GitLab
            r"(?<![A-Za-z0-9_-])xox[a-z]-[A-Za-z0-9-]{10,}",  # Slack
            r"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}",  # OpenAI and Anthropic
            r"(?<![A-Za-z0-9_-])AIza[0-9A-Za-z_-]{35}",  # Google
            r"(?<![A-Za-z0-9_])(?:wandb_v\d_[A-Za-z0-9_]{20,}|npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_-]{50,})",
            r"(?<![A-Za-z0-9_-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",  # JSON Web Tokens
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)",  # user and password of a URL
            r"(?i:(?<=bearer )[\w.~+/=-]{16,})",
        )
    ),
    re.DOTALL,
)
_WANDB: Final = re.compile(r"(?i)(wandb.{0,40}?)(?<![0-9a-z])[0-9a-f]{40}(?![0-9a-z])", re.DOTALL)
_GIVEN: Final = re.compile(
    r"""(?P<head>(?P<name>[A-Za-z][\w-]*)(?:\\?["'])?(?:\s*[=:]\s*|(?<=\w)\s+)(?:\\?["'])?)(?P<value>[^\s"',;&\\]+)"""
)
_FORTY: Final = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_SHORTEST: Final = 16  # characters of a form
_CHANGES = 17  # from a letter to a digit, from small to capital: of 40 random characters about 25, of a path fewer


def is_named_secret(name: str, value: str) -> bool:
    """Return True if a value under this name is a secret. A number of tokens, a path and the name of a secret are none.

    >>> is_named_secret("WANDB_API_KEY", "x"), is_named_secret("max_tokens", "4096"), is_named_secret("secret_name", "prod/db")
    (True, False, False)
    """
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(".", "_")
    content = value.strip("\"' ")
    if not content or _PLAIN.fullmatch(content) or _REFERENCE.search(word):
        return False
    if _NAME.search(word):
        return True
    if _PASS.search(word):
        return not _NUMBER.fullmatch(content)
    if "wandb" in word and re.fullmatch("[0-9a-f]{40}", content):
        return True
    *before, last = word.split("_")
    return last == "token" and (not before or before[-1] not in _VOCABULARY) and _RANDOM.fullmatch(content) is not None


def without_secrets(text: str, mark: str) -> str:
    """The text with ``mark`` for each secret in it.

    >>> without_secrets("--hub_token hf_abcdefghijklmnopqrstuvwxyz --epochs 3", "…")
    '--hub_token … --epochs 3'
    """
    text = _WANDB.sub(rf"\1{mark}", _FORM.sub(mark, text))
    text = _FORTY.sub(lambda found: mark if _is_random(found[0]) else found[0], text)
    return _GIVEN.sub(lambda found: found["head"] + (mark if _is_given(found) else found["value"]), text)


def holds_secret(text: str) -> bool:
    """Return True if ``without_secrets`` would change the text."""
    may = len(text) >= _SHORTEST or "=" in text or ":" in text or " " in text
    return may and without_secrets(text, "") != text


def _is_given(found: re.Match[str]) -> bool:
    """Return True if a text gives a secret as ``name=value``, ``name: value`` or ``--name value``."""
    option = "=" in found["head"] or ":" in found["head"] or found.string[: found.start()].endswith("--")
    return option and is_named_secret(found["name"], found["value"])


def _is_random(text: str) -> bool:
    """Return True if 40 characters are an AWS secret key: digits and letters of both sizes, in no order."""
    kinds = [1 if c.islower() else 2 if c.isupper() else 3 if c.isdigit() else 4 for c in text]
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    return {1, 2, 3} <= set(kinds) and changes >= _CHANGES
