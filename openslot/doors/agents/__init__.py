"""Door: the tool server through which ten autonomous agents help to run the platform."""
