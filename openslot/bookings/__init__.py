"""The heart: meetings that are made, moved and cancelled."""
