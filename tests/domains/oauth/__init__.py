"""Tests of access by OAuth."""
