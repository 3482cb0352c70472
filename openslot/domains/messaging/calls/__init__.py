"""Calls that were recorded, as their provider tells of them."""
