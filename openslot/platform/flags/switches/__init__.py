"""Switches of the operator."""
