"""Scenarios of the conformance suite that need what our servers do not offer, each with its reason."""

import json
import re
from pathlib import Path

DIAGNOSTIC = "calls a tool of the suite's own example server; ours has only the tools of the specification"
PROMPTS = "needs prompts; the specification has none"
RESOURCES = "needs the resources of the suite's own example server; ours are none, or one page for chats"
INPUT = "needs a tool that asks its client for input; ours ask nobody but the Orchestrator"
TASKS = "needs the tasks extension; every tool of ours answers at once"

NOT_OFFERED = {
    "completion-complete": "needs completions, which belong to prompts and resources",
    "elicitation-sep1034-defaults": INPUT,
    "elicitation-sep1330-enums": INPUT,
    "http-custom-header-server-validation": "needs a tool whose arguments are repeated in headers; ours have none",
    "input-required-result-basic-elicitation": INPUT,
    "input-required-result-basic-list-roots": INPUT,
    "input-required-result-basic-sampling": INPUT,
    "input-required-result-capability-check": INPUT,
    "input-required-result-multi-round": INPUT,
    "input-required-result-multiple-input-requests": INPUT,
    "input-required-result-non-tool-request": PROMPTS,
    "input-required-result-request-state": INPUT,
    "input-required-result-result-type": INPUT,
    "input-required-result-tampered-state": INPUT,
    "json-schema-2020-12": DIAGNOSTIC,
    "logging-set-level": "needs log messages from the server; we send none to clients",
    "prompts-get-embedded-resource": PROMPTS,
    "prompts-get-simple": PROMPTS,
    "prompts-get-with-args": PROMPTS,
    "prompts-get-with-image": PROMPTS,
    "prompts-list": PROMPTS,
    "resources-list": RESOURCES,
    "resources-read-binary": RESOURCES,
    "resources-read-text": RESOURCES,
    "resources-subscribe": RESOURCES,
    "resources-templates-read": RESOURCES,
    "resources-unsubscribe": RESOURCES,
    "tasks-capability-negotiation": TASKS,
    "tasks-dispatch-and-envelope": TASKS,
    "tasks-lifecycle": TASKS,
    "tasks-mrtr-composition": TASKS,
    "tasks-mrtr-input": TASKS,
    "tasks-request-headers": TASKS,
    "tasks-request-state-removal": TASKS,
    "tasks-required-task-error": TASKS,
    "tasks-wire-fields": TASKS,
    "tools-call-audio": DIAGNOSTIC,
    "tools-call-elicitation": INPUT,
    "tools-call-embedded-resource": DIAGNOSTIC,
    "tools-call-error": DIAGNOSTIC,
    "tools-call-image": DIAGNOSTIC,
    "tools-call-mixed-content": DIAGNOSTIC,
    "tools-call-sampling": INPUT,
    "tools-call-simple-text": DIAGNOSTIC,
    "tools-call-with-logging": DIAGNOSTIC,
    "tools-call-with-progress": DIAGNOSTIC,
}

# Scenarios that pass but for single checks.
NOT_OFFERED_CHECKS = {
    "caching": {
        "sep-2549-prompts-list-caching-hints": PROMPTS,
        "sep-2549-resources-list-caching-hints": RESOURCES,
        "sep-2549-resources-templates-list-caching-hints": RESOURCES,
    },
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability": DIAGNOSTIC,
        "sep-2575-missing-capability-http-400": DIAGNOSTIC,
        "sep-2575-http-server-no-independent-requests-on-stream": DIAGNOSTIC,
        "sep-2575-server-no-log-without-loglevel": DIAGNOSTIC,
    },
}

# What must be there and pass, so that a suite that finds nothing to check is noticed.
PASSED = {
    "2025-11-25": {"server-initialize", "ping", "tools-list", "dns-rebinding-protection"},
    "2026-07-28": {"tools-list", "dns-rebinding-protection", "http-header-validation"},
}


def read_results(folder: Path) -> dict[str, set[str]]:
    """Read which checks of each scenario have failed."""
    found: dict[str, set[str]] = {}
    for checks in folder.glob("server-*/checks.json"):
        scenario = re.sub(r"-20\d\d-\d\d-\d\dT.*", "", checks.parent.name.removeprefix("server-"))
        results = json.loads(checks.read_text("utf-8"))
        found[scenario] = {check["id"] for check in results if check["status"] == "FAILURE"}
    return found
