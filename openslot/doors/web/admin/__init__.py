"""Pages for administrators of the platform."""
