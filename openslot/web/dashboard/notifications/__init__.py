"""Notifications in the dashboard: which mails a host gets, and when invitees are reminded."""
