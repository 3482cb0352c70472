"""The audit record of a call names what the call is about."""

import msgspec
import pytest

from openslot.doors.http.bodies import decode
from openslot.platform.core.ids import new_id
from tests.doors.agents.tools.conftest import BY_NAME

ID = str(new_id())
FLAG, USER = {"key": "api_docs"}, {"userId": ID}


@pytest.mark.parametrize(
    ("name", "arguments", "target"),
    [
        ("list_flags", {}, None),
        ("get_flag", FLAG, ("flag", "api_docs")),
        ("check_flag", FLAG | USER, ("flag", "api_docs")),
        ("toggle_flag", FLAG | {"enabled": True}, ("flag", "api_docs")),
        ("set_flag_override", FLAG | USER | {"enabled": True}, ("flag", "api_docs")),
        ("remove_flag_override", FLAG | USER, ("flag", "api_docs")),
        ("set_messaging_kill_switch", {"enabled": True, "reason": "x"}, ("channel", "all")),
        ("list_users", {}, None),
        ("get_user", USER, ("user", ID)),
        ("get_user", {"email": "mara@lindqvist.example"}, None),
        ("get_user_activity", USER, ("user", ID)),
        ("get_user_settings", USER, ("user", ID)),
        ("change_user_plan", USER | {"plan": "PRO", "reason": "x"}, ("user", ID)),
        ("update_user_settings", USER | {"settings": {}}, ("user", ID)),
        ("disable_user", USER | {"reason": "x"}, ("user", ID)),
        ("list_bookings", {}, None),
        ("list_bookings", USER, ("user", ID)),
        ("get_booking", {"bookingId": ID}, ("booking", ID)),
        ("cancel_booking", {"bookingId": ID}, ("booking", ID)),
        ("reschedule_booking", {"bookingId": ID, "newStartTime": "2026-03-16T10:00:00Z"}, ("booking", ID)),
        ("list_contacts", {}, None),
        ("list_contacts", USER, ("user", ID)),
        ("get_contact", {"contactId": ID}, ("contact", ID)),
        ("update_contact_metadata", {"contactId": ID, "metadata": {}}, ("contact", ID)),
        ("list_event_types", {}, None),
        ("list_event_types", USER, ("user", ID)),
        ("get_event_type", {"eventTypeId": ID}, ("event_type", ID)),
        ("check_availability", {"eventTypeId": ID, "timezone": "UTC"}, ("event_type", ID)),
    ],
)
def test_a_call_names_what_it_is_about(name: str, arguments: dict[str, object], target: tuple[str, str] | None) -> None:
    tool = BY_NAME[name]

    assert tool.target(decode(msgspec.json.encode(arguments), tool.arguments)) == target
