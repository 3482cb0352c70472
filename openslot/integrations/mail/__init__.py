"""Mail: what people are told, written once and sent by whatever carries it."""
