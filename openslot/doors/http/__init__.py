"""HTTP around the handlers: the edge, routing, bodies, errors, headers, health and the API's description."""
