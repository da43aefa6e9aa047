"""Workers: several processes, on one machine or many, that train one model together; each has a share of its entities."""
