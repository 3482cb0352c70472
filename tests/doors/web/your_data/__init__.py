"""Export and deletion in the settings."""
