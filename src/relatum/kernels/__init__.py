"""The kernels: arrays in, arrays out; compiled for the machine they run on, each with a plain numpy twin."""
