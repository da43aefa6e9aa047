"""The statements room: a main triple with qualifiers, the forms in which it comes, and the fact that it is."""
