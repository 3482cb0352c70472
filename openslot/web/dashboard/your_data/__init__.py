"""Pages of the settings: export of all data, and deletion of the account."""
