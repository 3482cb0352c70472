"""The booking widget for other sites: its script, and a page that shows it."""
