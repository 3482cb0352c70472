"""Tests of the CRMs that hosts can connect."""
