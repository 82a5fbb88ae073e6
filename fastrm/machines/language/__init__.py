"""How machines are written: expressions, and the text formats of whole machines. Nothing is ever executed."""
