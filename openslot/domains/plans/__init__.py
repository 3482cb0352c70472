"""Plans that users and organizations buy from the operator."""
