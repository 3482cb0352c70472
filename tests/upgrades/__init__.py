"""Releases side by side: what the last one says and wrote still works on this one's database."""
