"""The authorization server of OAuth for programs: whom a user lets in, and to what."""
