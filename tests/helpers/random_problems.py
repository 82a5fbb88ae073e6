"""Random small problems: maps with walls and several targets, machines with everything the language offers."""

from hypothesis import strategies as st

LETTERS = "abc"

atoms = st.one_of(
    st.sampled_from(LETTERS).map(lambda x: ("prop", x)),
    st.sampled_from(LETTERS).map(lambda x: ("prop", x)),  # labels matter most
    st.sampled_from(LETTERS).map(lambda x: ("prop", x + "2")),
    st.sampled_from(LETTERS).map(lambda x: ("closer", x)),
    st.sampled_from(LETTERS).map(lambda x: ("closer_any", x)),
    st.tuples(st.sampled_from(LETTERS), st.integers(0, 3)).map(lambda x: ("<=", ("d", x[0]), ("num", x[1]))),
    st.permutations(LETTERS).map(lambda x: ("<", ("d", x[0]), ("d_before", x[1]))),
    st.permutations(LETTERS).map(lambda x: ("or", ("prop", x[0]), ("and", ("prop", x[1]), ("closer", x[2])))),
)
rewards = st.one_of(
    st.sampled_from([0, 0, 0, 1, 0.1, -0.5, 1000]).map(lambda x: ("num", x)),
    st.sampled_from(LETTERS).map(lambda x: ("neg", ("d", x))),
    st.sampled_from(LETTERS).map(lambda x: ("-", ("num", 10), ("*", ("num", 0.3), ("d_before", x)))),
    st.just(("neg", ("min", ("d", "a"), ("d", "b")))),
    st.just(("+", ("num", 0.5), ("*", ("num", -0.1), ("to_go",)))),
)


@st.composite
def maps(draw, fences=False, several=False):
    """Make a map of up to 5 x 5 inner cells with every letter once or twice.

    If wanted, it has walls between cells, and several starts.
    """
    height, width = draw(st.integers(2, 5)), draw(st.integers(3, 5))
    cells = [(r, c) for r in range(1, height + 1) for c in range(1, width + 1)]
    order = draw(st.permutations(cells))
    rows = [["X"] * (width + 2) for _ in range(height + 2)]
    for r, c in cells:
        rows[r][c] = " "
    more = draw(st.lists(st.sampled_from(LETTERS), max_size=2)), draw(st.sampled_from(["A", "AA"] if several else [""]))
    wanted = ["A", *LETTERS, *more[0], *more[1]]
    walls = draw(st.integers(0, min(4, len(cells) - len(wanted)))) if len(cells) > len(wanted) else 0
    for (r, c), tile in zip(order, wanted[: len(cells)] + ["X"] * walls, strict=False):
        rows[r][c] = tile
    if fences and draw(st.booleans()):
        return draw(fenced([row[1:-1] for row in rows[1:-1]]))
    return "\n".join("".join(row) for row in rows) + "\n"


@st.composite
def fenced(draw, tiles):
    """Draw some tiles at twice the size with walls between about a fifth of the neighbours."""
    lines = [list("+-" * len(tiles[0]) + "+")]
    for row in tiles:
        for mark, corner in ((row, "|"), ([" "] * len(row), "+")):
            lines.append([corner, *(part for tile in mark for part in (tile, corner))])
            for c in range(2 if corner == "|" else 1, 2 * len(row), 2):
                lines[-1][c] = draw(st.sampled_from("    " + ("|" if corner == "|" else "-")))
    lines[-1] = lines[0]
    return "\n".join("".join(line) for line in lines) + "\n"


@st.composite
def machines(draw, with_gaps=False, guided=False, fails=False):
    """Make a machine of up to four states; guards of a state exclude each other by construction.

    If wanted, it can fail, and has one more state from which it can only fail.
    """
    n = draw(st.integers(1, 4))
    states = [f"u{i}" for i in range(n)]
    failure = draw(st.sampled_from([["lost"], ["lost", "dead"]] if fails else [[], [], ["lost"]]))
    targets = [*states, "done", *failure]
    edges = []
    for i, state in enumerate(states):
        before = []
        forward = states[i + 1] if i + 1 < n else "done"
        more = [*failure, "doomed"] if fails and i == 0 else draw(st.lists(st.sampled_from(targets), max_size=3))
        for target in [forward, *more]:
            atom = draw(atoms)
            if atom in before:
                continue
            guard = ("and", *(("not", other) for other in before), atom) if before else atom
            edges.append((state, guard, target, draw(rewards)))
            before.append(atom)
        if not (with_gaps and draw(st.booleans())):
            edges.append((state, "otherwise", draw(st.sampled_from([state, state, state, *targets])), draw(rewards)))
    if fails:
        states.append("doomed")
        edges += [("doomed", draw(atoms), draw(st.sampled_from(failure)), draw(rewards))]
        edges += [("doomed", "otherwise", draw(st.sampled_from(["doomed", "doomed", *failure])), draw(rewards))]
    potential = draw(st.sampled_from([0.0, 0.0, 1.0, 0.3])) if guided else 0.0
    score = draw(st.sampled_from(["task", "own"]))
    return {"states": states, "start": "u0", "success": ["done"], "failure": failure, "edges": edges, "score": score,
            "potential": potential}  # fmt: skip
