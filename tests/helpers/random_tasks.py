"""Random tasks as nested tuples, their texts, and what they mean, read off their definition."""

from hypothesis import strategies as st

LETTERS = "abcd"

visits = st.sampled_from(LETTERS).map(lambda x: ("visit", x))


def _grow(parts):
    several = st.lists(parts, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda x: ("then", *x)),
        several.map(lambda x: ("any order", *dict.fromkeys(x))),
        several.map(lambda x: ("or", *x)),
        st.tuples(st.integers(1, 3), parts).map(lambda x: ("times", *x)),
        st.tuples(st.integers(1, 4), parts).map(lambda x: ("within", *x)),
    )


tasks = st.recursive(visits, _grow, max_leaves=5)


def text_of(task, above=0):
    """Write a task; `above` is how tightly its surroundings bind."""
    head, *rest = task
    if head == "visit":
        return rest[0]
    if head == "any order":
        return "{" + ", ".join(text_of(part) for part in rest) + "}"
    if head == "times":
        return f"{rest[0]}*{text_of(rest[1], 3)}"
    if head == "within":
        text = f"{text_of(rest[1], 3)} within {rest[0]}"
        return f"({text})" if above > 2 else text
    sign, level = ("-", 2) if head == "then" else (" | ", 1)
    text = sign.join(text_of(part, level + 1) for part in rest)
    return f"({text})" if above > level else text


def end_of(task, trace, start=0):
    """Return after how many labels of a trace a task that begins at `start` is done, None if it is not."""
    head, *rest = task
    if head == "visit":
        return next((i + 1 for i in range(start, len(trace)) if trace[i][:1] == rest[0]), None)
    if head == "different":
        letter, count = rest
        met = set()
        for i in range(start, len(trace)):
            met |= {trace[i]} if trace[i][:1] == letter else set()
            if len(met) == count:
                return i + 1
        return None
    if head == "within":
        end = end_of(rest[1], trace, start)
        return None if end is None or end - start > rest[0] else end
    if head == "times":
        rest = [rest[1]] * rest[0]
    if head in ("then", "times"):
        for part in rest:
            start = end_of(part, trace, start)
            if start is None:
                return None
        return start
    ends = [end_of(part, trace, start) for part in rest]
    if head == "any order":
        return None if None in ends else max(ends)
    return min((end for end in ends if end is not None), default=None)


def letters_of(task):
    head, *rest = task
    if head in ("visit", "different"):
        return {rest[0]}
    return set().union(*(letters_of(part) for part in rest if isinstance(part, tuple)))
