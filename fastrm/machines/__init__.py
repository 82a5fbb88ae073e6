"""What is asked and what it pays: text, a task or a formula becomes a reward machine. No arrays over cells."""
