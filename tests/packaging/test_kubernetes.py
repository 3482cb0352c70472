"""The manifests are what Kubernetes accepts, name only what exists, and give pods no more rights than they need."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from openslot import __version__
from openslot.platform.core.config import Settings, environment_name
from openslot.platform.core.environment import load_settings
from openslot.vendors.smtp import SENT_WITHIN
from tests.doors.http.routes import OPERATIONS
from tests.support.installers import install
from tests.support.manifests import (
    HEARTBEAT_CHECK,
    ROOT,
    Manifest,
    check_schema,
    containers,
    of_kind,
    plain_manifests,
    pods,
)

PAGE = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
KNOWN = {environment_name(field) for field in Settings.__struct_fields__}
MANIFESTS = plain_manifests()
BACKUP = plain_manifests("backup.yaml")


@pytest.mark.parametrize(
    "manifest", [*MANIFESTS, *BACKUP], ids=lambda each: f"{each['kind']} {each['metadata']['name']}"
)
def test_every_manifest_follows_the_schema(manifest: dict[str, Any]) -> None:
    check_schema(manifest)


def test_a_field_that_does_not_exist_is_found() -> None:
    [job] = of_kind("Job", plain_manifests())
    job["spec"]["template"]["spec"]["containers"][0]["argz"] = []

    with pytest.raises(kubernetes_validate.ValidationError, match="argz"):
        check_schema(job)


def test_settings_exist_and_are_accepted() -> None:
    [settings] = of_kind("ConfigMap", MANIFESTS)
    secrets = dict(re.findall(r"--from-literal=([A-Z_]+)=['\"]([^'\"]*)", PAGE))
    secrets |= dict.fromkeys(("OPENSLOT_SECRET_KEY", "OPENSLOT_METRICS_TOKEN"), "x" * 64)

    assert set(settings["data"]) <= KNOWN
    assert set(secrets) == {
        "DATABASE_URL",
        "OPENSLOT_METRICS_TOKEN",
        "OPENSLOT_SECRET_KEY",
        "OPENSLOT_SMTP_URL",
    }
    loaded = load_settings(environ={**settings["data"], **secrets})
    assert loaded.public_url == "https://book.example.com"
    assert loaded.trusted_proxies


def test_commands_exist_and_images_are_of_this_version() -> None:
    there = containers(MANIFESTS)

    worker = ["worker", "--heartbeat", "/tmp/heartbeat"]
    assert [each["args"] for each in there] == [["web", "--workers", "2"], worker, ["migrate"]]
    assert {each["image"].rpartition(":")[2] for each in [*there, *containers(BACKUP)]} == {__version__}


def test_pods_run_without_rights_and_keep_nothing() -> None:
    [backup] = pods(plain_manifests("backup.yaml"))
    [volume] = [each for each in backup["spec"]["volumes"] if "emptyDir" not in each]
    # What it keeps, and nothing else does.
    backup["spec"]["volumes"].remove(volume)
    backup["spec"]["containers"][0]["volumeMounts"].remove({"name": "backups", "mountPath": "/backups"})
    assert len([*pods(MANIFESTS), backup]) == 4
    for pod in [*pods(MANIFESTS), backup]:
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"]
        # The user of the Containerfile.
        assert f"--uid {spec['securityContext']['runAsUser']} " in (ROOT / "Containerfile").read_text("utf-8")
        assert spec["automountServiceAccountToken"] is False
        assert all("emptyDir" in volume for volume in spec["volumes"])
        for container in spec["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {each["mountPath"] for each in container["volumeMounts"]} == {"/data", "/tmp"}


def test_services_budgets_and_probes_meet_the_pods() -> None:
    labels = [pod["metadata"]["labels"] for pod in pods(MANIFESTS)]
    selected = [each["spec"]["selector"] for each in of_kind("Service", MANIFESTS)]
    selected += [each["spec"]["selector"]["matchLabels"] for each in of_kind("PodDisruptionBudget", MANIFESTS)]
    web = pods(MANIFESTS)[0]["spec"]["containers"][0]

    assert len(selected) == 3
    assert all(labels.count(each) == 1 for each in selected)
    assert web["ports"] == [{"name": "http", "containerPort": Settings().port}]
    assert {web[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")} == {
        "/healthz"
    }
    for each in of_kind("Deployment", MANIFESTS):
        assert each["spec"]["replicas"] == 2


def test_a_worker_may_finish_what_it_is_sending() -> None:
    web, worker = (each["spec"]["template"]["spec"] for each in of_kind("Deployment", MANIFESTS))

    # Some time more: its results are stored, too.
    assert worker["terminationGracePeriodSeconds"] >= SENT_WITHIN.total_seconds() + 30
    assert web["terminationGracePeriodSeconds"] == 60


@pytest.mark.parametrize(("age", "is_alive"), [(None, True), (1, True), (50, True), (130, False)])
def test_a_worker_whose_file_is_old_is_found(age: float | None, is_alive: bool, tmp_path: Path) -> None:
    worker = containers(of_kind("Deployment", MANIFESTS))[1]
    file = tmp_path / "heartbeat"
    if age is not None:
        file.touch()
        os.utime(file, (time.time() - age,) * 2)
    command = worker["livenessProbe"]["exec"]["command"]

    assert command == ["sh", "-c", HEARTBEAT_CHECK]
    here = [each.replace(worker["args"][-1], str(file)) for each in command]
    assert (subprocess.run(here, check=False, stderr=subprocess.DEVNULL).returncode == 0) is is_alive


@pytest.mark.parametrize("state", ["Complete", "Failed"])
def test_waiting_for_the_migrations_ends_with_them(state: str, tmp_path: Path) -> None:
    """Kubernetes tells other conditions before that of the end."""
    before = "SuccessCriteriaMet" if state == "Complete" else "FailureTarget"
    asked = tmp_path / "asked"
    told = f"[ $(wc -l <{asked}) -gt 2 ] && echo {before} {state} || echo {before}"
    (tmp_path / "kubectl").write_text(f"#!/bin/sh\necho asked >>{asked}\n{told}\n")
    (tmp_path / "kubectl").chmod(0o755)
    (tmp_path / "sleep").symlink_to(shutil.which("true") or "")
    waits = {line.strip() for line in PAGE.splitlines() if "job openslot-migrate -o" in line}
    [wait] = waits

    here = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", wait], env=here, capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout.split()[-1] == state
    assert len(asked.read_text().splitlines()) == 3


def largest_body() -> int:
    return max(one.handler.declaration.max_bytes or 0 for one in OPERATIONS)


def test_proxies_let_through_what_people_may_upload() -> None:
    [ingress] = of_kind("Ingress", MANIFESTS)
    nginx = re.findall(r"client_max_body_size (\d+)m;", (ROOT / "docs/proxy.md").read_text("utf-8"))
    annotated = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"]

    assert largest_body() > 1024 * 1024
    assert [int(each) * 1024 * 1024 >= largest_body() for each in (*nginx, annotated.removesuffix("m"))] == [True, True]


def shown(first: str) -> Manifest:
    """Return what the page shows as YAML that begins with this word."""
    [text] = re.findall(rf"^```yaml\n({first}:.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return dict(yaml.safe_load(text))


def test_every_web_pod_is_asked_for_its_metrics_with_the_token() -> None:
    """By both ways on the page; the job has the name that the alert rules expect."""
    monitor, scraping = shown("apiVersion"), shown("scrape_configs")
    [web, worker] = [pod["metadata"]["labels"] for pod in pods(of_kind("Deployment", MANIFESTS))]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    [job] = scraping["scrape_configs"]
    by_label, by_port, _ = job["relabel_configs"]
    [expected] = set(re.findall(r'up{job="(\w+)"}', (ROOT / "deploy/prometheus/alerts.yaml").read_text("utf-8")))

    assert monitor["spec"]["selector"]["matchLabels"] == web
    assert web[monitor["spec"]["jobLabel"]] == job["job_name"] == expected
    assert endpoint["authorization"]["credentials"] == {"name": "openslot", "key": "OPENSLOT_METRICS_TOKEN"}
    [port] = containers(MANIFESTS)[0]["ports"]
    assert endpoint["port"] == by_port["regex"] == port["name"]
    for labels, is_kept in ((web, True), (worker, False)):
        discovered = {
            f"__meta_kubernetes_pod_label_{re.sub('[^a-z]', '_', name)}": text for name, text in labels.items()
        }
        named = ";".join(discovered[label] for label in by_label["source_labels"])
        assert (re.fullmatch(by_label["regex"], named) is not None) is is_kept


def test_prometheus_understands_the_scrape_configuration(tmp_path: Path) -> None:
    done = install("promtool")
    if done.returncode == 1:
        pytest.skip("promtool is not here, and only root can install it with apt-get")
    promtool = shutil.which("promtool") or str(Path(sys.prefix) / "promtool" / "usr" / "bin" / "promtool")
    scraping = shown("scrape_configs")
    # Debian's Prometheus is built without it.
    [discovery] = scraping["scrape_configs"][0].pop("kubernetes_sd_configs")
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(scraping))

    checked = subprocess.run(
        [promtool, "check", "config", "--syntax-only", tmp_path / "prometheus.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert discovery == {"role": "pod", "namespaces": {"names": ["openslot"]}}


def test_backups_are_written_to_the_volume_and_the_newest_fourteen_are_kept(tmp_path: Path) -> None:
    [container] = containers(BACKUP)
    [claim] = of_kind("PersistentVolumeClaim", BACKUP)
    [pod] = pods(BACKUP)
    (tmp_path / "openslot").write_text('#!/bin/sh\n[ "$*" = "backup create --to $HOME" ] && touch "$HOME/new.tar"\n')
    (tmp_path / "openslot").chmod(0o755)
    for day in range(1, 16):
        (tmp_path / f"{day}.tar").touch()
        os.utime(tmp_path / f"{day}.tar", (day, day))
    here = [each.replace("/backups", str(tmp_path)) for each in container["command"]]

    done = subprocess.run(here, env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}, check=False)
    assert done.returncode == 0
    assert {path.stem for path in tmp_path.glob("*.tar")} == {"new", *map(str, range(3, 16))}
    assert {"name": "backups", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}} in pod["spec"][
        "volumes"
    ]
    assert container["envFrom"] == containers(of_kind("Job", MANIFESTS))[0]["envFrom"]
