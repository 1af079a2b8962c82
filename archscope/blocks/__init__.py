"""The vocabulary of structure: blocks that families compose."""
