"""Tools for planners and agents: what can be asked of a run, over the Model Context Protocol."""
