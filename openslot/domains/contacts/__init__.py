"""The people who book."""
