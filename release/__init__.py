"""The release as a user meets it: built, checked, installed into empty environments, and tried there."""
