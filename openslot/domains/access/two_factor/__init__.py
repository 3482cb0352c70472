"""The second factor of a sign-in: authenticators and recovery codes."""
