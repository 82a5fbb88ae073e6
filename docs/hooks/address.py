"""The site's own address, from the one place that knows it."""

import tomllib
from pathlib import Path


def on_config(config):
    """Fill in the repository's address, where pyproject.toml has one."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    config.repo_url = project["tool"]["fastrm"]["address"] or None
    return config
