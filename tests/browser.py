"""A headless Chromium that a test asks about a page: by environment variables, since few machines have one.

``SM_TRN_CHROMIUM`` is the program, ``SM_TRN_AXE`` the path of axe-core's axe.min.js (npm install axe-core).
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

CHROMIUM, AXE = os.environ.get("SM_TRN_CHROMIUM", ""), os.environ.get("SM_TRN_AXE", "")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-prefers-reduced-motion")
DARK = "--blink-settings=preferredColorScheme=0"
_ANSWER = re.compile(r'<pre id="answer">(.*?)</pre>', re.DOTALL)


def missing() -> str:
    """What a test has to be skipped for; nothing when all is there."""
    wanted = {"SM_TRN_CHROMIUM": CHROMIUM, "SM_TRN_AXE": AXE}
    return ", ".join(f"{name} names no file" for name, path in wanted.items() if not Path(path or "-").is_file())


def ask(page: str, script: str, folder: Path, *, width: int = 1200, dark: bool = False) -> Any:
    """The JSON that ``script``, an async function's body, returns in the browser with ``page`` open."""
    run = (
        f"<script>(async () => {{ {script} }})().catch(error => ({{error: String(error)}})).then(found => {{"
        "const pre = document.createElement('pre'); pre.id = 'answer'; pre.textContent = JSON.stringify(found);"
        "document.body.append(pre) })</script>"
    )
    file = folder / "asked.html"
    file.write_text(page.replace("</body>", f"{run}</body>"), "utf-8")
    command = [
        CHROMIUM,
        *FLAGS,
        *([DARK] if dark else []),
        f"--window-size={width},2000",
        "--virtual-time-budget=20000",
    ]
    done = subprocess.run(
        [*command, f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    found = _ANSWER.search(done.stdout)
    assert found is not None, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


def violations(page: str, folder: Path, *, width: int = 1200, dark: bool = False) -> list[str]:
    """axe-core's serious and critical findings: rule, and where."""
    axe = Path(AXE).read_text("utf-8").replace("</script>", "<\\/script>")
    loaded = page.replace("</head>", f"<script>{axe}</script></head>")
    found = ask(loaded, "const r = await axe.run(document); return r.violations", folder, width=width, dark=dark)
    assert isinstance(found, list), found
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]} – {node.get('failureSummary', '')[:200]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"][:4]
    ]
