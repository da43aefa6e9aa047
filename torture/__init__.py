"""A campaign against the program: kills, processes at once, faults, damaged files, fuzzed inputs, odd surroundings."""
