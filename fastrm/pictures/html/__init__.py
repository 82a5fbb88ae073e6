"""Single-file web pages: a problem explained, and a report on a result file. They need no server and no network."""

from fastrm.pictures.html.explain import explain_page
from fastrm.pictures.html.explain_water import explain_water_page
from fastrm.pictures.html.report import report_page

__all__ = ["explain_page", "explain_water_page", "report_page"]
