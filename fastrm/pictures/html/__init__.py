"""Single-file web pages: a problem explained. They need no server and no network."""

from fastrm.pictures.html.explain import explain_page

__all__ = ["explain_page"]
