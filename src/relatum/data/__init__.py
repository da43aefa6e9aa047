"""The data room: names, schemas, facts, files of facts and the public datasets."""
