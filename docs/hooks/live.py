"""Live pages: made by the build with the commands that users run, so that they are never out of date."""

import contextlib
import io
from pathlib import Path

from fastrm.bench.__main__ import main

COMMANDS = {
    "waits": "1a1b1c a-b-c --kind numeric --terminal-reward 100 --size 15 --seed 11",
    "agenda": "1a1b1c1d {a,b,c}-d --kind num-bool --size 13 --seed 3",
    "learned": "2a2b1c a-b-c --kind numeric --terminal-reward 1000 --size 13 --seed 5 --learn crm --steps 200000",
}
"""What `explain` shows: waiting instead of finishing, three errands in any order, and what CRM learned."""


def on_post_build(config):
    """Write the live pages beside the others of the site."""
    folder = Path(config["site_dir"]) / "live"
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in COMMANDS.items():
        with contextlib.redirect_stdout(io.StringIO()):  # the build says nothing unless something is wrong
            code = main(["explain", *command.split(), "--out", str(folder / f"{name}.html")])
        if code:
            raise RuntimeError(f"live page {name}: the command failed")


def on_page_content(html, page, config, files):
    """Make links of the names of live pages, which are no files of the documentation's sources."""
    up = "../" * page.url.count("/")
    for name in COMMANDS:
        path = f"live/{name}.html"
        html = html.replace(f"<code>{path}</code>", f'<a href="{up}{path}">{path}</a>')
    return html
