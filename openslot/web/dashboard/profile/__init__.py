"""The profile in the dashboard: name, link, welcome text, photo and colour."""
