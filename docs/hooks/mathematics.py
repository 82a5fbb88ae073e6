"""Formulas between dollar signs become MathML, which browsers draw themselves: nothing is fetched, no script runs.

`pymdownx.arithmatex` finds the formulas in a page and marks them; here their LaTeX is translated.
"""

import html
import re

from latex2mathml.converter import convert

_MARKED = re.compile(r'(<(span|div) class="arithmatex">)\\[(\[](.*?)\\[)\]](</\2>)', re.S)


def on_page_content(text: str, **_: object) -> str:
    """Return the HTML of a page with its formulas as MathML."""
    return _MARKED.sub(_translate, text)


def _translate(marked: re.Match[str]) -> str:
    begin, tag, latex, end = marked.groups()
    return begin + convert(html.unescape(latex), display="block" if tag == "div" else "inline") + end
