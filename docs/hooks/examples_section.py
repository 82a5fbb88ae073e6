"""A doctest at the end of a docstring is shown as a section of examples, headed or not."""

import re

import griffe


class ExamplesSection(griffe.Extension):
    """Put the heading of an examples section before the first ``>>>`` of a docstring that has none."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Change the docstring of one object."""
        if obj.docstring is None or re.search(r"^Examples\n-+$", obj.docstring.value, re.M):
            return
        obj.docstring.value = re.sub(r"^(?=>>> )", "Examples\n--------\n", obj.docstring.value, count=1, flags=re.M)
