"""The server: pages and JSON about runs over HTTP."""
