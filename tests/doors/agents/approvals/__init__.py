"""Approvals: who decides, what runs, and that it runs once."""
