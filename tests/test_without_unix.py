"""Where there is no Unix: everything but the emulator works, and the emulator says what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What Python's documentation marks "Unix" and Windows has not: https://docs.python.org/3/library/os.html
PROGRAM = """
import importlib.abc, os, sys

BLOCKED = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"}

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"no {name} here")

for name in BLOCKED:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocked())
for name in ("fork", "setsid", "getuid", "geteuid", "killpg", "mkfifo", "getpgid", "getpgrp"):
    if hasattr(os, name):
        delattr(os, name)

import sm_trn as st
from sm_trn.cli.__main__ import cli

job = st.JobSpec(
    name="bert", script=st.Script("train_text_classification.py"), framework=st.NeuronX("2.9.0"),
    compute=st.Compute("ml.trn1.32xlarge"), distribution=st.TorchDistributed(),
)
assert not [problem for problem in st.check(job) if problem.severity is st.Severity.ERROR]
assert st.render(job)["TrainingJobName"]
st.compare(["published/bert-p4d", "published/bert-trn1"]).save("report")
os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="us-west-2")
session = st.connect("aws", role="arn:aws:iam::111122223333:role/training", bucket="a-bucket")
print(session.announcement)
with open("job.toml", "w", encoding="utf-8") as file:
    file.write(st.dump_job(job, "toml"))
try:
    cli(["check", "job.toml"])
except SystemExit as ended:
    assert not ended.code
try:
    st.connect("emulator", state="state")
except st.errors.EmulatorError as error:
    print(error)
"""


def test_all_but_the_emulator_works_without_unix_modules(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
    )
    assert 0 == done.returncode, done.stderr
    assert "AWS, us-west-2" in done.stdout
    assert "The emulator needs Linux, macOS or WSL" in done.stdout
    assert (tmp_path / "report" / "report.html").exists()
