"""The datasets room: facts in files: the public datasets, the text format, the cache, loading and saving."""
