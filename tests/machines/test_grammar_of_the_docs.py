"""The grammars on the page about maps and machines: what they allow, the parsers read."""

import random
import re

import pytest

from fastrm import GridMap, MachineError, MapError
from fastrm.machines.language import parse_guard, parse_reward
from fastrm.machines.language.drafts import read_own
from fastrm.machines.terms import automaton

from pages import DOCS

PAGE = (DOCS / "reference" / "language.md").read_text()
TEXT = re.sub(r"\(\*.*?\*\)", "", "\n".join(re.findall(r"^```ebnf\n(.*?)^```", PAGE, re.M | re.S)), flags=re.S)
RULES = dict(re.findall(r"^(\w+) +=(.*?);\s*$", TEXT, re.M | re.S))
TOKENS = re.compile(r'\s*("[^"]*"|\w+|[\[\](){},|])')
LEAVES = {"state": ("u0", "u1", "done"), "number_from_1": ("1", "2"), "whole": ("0", "3")}
CLOCKS = "clock t 0..20\ncount load -9..9\n"
BEYOND = "given twice|to be avoided|more than|nothing completes|at most|whole numbers|changed twice|has no deadlines"
"""Of messages about what no grammar of this kind can say."""
DEEPEST = 8


class Writer:
    """Writes a random text that a grammar allows; beyond some depth the first choice, which is the shortest."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def write(self, rule: str, depth: int = 0) -> list[str]:
        if rule in LEAVES:
            return [self.random.choice(LEAVES[rule])]
        tokens = TOKENS.findall(RULES[rule])
        words = self.choice(tokens, depth)
        return ["".join(words)] if rule == "name" else words

    def choice(self, tokens: list[str], depth: int) -> list[str]:
        bars = [k for k, level in enumerate(levels(tokens)) if level == 0 and tokens[k] == "|"]
        picked = 0 if depth > DEEPEST else self.random.randrange(len(bars) + 1)
        return self.sequence(tokens[[-1, *bars][picked] + 1 : [*bars, len(tokens)][picked]], depth)

    def sequence(self, tokens: list[str], depth: int) -> list[str]:
        words: list[str] = []
        k = 0
        while k < len(tokens):
            if tokens[k] in ("(", "[", "{"):
                end = k + next(n for n, level in enumerate(levels(tokens[k:])) if level == 1 and tokens[k + n] in ")]}")
                most = {"(": 1, "[": 1, "{": 2}[tokens[k]] if depth <= DEEPEST or tokens[k] == "(" else 0
                for _ in range(1 if tokens[k] == "(" else self.random.randint(0, most)):
                    words += self.choice(tokens[k + 1 : end], depth + 1)
                k = end
            elif tokens[k].startswith('"'):
                words.append(tokens[k][1:-1])
            elif tokens[k] != ",":
                words += self.write(tokens[k], depth + 1)
            k += 1
        return words


def levels(tokens: list[str]) -> list[int]:
    """Return how deep in brackets each token stands, brackets themselves counting as inside."""
    found, level = [], 0
    for token in tokens:
        level += token in ("(", "[", "{")
        found.append(level)
        level -= token in (")", "]", "}")
    return found


@pytest.mark.parametrize("seed", range(100))
def test_the_parsers_read_what_the_grammars_allow(seed):
    writer = Writer(seed)
    for read, text in (
        (lambda text: parse_guard(text, values=("t", "load")), " ".join(writer.write("guard"))),
        (lambda text: parse_reward(text, values=("t", "load")), " ".join(writer.write("reward"))),
        (lambda text: read_own(f"{CLOCKS}start u0\n{text}", "<page>"), " ".join(writer.write("edge"))),
        (
            lambda text: read_own(f"start u0\n{text}", "<page>"),
            " ".join(writer.write("variable")).replace(" .. ", ".."),
        ),
        (automaton, " ".join(writer.write("task"))),
    ):
        try:
            read(text)
        except MachineError as problem:
            assert re.search(BEYOND, str(problem)), problem


@pytest.mark.parametrize("text", ["a = b", "a b", "d(a)", "closer a", "(a", "a & d(b)", "not a"])
def test_a_guard_outside_the_grammar_is_refused(text):
    with pytest.raises(MachineError):
        parse_guard(text)


def test_the_page_knows_every_tile():
    tiles = TOKENS.findall(RULES["tile"])
    for tile in ("X", "A", " ", "."):
        assert f'"{tile}"' in tiles
    with pytest.raises(MapError):
        GridMap.parse("XXX\nXAX\nX?X\nXXX")
