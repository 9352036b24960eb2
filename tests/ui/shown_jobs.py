"""Jobs of a simulated account that show everything a page can show, and foreign text that would like to be markup."""

from __future__ import annotations

import math
from typing import Any

from fakes.simulated_sagemaker import Service, SimulatedJob, Story

MARKUP = "<img src=x onerror=\"window.hacked='{0}'\"><script>window.hacked='{0}'</script>"
METRIC = "<img src=x onerror=window.hacked=1>"
URL = "javascript:window.hacked='link'"
TRAINS = (("Starting", 90.0), ("Downloading", 50.0), ("Training", 2400.0), ("Uploading", 20.0))


def lines_of(steps: int, *, hosts: int = 1) -> dict[str, tuple[tuple[float, str], ...]]:
    """What a Trainer prints, every 4 seconds."""
    said = [
        {
            "loss": round(6 / (1 + n / 60), 4),
            "learning_rate": 3e-5 * (1 - n / steps),
            "steps_per_second": 6.6 + n % 3 / 10,
            "step": 10 * n,
        }
        for n in range(steps)
    ]
    return {
        f"algo-{host}": tuple((150 + 4.0 * n, str(one)) for n, one in enumerate(said)) for host in range(1, hosts + 1)
    }


def add(service: Service, name: str, age_s: float, story: Story, **request: Any) -> SimulatedJob:
    """A job that was created ``age_s`` ago; ``request`` is added to its describe answer."""
    job = service.add(name, created=service.clock.now() - age_s, story=story)
    job.request = {
        **job.request,
        "HyperParameters": {"learning_rate": "3e-5", "sagemaker_program": '"train.py"'},
        **request,
    }
    return job


def a_few(service: Service) -> None:
    """One of each kind: running, spot and interrupted, failed with its traceback, completed, starting, a diverged one."""
    interrupted = (
        ("Starting", 90.0),
        ("Downloading", 50.0),
        ("Training", 600.0),
        ("Interrupted", 900.0),
        ("Training", 2000.0),
    )
    failed = lines_of(20)["algo-1"]
    where = '  File "train.py", line 21, in <module>'
    trace = ("Traceback (most recent call last):", where, "ValueError: label 7 out of range for 2 classes")
    nan = tuple((150 + 4.0 * n, str({"loss": 2.0 if n < 30 else math.nan, "step": n})) for n in range(60))
    add(service, "bert-trains", 900, Story(phases=TRAINS, lines=lines_of(500, hosts=2)))
    add(service, "bert-spot", 1200, Story(phases=interrupted, lines=lines_of(200)), EnableManagedSpotTraining=True)
    ended = Story(
        phases=(("Starting", 90.0), ("Downloading", 50.0), ("Training", 120.0)),
        outcome="Failed",
        reason="AlgorithmError: ExecuteUserScriptError",
        lines={"algo-1": (*failed, *((235.0, text) for text in trace))},
    )
    add(service, "bert-fails", 700, ended)
    done = (("Starting", 90.0), ("Downloading", 50.0), ("Training", 800.0), ("Uploading", 20.0))
    for number in (1, 2):
        job = add(service, f"bert-done-{number}", 86_000.0 * number, Story(phases=done, lines=lines_of(190)))
        job.tags = [{"Key": "team", "Value": "nlp"}]
    add(service, "bert-nan", 1000, Story(phases=TRAINS, lines={"algo-1": nan}))
    add(service, "starts-now", 20, Story(phases=TRAINS))


def hostile(service: Service) -> str:
    """A job all of whose texts are markup; its name."""
    # Without its slash: a stream is the name, a slash and a host.
    name, metric = MARKUP.format("name").partition("<script>")[0], METRIC
    said = (
        MARKUP.format("line"),
        str({"loss": 1.0, "step": 1, metric: 2.0}),
        str({"loss": 0.5, "step": 2, metric: 3.0}),
        f"\x1b]8;;{URL}\x07link\x1b]8;;\x07",
        URL,
        "Traceback (most recent call last):",
        f"ValueError: {MARKUP.format('exception')}",
    )
    story = Story(
        phases=(("Starting", 90.0), ("Training", 200.0)),
        outcome="Failed",
        reason=MARKUP.format("reason"),
        lines={"algo-1": tuple((150.0 + n, text) for n, text in enumerate(said))},
    )
    rules = [{"Name": MARKUP.format("rule"), "Regex": "loss': ([0-9.]+)"}]
    job = add(
        service,
        name,
        600,
        story,
        HyperParameters={MARKUP.format("key"): MARKUP.format("value")},
        ResourceConfig={"InstanceType": MARKUP.format("instance"), "InstanceCount": 1},
        AlgorithmSpecification={"TrainingImage": URL, "MetricDefinitions": rules},
    )
    job.tags = [{"Key": MARKUP.format("tag"), "Value": MARKUP.format("team")}]
    for n in range(25):  # so many that their tags come with a search
        add(service, f"other-{n}", 5000 + n, Story(phases=(("Training", 60.0),)))
    return name
