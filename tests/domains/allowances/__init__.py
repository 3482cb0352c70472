"""Tests of openslot.domains.allowances."""
