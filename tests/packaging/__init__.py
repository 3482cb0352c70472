"""What people install: the wheel, the container image, the compose file and the systemd units."""
