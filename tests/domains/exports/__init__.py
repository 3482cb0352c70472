"""Exports of all data of a user."""
