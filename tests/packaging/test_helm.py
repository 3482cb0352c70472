"""The chart, as Helm renders it, says what the plain manifests say, holds no secret, and refuses bad values by name."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from openslot import __version__
from openslot.platform.core.config import SECRET, Settings, environment_name
from openslot.platform.core.environment import load_settings
from tests.support.installers import install
from tests.support.manifests import ROOT, Manifest, check_schema, containers, of_kind, plain_manifests, pods

CHART = ROOT / "deploy" / "helm" / "openslot"
SECRETS = sorted(environment_name(field) for field in SECRET)
# Helm's label and the checksum that replaces pods, which the plain manifests do not have.
ADDED = {"app.kubernetes.io/instance", "annotations"}
AWKWARD = {"OPENSLOT_POSTAL_ADDRESS": 'Am "Platz": 1 # links\n{{ .Values }}', "OPENSLOT_OIDC_NAME": "0x10"}

WORKER = ["worker", "--heartbeat", "/tmp/heartbeat"]
UPLOADS = "nginx.ingress.kubernetes.io/proxy-body-size"

Helm = Callable[..., subprocess.CompletedProcess[str]]
Release = dict[str, Any]


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Run Helm in a home of its own, without a cluster."""
    done = install("helm")
    if done.returncode == 1:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    home = tmp_path_factory.mktemp("helm")
    program = Path(sys.prefix) / "helm" / "helm"

    def run(*arguments: str, values: object = None) -> subprocess.CompletedProcess[str]:
        if values is not None:
            (home / "values.json").write_text(json.dumps(values))
            arguments = (*arguments, "--values", "values.json")
        environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        command = [str(program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=home, env=environ, timeout=300)

    return run


def install_dry(helm: Helm, name: str, namespace: str, values: object) -> subprocess.CompletedProcess[str]:
    return helm("install", name, str(CHART), "-n", namespace, "--dry-run=client", "-o", "json", values=values)


def render(helm: Helm, name: str = "openslot", namespace: str = "openslot", **values: object) -> Release:
    """Return the release that Helm would install."""
    done = install_dry(helm, name, namespace, values)
    assert done.returncode == 0, done.stderr
    release: Release = json.loads(done.stdout)
    return release


def refusal(helm: Helm, **values: object) -> str:
    """Return why Helm installs nothing."""
    done = install_dry(helm, "openslot", "openslot", values)
    assert done.returncode == 1
    assert not done.stdout
    return done.stderr


def manifests(release: Release) -> list[Manifest]:
    hooks = [yaml.safe_load(hook["manifest"]) for hook in release["hooks"]]
    return [*yaml.safe_load_all(release["manifest"]), *hooks]


@pytest.fixture(scope="module")
def default(helm: Helm) -> Release:
    return render(helm)


@pytest.fixture(scope="module")
def other(helm: Helm) -> Release:
    """Another release with everything changed."""
    return render(
        helm,
        "berlin",
        "calendars",
        image={"repository": "images.test/team/openslot", "tag": "1.2.3"},
        imagePullSecrets=["registry"],
        settings={"OPENSLOT_BASE_URL": "https://book.test:8443/", "OPENSLOT_DATABASE_CONNECTIONS": "20", **AWKWARD},
        existingSecret="0815",
        settingsFromSecrets={
            "DATABASE_URL": {"secret": "postgres", "key": "uri"},
            "OPENSLOT_READ_DATABASE_URL": {"secret": "postgres", "key": "read-uri"},
            "OPENSLOT_METRICS_TOKEN": {"secret": "metrics", "key": "token"},
        },
        backup={"enabled": True, "schedule": "0 * * * *", "keep": 48, "storage": "100Gi", "storageClass": "slow"},
        podMonitor={"enabled": True, "labels": {"release": "prometheus"}},
        web={"replicas": 5, "processes": 4, "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}},
        worker={"replicas": 1},
        ingress={"className": "nginx", "annotations": {"cert-manager.io/issuer": "ours"}, "tlsSecret": ""},
        nodeSelector={"disk": "fast"},
        tolerations=[{"key": "web", "operator": "Exists"}],
    )


def test_the_chart_is_of_this_version_and_lint_finds_nothing(helm: Helm) -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    done = helm("lint", "--strict", str(CHART))

    assert chart["appVersion"] == __version__
    # Helm takes the numbers of semantic versioning alone.
    assert chart["version"] == __version__.replace(".dev", "-dev.")
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout
    assert "[ERROR]" not in done.stdout


def without_added(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_added(each) for key, each in value.items() if key not in ADDED}
    return [without_added(each) for each in value] if isinstance(value, list) else value


def said(manifest: Manifest) -> Manifest:
    """What a manifest says, without labels of its own and what the chart adds on purpose."""
    named = {key: manifest["metadata"][key] for key in ("name", "namespace")}
    if manifest["kind"] == "Ingress":
        named["annotations"] = manifest["metadata"]["annotations"]
    return {**without_added(manifest), "metadata": named}


def test_by_default_it_says_what_the_plain_manifests_say(default: Release) -> None:
    # `helm install --create-namespace` creates it.
    plain = [each for each in plain_manifests() if each["kind"] != "Namespace"]
    # The job runs before there is a ConfigMap: it has the settings itself.
    [settings] = of_kind("ConfigMap", plain)
    [migrate] = containers(of_kind("Job", plain))
    assert migrate["envFrom"].pop(0) == {"configMapRef": {"name": "openslot"}}
    migrate["env"] = [{"name": name, "value": value} for name, value in settings["data"].items()]

    expected = {(each["kind"], each["metadata"]["name"]): said(each) for each in plain}
    assert {(each["kind"], each["metadata"]["name"]): said(each) for each in manifests(default)} == expected


def test_with_backups_it_says_what_the_plain_manifests_say_of_them(helm: Helm) -> None:
    there = manifests(render(helm, backup={"enabled": True}))
    expected = {each["kind"]: said(each) for each in plain_manifests("backup.yaml")}

    assert {each["kind"]: said(each) for each in there if each["kind"] in expected} == expected
    # `helm uninstall` leaves them.
    [claim] = of_kind("PersistentVolumeClaim", there)
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_its_pod_monitor_is_that_of_the_documentation(helm: Helm) -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
    shown = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "PodMonitor" in text]
    [documented] = shown

    there = of_kind("PodMonitor", manifests(render(helm, podMonitor={"enabled": True})))
    assert [said(each) for each in there] == [said(documented)]


def test_backups_and_metrics_follow_the_values(other: Release) -> None:
    there = manifests(other)
    [claim] = of_kind("PersistentVolumeClaim", there)
    [cron] = of_kind("CronJob", there)
    [monitor] = of_kind("PodMonitor", there)
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    web = of_kind("Deployment", there)[0]["spec"]["template"]["metadata"]["labels"]

    assert claim["spec"]["resources"]["requests"] == {"storage": "100Gi"}
    assert claim["spec"]["storageClassName"] == "slow"
    assert cron["spec"]["schedule"] == "0 * * * *"
    assert "tail -n +49 " in containers([cron])[0]["command"][-1]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= web.items()
    assert endpoint["authorization"] == {"credentials": {"name": "metrics", "key": "token"}}


def test_migrations_run_before_an_installation_and_every_upgrade_and_need_nothing_of_the_release(
    other: Release,
) -> None:
    [hook] = other["hooks"]
    [migrate] = containers([yaml.safe_load(hook["manifest"])])
    environ = {each["name"]: each.get("value") or each["valueFrom"] for each in migrate["env"]}

    assert sorted(hook["events"]) == ["pre-install", "pre-upgrade"]
    assert sorted(hook["delete_policies"]) == ["before-hook-creation", "hook-succeeded"]
    assert migrate["envFrom"] == [{"secretRef": {"name": "0815"}}]
    assert environ["OPENSLOT_DATABASE_CONNECTIONS"] == "20"
    assert {name: environ[name] for name in AWKWARD} == AWKWARD
    assert environ["OPENSLOT_READ_DATABASE_URL"] == {"secretKeyRef": {"name": "postgres", "key": "read-uri"}}


def test_with_other_values_every_manifest_follows_the_schema(other: Release) -> None:
    for each in manifests(other):
        # That of the Prometheus operator is not among the schemas of Kubernetes.
        if each["kind"] != "PodMonitor":
            check_schema(each)
        assert each["metadata"]["name"].startswith("berlin-openslot")
        assert each["metadata"]["namespace"] == "calendars"


def test_values_arrive_where_they_belong(other: Release) -> None:
    there = manifests(other)
    web, worker = of_kind("Deployment", there)
    [ingress] = of_kind("Ingress", there)
    [settings] = of_kind("ConfigMap", there)

    assert {each["image"] for each in containers(there)} == {"images.test/team/openslot:1.2.3"}
    assert [each.get("args") for each in containers(there)] == [["web", "--workers", "4"], WORKER, None, ["migrate"]]
    for pod in pods(there):
        assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
        assert pod["spec"]["nodeSelector"] == {"disk": "fast"}
        assert pod["spec"]["tolerations"] == [{"key": "web", "operator": "Exists"}]
    assert (web["spec"]["replicas"], worker["spec"]["replicas"]) == (5, 1)
    # A budget for one pod would keep its node from being drained.
    assert [each["metadata"]["name"] for each in of_kind("PodDisruptionBudget", there)] == ["berlin-openslot-web"]
    assert ingress["metadata"]["annotations"] == {"cert-manager.io/issuer": "ours", UPLOADS: "10m"}
    assert ingress["spec"]["ingressClassName"] == "nginx"
    assert "tls" not in ingress["spec"]
    assert ingress["spec"]["rules"][0]["host"] == "book.test"
    assert {name: settings["data"][name] for name in AWKWARD} == AWKWARD
    assert load_settings(environ=settings["data"]).database_connections == 20
    assert "kubectl -n calendars exec deploy/berlin-openslot-web" in other["info"]["notes"]


def test_pods_are_replaced_when_a_setting_changes(default: Release, other: Release) -> None:
    before, after = ([pod["metadata"].get("annotations") for pod in pods(manifests(each))] for each in (default, other))

    assert before[0] == before[1]
    assert after[0] == after[1] != before[0]


def test_services_and_budgets_meet_the_pods_of_their_release_alone(default: Release, other: Release) -> None:
    labels = [pod["metadata"]["labels"] for release in (default, other) for pod in pods(manifests(release))]
    for release in (default, other):
        there = manifests(release)
        selected = [each["spec"]["selector"] for each in of_kind("Service", there)]
        selected += [each["spec"]["selector"]["matchLabels"] for each in of_kind("PodDisruptionBudget", there)]
        assert all(labels.count(each) == 1 for each in selected)


def test_no_secret_is_rendered(default: Release, other: Release) -> None:
    for release in (default, other):
        there = manifests(release)
        plain = {
            each["name"] for container in containers(there) for each in container.get("env", []) if "value" in each
        }
        assert not of_kind("Secret", there)
        assert not plain & set(SECRETS)


def test_secrets_among_the_settings_are_refused(helm: Helm) -> None:
    said = refusal(
        helm,
        settings=dict.fromkeys(SECRETS, "confidential"),
        settingsFromSecrets={"OPENSLOT_MAIL_FROM": {"secret": "mail", "key": "from"}},
    )

    for name in SECRETS:
        assert f'settings.{name} is a secret: put it into the secret "openslot".' in said
    assert "settings.OPENSLOT_MAIL_FROM is in settingsFromSecrets as well: remove one of them." in said
    assert "confidential" not in said


def test_names_that_are_no_settings_are_refused_in_a_sentence_each(helm: Helm) -> None:
    said = refusal(
        helm,
        settings={"OPENSLOT_PROT": "8000", "OPENSLOT_DATABASE_CONECTIONS": "20"},
        settingsFromSecrets={"OPENSLOT_SMPT_URL": {"secret": "mail", "key": "url"}},
    )

    assert "settings.OPENSLOT_PROT is not a setting: docs/settings.md lists them." in said
    assert "settings.OPENSLOT_DATABASE_CONECTIONS is not a setting: docs/settings.md lists them." in said
    assert "settingsFromSecrets.OPENSLOT_SMPT_URL is not a setting: docs/settings.md lists them." in said


def test_every_setting_of_the_code_is_accepted(helm: Helm) -> None:
    names = {environment_name(field) for field in Settings.__struct_fields__} - {*SECRETS, "OPENSLOT_BASE_URL"}

    [settings] = of_kind("ConfigMap", manifests(render(helm, settings=dict.fromkeys(names, "1"))))
    assert set(settings["data"]) >= names


def test_an_ingress_of_ones_own_takes_the_place_of_ours(helm: Helm) -> None:
    there = manifests(render(helm, ingress={"enabled": False}))

    assert not of_kind("Ingress", there)
    assert of_kind("Service", there)


def test_bad_values_are_refused_by_their_names(helm: Helm) -> None:
    said = refusal(
        helm,
        replicas=3,
        image={"repository": "", "version": "1"},
        settings={"OPENSLOT_BASE_URL": "book.example.com", "OPENSLOT_DATABASE_CONNECTIONS": 20, "LANG": "C"},
        existingSecret="",
        settingsFromSecrets={"DATABASE_URL": {"secret": "postgres"}, "PATH": {"secret": "a", "key": "b"}},
        web={"replicas": "two", "processes": 0},
        worker={"replicas": -1, "resources": {"request": {}}},
        ingress={"enabled": "yes", "annotations": {"ours": 1}},
        tolerations={"key": "web"},
    )

    faults = [line.strip(" -") for line in said.splitlines() if " at '" in line and "validation failed" not in line]
    assert sorted(faults) == [
        "at '': additional properties 'replicas' not allowed",
        "at '/existingSecret': '' does not match pattern '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$'",
        "at '/image': additional properties 'version' not allowed",
        "at '/image/repository': minLength: got 0, want 1",
        "at '/ingress/annotations/ours': got number, want string",
        "at '/ingress/enabled': got string, want boolean",
        "at '/settings': additional properties 'LANG' not allowed",
        "at '/settings/OPENSLOT_BASE_URL': 'book.example.com' does not match pattern '^https?://[^/]+/?$'",
        "at '/settings/OPENSLOT_DATABASE_CONNECTIONS': got number, want string",
        "at '/settingsFromSecrets': additional properties 'PATH' not allowed",
        "at '/settingsFromSecrets/DATABASE_URL': missing property 'key'",
        "at '/tolerations': got object, want array",
        "at '/web/processes': minimum: got 0, want 1",
        "at '/web/replicas': got string, want integer",
        "at '/worker/replicas': minimum: got -1, want 0",
        "at '/worker/resources': additional properties 'request' not allowed",
    ]
