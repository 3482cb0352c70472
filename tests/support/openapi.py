"""The description of the API, made once."""

from typing import Any

from openslot.app import list_api
from openslot.domains.webhooks.schemas import WEBHOOKS
from openslot.doors.http.openapi import describe
from openslot.platform.core.environment import load_settings

DESCRIPTION: dict[str, Any] = describe(list_api(load_settings({}, environ={})), WEBHOOKS, "http://127.0.0.1:8000")
