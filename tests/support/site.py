"""A running service with demo data, as a browser or a program of somebody else reaches it."""

import ssl
import time
from typing import Any

import httpx2
from msgspec import Struct

READY_WITHIN = 180.0


class Site(Struct, frozen=True):
    """A running service, as a browser or a program reaches it."""

    url: str
    host: str
    trusted: ssl.SSLContext | bool = True

    def ask(self, method: str, path: str, *, key: str = "", **options: Any) -> httpx2.Response:
        """Send one request."""
        headers = {"Host": self.host} | ({"Authorization": f"Bearer {key}"} if key else {})
        with httpx2.Client(base_url=self.url, verify=self.trusted, trust_env=False, timeout=30) as client:
            extensions = {"sni_hostname": self.host}
            return client.request(method, path, headers=headers, extensions=extensions, **options)

    def wait_until_ready(self) -> None:
        """Wait until database, migrations and a worker are there."""
        deadline, said = time.monotonic() + READY_WITHIN, ""
        while time.monotonic() < deadline:
            try:
                answer = self.ask("GET", "/readyz")
            except httpx2.HTTPError as fault:
                said = str(fault)
            else:
                if answer.status_code == 200:
                    return
                said = answer.text
            time.sleep(0.5)
        raise AssertionError(said)

    def book(self, key: str) -> str:
        """Book the first free time, and return the id of the booking."""
        path = "/api/v1/availability/intro-call?timezone=Europe/Berlin"
        slots = self.ask("GET", path, key=key).json()["data"]
        wanted = {
            "eventTypeSlug": "intro-call",
            "startTime": slots[0]["startTime"],
            "inviteeName": "Jonas Okafor",
            "inviteeEmail": "jonas@okafor.example",
            "inviteeTimezone": "Africa/Lagos",
        }
        booked = self.ask("POST", "/api/v1/bookings", key=key, json=wanted)
        assert booked.status_code == 200, booked.text
        return str(booked.json()["bookingId"])

    def has(self, booking_id: str, key: str) -> bool:
        return self.ask("GET", f"/api/v1/bookings/{booking_id}", key=key).status_code == 200
