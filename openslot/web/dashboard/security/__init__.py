"""Pages of the settings: two-factor authentication and other ways to sign in."""
