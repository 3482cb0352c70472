"""Figures about the use of the platform: visits of public pages and where they come from."""
