"""The Model Context Protocol, as every tool server of ours speaks it; who may call what is decided by each door."""
