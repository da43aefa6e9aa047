"""A record of what relatum prints, promises and learns on three small runs, and what differs from it now."""
