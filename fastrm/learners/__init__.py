"""Learners: how tables of values are made and changed, and running many seeds of one."""
