"""Tuning: a study tries settings, many processes may work on it, and only validation facts decide."""
