"""The manifests are what Kubernetes accepts, name only what exists, and give pods no more rights than they need."""

import re
from typing import Any

import kubernetes_validate
import pytest

from openslot import __version__
from openslot.core.config import Settings, environment_name
from openslot.core.environment import load_settings
from tests.support.manifests import ROOT, check_schema, containers, of_kind, plain_manifests, pods

KNOWN = {environment_name(field) for field in Settings.__struct_fields__}
MANIFESTS = plain_manifests()


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_every_manifest_follows_the_schema(manifest: dict[str, Any]) -> None:
    check_schema(manifest)


def test_a_field_that_does_not_exist_is_found() -> None:
    [job] = of_kind("Job", plain_manifests())
    job["spec"]["template"]["spec"]["containers"][0]["argz"] = []

    with pytest.raises(kubernetes_validate.ValidationError, match="argz"):
        check_schema(job)


def test_settings_exist_and_are_accepted() -> None:
    [settings] = of_kind("ConfigMap", MANIFESTS)
    doc = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
    secrets = dict(re.findall(r"--from-literal=([A-Z_]+)=['\"]([^'\"]*)", doc))
    secrets["OPENSLOT_SECRET_KEY"] = "x" * 48

    assert set(settings["data"]) <= KNOWN
    assert set(secrets) == {"DATABASE_URL", "OPENSLOT_SECRET_KEY", "OPENSLOT_SMTP_URL"}
    loaded = load_settings(environ={**settings["data"], **secrets})
    assert loaded.public_url == "https://book.example.com"
    assert loaded.trusted_proxies


def test_commands_exist_and_images_are_of_this_version() -> None:
    there = containers(MANIFESTS)

    assert [each["args"] for each in there] == [["web", "--workers", "2"], ["worker"], ["migrate"]]
    assert {each["image"].rpartition(":")[2] for each in there} == {__version__}


def test_pods_run_without_rights_and_keep_nothing() -> None:
    for pod in pods(MANIFESTS):
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
