"""The pages of those who book: a host's offers, the calendar with its form, and the page that manages a booking."""
