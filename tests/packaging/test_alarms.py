"""The alert rules and the dashboard use metrics that exist, fire when they should, and are explained."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from openslot.platform.core.work import Runtime
from tests.support.installers import install

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus"
METRIC = re.compile(r"\bopenslot_[a-z_]+")
LABEL = re.compile(r"\b(?:by|without) \(([a-z, ]+)\)|[{,]\s*([a-z]+)=")


def alerts() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((RULES / "alerts.yaml").read_text("utf-8"))["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def drawn() -> list[str]:
    """List the expressions of the dashboard."""
    board = json.loads((ROOT / "deploy" / "grafana" / "openslot.json").read_text("utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


@pytest.fixture(scope="module")
def promtool() -> str:
    """The program that reads rules as Prometheus does."""
    done = install("promtool")
    if done.returncode == 1:
        pytest.skip("promtool is not here, and only root can install it with apt-get")
    done.check_returncode()
    return shutil.which("promtool") or str(Path(sys.prefix) / "promtool" / "usr" / "bin" / "promtool")


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_rules_fire_when_something_is_wrong_and_not_before(promtool: str) -> None:
    done = run(promtool, "test", "rules", "alerts_test.yaml", cwd=RULES)

    assert done.returncode == 0, done.stdout + done.stderr
    fired = set(re.findall(r'alertname="(\w+)"', (RULES / "alerts_test.yaml").read_text("utf-8")))
    assert fired == {each["alert"] for each in alerts()}


def test_a_rule_that_never_fires_is_found(promtool: str, tmp_path: Path) -> None:
    for name in ("alerts.yaml", "alerts_test.yaml"):
        text = (RULES / name).read_text("utf-8")
        (tmp_path / name).write_text(text.replace("openslot_workers) < 1", "openslot_workers) < 0"))

    done = run(promtool, "test", "rules", "alerts_test.yaml", cwd=tmp_path)
    assert done.returncode == 1


def test_expressions_of_the_dashboard_can_be_read(promtool: str, tmp_path: Path) -> None:
    rules = [{"record": f"drawn:{number}", "expr": each} for number, each in enumerate(drawn())]
    (tmp_path / "drawn.yaml").write_text(yaml.safe_dump({"groups": [{"name": "drawn", "rules": rules}]}))

    done = run(promtool, "check", "rules", "drawn.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


WRONG = """
with event as (
    insert into events (id, type, at, actor, subject_kind, fact)
    values (gen_random_uuid(), 'x', now(), '{}', 'x', '{}') returning id
), failing as (
    insert into effects (id, event_id, reaction, state, yields, attempts, next_try_at, created_at)
    select gen_random_uuid(), id, 'mail.send', 'queued', true, 1, now(), now() - interval '1 hour' from event
), failed as (
    insert into failed_items (job, item, error, first_at, last_at) values ('wait_list.hand_out', 'x', 'x', now(), now())
)
insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status)
values ('queue.tidy', '* * * * *', now(), now(), 0, 'failed')"""


async def test_every_metric_exists(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    # Labels are told only of what has gone wrong.
    await runtime.pool.execute(WRONG)
    await client.get("/api/v1/me")
    said = (await client.get("/metrics")).text
    there = set(METRIC.findall(said))
    labels = set(re.findall(r'[{,](\w+)="', said)) | {"code", "job", "instance"}
    used = [*drawn(), *(each["expr"] for each in alerts())]

    assert {name for each in used for name in METRIC.findall(each)} <= there
    named = {name.strip() for each in used for found in LABEL.findall(each) for name in ",".join(found).split(",")}
    assert named - {""} <= labels


def test_the_page_says_what_to_do_about_each_alarm_and_about_no_other() -> None:
    page = (ROOT / "docs" / "alarms.md").read_text("utf-8")

    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == [each["alert"] for each in alerts()]
