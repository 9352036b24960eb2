"""How soon the live page shows its jobs and a new log line, and what it holds: python tests/ui/bench_page.py [JOBS …]. Run on demand.

One job of the real emulator trains and prints the time; the others have ended. ``sm-trn ui`` runs as its own process, the browser
is ``SM_TRN_CHROMIUM``. Printed: first contentful paint and first rows after the navigation, seconds from a print in the script to
the line in the page (median and worst), resident memory of the server, and the page's heap.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

for folder in ("tests", "tests/ui"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))

from chromium import Tab, chromium  # noqa: E402 - after the path

import sm_trn as st  # noqa: E402 - as above
from sm_trn import emulator  # noqa: E402 - as above
from sm_trn.emulator import Options  # noqa: E402 - as above

TRAINS = """
import time
for step in range(100_000):
    print({"loss": 5 / (1 + step), "step": step, "sent": time.time()}, flush=True)
    time.sleep(0.5)
"""
SEEN = """
(() => {
  const look = () => {
    if (!window.rowsAt && document.querySelector('.rows .row')) window.rowsAt = performance.now();
    requestAnimationFrame(look);
  };
  look();
})()
"""
SENT = r"(/'sent': ([0-9.]+)/.exec(e.textContent) ?? [0, 0])[1]"
NEWEST = f"Math.max(0, ...[...document.querySelectorAll('.log li code')].map(e => Number({SENT})))"
LINES = 20


def spec(folder: Path) -> st.JobSpec:
    folder.mkdir()
    (folder / "train.py").write_text(TRAINS)
    return st.JobSpec(
        name="bench",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.8.0", python="py312"),
        compute=st.Compute("ml.c5.xlarge"),
        max_run_s=3600,
    )


def resident_mb(process: subprocess.Popen[str]) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    return int(found[1]) / 1000 if found else 0.0


def measure(jobs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        endpoint = emulator.up(folder / "state", options=Options(start_delay_s=0.05, max_jobs=1))
        process = None
        try:
            session = st.connect("emulator", state=endpoint.state)
            job = spec(folder / "source")
            trains = session.submit(job.replace(name="trains"))
            for start in range(0, jobs - 1, 50):
                count = min(50, jobs - 1 - start)
                made = session.submit_all([job.replace(name=f"ended-{start + n}") for n in range(count)])
                session.stop_all(made)  # they wait for the one that trains, and never start
            arguments = ("ui", "--backend", "emulator", "--state", str(endpoint.state))
            process = subprocess.Popen(
                [sys.executable, "-m", "sm_trn.cli", *arguments], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            with chromium(folder) as browser:
                tab = browser.tab()
                print(
                    f"{jobs} jobs: {read(tab, found[0], trains.name, jobs)}, server {resident_mb(process):.0f} MB",
                    flush=True,
                )
        finally:
            if process is not None:
                process.terminate()
                process.wait(20)
            emulator.down(endpoint.state)


def read(tab: Tab, url: str, job: str, jobs: int) -> str:
    """Both paints, the delays of some lines, and the heap."""
    tab.size(1200)
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=SEEN)
    tab.open(url)
    tab.until(f"window.rowsAt && document.querySelector('.sum').textContent.includes('{jobs} job')", 120)
    tab.reload()  # the list is known now: what a second tab sees
    tab.until("window.rowsAt")
    paint = tab.ask(
        "performance.getEntriesByType('paint').find(e => e.name === 'first-contentful-paint')?.startTime ?? 0"
    )
    rows = tab.ask("window.rowsAt")
    tab.ask(f"location.hash = '#/job/{job}'")
    tab.until(f"{NEWEST} > 0", 60)
    delays = []
    for _ in range(LINES):
        before = tab.ask(NEWEST)
        found = f"const t = {NEWEST}; if (t > {before}) return [t, Date.now() / 1000]"
        waits = f"for (;;) {{ {found}; await new Promise(r => setTimeout(r, 10)) }}"
        shown, at = tab.ask(f"(async () => {{ {waits} }})()")
        delays.append(at - shown)
    heap = tab.call("Runtime.getHeapUsage")["usedSize"]
    return (
        f"first paint {paint:.0f} ms, rows {rows:.0f} ms, line to page {statistics.median(delays):.2f} s "
        f"(worst {max(delays):.2f} s of {LINES}), page {heap / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for number in map(int, sys.argv[1:] or ("1", "50", "500")):
        measure(number)
