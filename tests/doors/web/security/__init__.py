"""Tests of the security settings and of the second step of a sign-in."""
