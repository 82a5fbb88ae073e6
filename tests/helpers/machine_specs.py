"""Machines in the oracle's form, and the same machines as text for the package."""

_INFIX = {"and": " & ", "or": " | ", "<": " < ", "<=": " <= ", "==": " == ", "+": " + ", "-": " - ", "*": " * "}


def text_of(expression):
    """Write a nested tuple in the guard language, with more parentheses than needed."""
    head, *rest = expression
    if head == "num":
        return repr(float(rest[0]))
    if head == "true":
        return "true"
    if head in ("prop", "val"):
        return rest[0]
    if head == "to_go":
        return "to_go()"
    if head in ("d", "d_before", "closer", "closer_any"):
        return f"{head}({rest[0]})"
    if head in ("not", "neg"):
        return ("!" if head == "not" else "-") + f"({text_of(rest[0])})"
    parts = [text_of(part) for part in rest]
    return f"{head}({', '.join(parts)})" if head in ("min", "max") else f"({_INFIX[head].join(parts)})"


def machine_text(spec):
    """Write a machine spec as a .rm file."""
    lines = [f"states {' '.join(spec['states'])}", f"start {spec['start']}", f"success {' '.join(spec['success'])}"]
    if spec["failure"]:
        lines.append(f"failure {' '.join(spec['failure'])}")
    lines.append(f"score {spec['score']}")
    if spec.get("potential"):
        lines.append(f"potential {spec['potential']!r}")
    for source, guard, target, reward in spec["edges"]:
        when = guard if guard == "otherwise" else f"when {text_of(guard)}"
        lines.append(f"{source} -> {target} {when} reward {text_of(reward)}")
    return "\n".join(lines) + "\n"


def sequence_spec(task, kind, *, closer="nearest", distance="after", terminal=5.0, step=0.1):
    """Build the machine of a sequential task in the oracle's form, from the table in the definitions."""
    targets = task.split("-")
    edges = []
    for i, x in enumerate(targets):
        here, last = f"u{i}", i == len(targets) - 1
        there = "done" if last else f"u{i + 1}"
        arrive = terminal if last else (step if kind == "numeric-boolean" else 0)
        edges.append((here, ("prop", x), there, ("num", arrive)))
        if kind == "numeric-boolean":
            feature = ("closer" if closer == "nearest" else "closer_any", x)
            edges.append((here, ("and", ("not", ("prop", x)), feature), here, ("num", step)))
        stay = ("neg", ("d" if distance == "after" else "d_before", x)) if kind == "numeric" else ("num", 0)
        edges.append((here, "otherwise", here, stay))
    return {
        "states": [f"u{i}" for i in range(len(targets))], "start": "u0", "success": ["done"], "failure": [],
        "edges": edges, "score": "task",
    }  # fmt: skip
