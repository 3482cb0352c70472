"""Manifests of Kubernetes: the plain ones of `deploy/kubernetes`, and what all manifests are checked for."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

ROOT = Path(__file__).parents[2]
FILES = ("openslot.yaml", "migrate.yaml")
# Fails once the file of a worker is older than a minute; while there is none, the worker is starting.
HEARTBEAT_CHECK = 'test -z "$(find /tmp/heartbeat -mmin +1)"'
NEWEST = ".".join(kubernetes_validate.latest_version().split(".")[:2])

Manifest = dict[str, Any]


def plain_manifests(*names: str) -> list[Manifest]:
    """Read the manifests that `kubectl` applies: those of an installation, or of the files that are named."""
    texts = ((ROOT / "deploy" / "kubernetes" / name).read_text("utf-8") for name in names or FILES)
    return [each for text in texts for each in yaml.safe_load_all(text)]


def of_kind(kind: str, manifests: Iterable[Manifest]) -> list[Manifest]:
    return [each for each in manifests if each["kind"] == kind]


def pods(manifests: Iterable[Manifest]) -> list[Manifest]:
    """List the pods that deployments and jobs start."""
    jobs = (each["spec"]["jobTemplate"] if each["kind"] == "CronJob" else each for each in manifests)
    return [each["spec"]["template"] for each in jobs if "template" in each.get("spec", {})]


def containers(manifests: Iterable[Manifest]) -> list[Manifest]:
    return [container for pod in pods(manifests) for container in pod["spec"]["containers"]]


def check_schema(manifest: Manifest) -> None:
    """Raise `kubernetes_validate.ValidationError` for what the newest Kubernetes would refuse."""
    kubernetes_validate.validate(manifest, NEWEST, strict=True)
