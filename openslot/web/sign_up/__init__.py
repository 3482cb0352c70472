"""Pages: sign up, choose a new password, and see where one is signed in."""
