"""The rules of Openslot, as tests."""
