"""The public tool server: assistants of invitees find times and book, without an account."""
