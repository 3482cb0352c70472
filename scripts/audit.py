#!/usr/bin/env python3
"""Look up known vulnerabilities of every locked package: `make audit`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("runtime.txt", "dev.txt", "setup.txt", "audit.txt", "helm.txt")
CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2
UNREACHABLE = "The database of vulnerabilities can't be reached from here: nothing was checked."


def main() -> int:
    """Print what is known of each lock file, and return the worst of it."""
    codes = {_audit(name) for name in LOCKS}
    return VULNERABLE if VULNERABLE in codes else max(codes)


def _audit(name: str) -> int:
    options = ["--format=json", "--progress-spinner=off", "--disable-pip", "--require-hashes"]
    command = [str(Path(sys.executable).with_name("pip-audit")), *options, "-r", str(ROOT / "requirements" / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    code, sentences = judge(done.stdout)
    print(*(f"requirements/{name}: {sentence}" for sentence in sentences), sep="\n")
    return code


def judge(report: str) -> tuple[int, list[str]]:
    """Return the exit code and what to say of one report; packages that nobody has looked up are not clean."""
    try:
        packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return UNKNOWN, [UNREACHABLE]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        return UNKNOWN, [UNREACHABLE]
    found = [_describe(package, each) for package in packages for each in package.get("vulns", [])]
    if skipped:
        found.append(f"Not checked: {', '.join(skipped)}.")
    if not found:
        return CLEAN, [f"{len(packages)} packages, no known vulnerability."]
    return UNKNOWN if len(found) == 1 and skipped else VULNERABLE, found


def _describe(package: dict[str, Any], vulnerability: dict[str, Any]) -> str:
    versions = ", ".join(vulnerability.get("fix_versions", [])) or "no version yet"
    return f"{package['name']} {package['version']} has {vulnerability['id']}; fixed in {versions}."


if __name__ == "__main__":
    sys.exit(main())
