"""Bad clients, over raw sockets, against a real web process with its limits turned down."""
