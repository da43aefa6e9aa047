"""A run as a server: pages for people and, at the same addresses, JSON for programs; it only reads."""
