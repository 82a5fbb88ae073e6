"""The prose of a page, code and tables aside: its sentences, its links and the places that links can lead to."""

import re
from pathlib import Path

_FENCED = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|et al|vs|cf|Fig|No|arXiv)\.")
_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)(?:\{[^}]*\})?")


def without_code(text: str) -> str:
    """Return a page without its blocks and comments."""
    return _COMMENT.sub("", _FENCED.sub("", text))


def sentences(text: str) -> list[str]:
    """Return the sentences of a page: of paragraphs and of items of lists; no headings, tables, pictures or code.

    >>> sentences("# Title\\n\\nOne `a b`. Two is here:\\n\\n- an item\\n- [a link](x.md)")
    ['One code.', 'Two is here:', 'an item', 'a link']
    """
    plain = re.sub(r"`[^`]+`|\$\$.+?\$\$|\$\S(?:[^$]*\S)?\$", "code", without_code(text), flags=re.S)
    plain = re.sub(r"^:::.*(\n +.*)*", "", plain, flags=re.M)
    plain = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", plain)
    plain = _LINK.sub(r"\1", plain)
    plain = re.sub(r"<[^>]+>", " ", plain)
    plain = re.sub(r"^ *(#|\||===|!!!|\?\?\?|---).*$", "", plain, flags=re.M)
    plain = re.sub(r"^( *)([-*+]|[0-9]+\.) +", r"\n\n", plain, flags=re.M)
    plain = _ABBREVIATIONS.sub(lambda word: word[1].replace(".", ""), plain)
    found = []
    for paragraph in re.split(r"\n\s*\n", plain):
        joined = " ".join(paragraph.split())
        found += [part for part in re.split(r"(?<=[.!?])[*_\")]* (?=\W*[A-Z0-9]|\W*code)", joined) if words(part)]
    return found


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return re.findall(r"[^\W_][\w'’/-]*", text)


def average_length(text: str) -> float:
    """Return the mean number of words in a sentence."""
    found = sentences(text)
    return sum(len(words(sentence)) for sentence in found) / max(1, len(found))


def links(text: str) -> list[str]:
    """Return where the links and pictures of a page lead to."""
    plain = re.sub(r"`[^`]*`", "", without_code(text))
    return [target for _, target in _LINK.findall(plain)] + re.findall(r"(?:src|href)=\"([^\"]+)\"", plain)


def anchors(page: Path) -> set[str]:
    """Return the places of a page that a link can lead to: its headings."""
    found: set[str] = set()
    for title, given in re.findall(r"^#+ +(.*?)(?: *\{ *#([\w.-]+) *\})? *$", without_code(page.read_text()), re.M):
        plain = re.sub(r"[^\w\s-]", "", _LINK.sub(r"\1", title).replace("`", "")).strip().lower()
        slug, count = given or re.sub(r"[-\s]+", "-", plain), 1
        while slug in found:
            slug, count = f"{slug.rsplit('_', 1)[0] if count > 1 else slug}_{count}", count + 1
        found.add(slug)
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", page.read_text()))
