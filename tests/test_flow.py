"""Data flows one way: every module imports only what stands before it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
ORDER = [
    "errors", "textfile", "arrays", "config", "machines.language.expressions", "machines.language.draft",
    "machines.language.rm_format", "machines.language.reference_format", "machines.language.formats",
    "machines.automaton", "machines.reward_kinds", "machines.task_terms", "machines.ltlf", "machines.machine",
    "pictures.graph", "worlds.fences", "worlds.moves", "worlds.layouts", "worlds.grid", "machines.tasks", "naming",
    "experiments.monitor_files", "studies.published", "kernels", "problems.terrain", "problems.tabulate",
    "problems.compatibility", "problems.steps_to_go", "problems.compiler", "learners.options", "exact.rational",
    "exact.slip", "exact.paths", "exact.ties", "exact.solve", "exact.unit", "exact.thresholds", "exact.guarantees",
    "learners.hrm_fixed_point", "exact.lint", "exact", "learners.training", "results.stats", "results.export",
    "results.provenance", "experiments.experiment", "experiments.plan", "results.hdf5", "results.disk",
    "results.store", "results.dataset", "experiments.batches", "experiments.episode_logs", "experiments.runner",
    "studies.evidence", "studies.claim", "studies.path_claims", "studies.speed_claims", "studies.judge",
    "studies.parity", "pictures.style", "problems.episode", "problems.replay", "studies.findings",
    "pictures.plots", "pictures.figures", "pictures.policies", "pictures.animation", "pictures.text_curves",
    "pictures.map_views", "env.named_problems", "env.single", "env.vector", "env", "bench",
]  # fmt: skip


def imported_modules(path):
    """Yield the fastrm modules a file imports, at the top or inside functions; names for the type checker aside."""
    tree = ast.parse(path.read_text())
    checked = {id(n) for t in ast.walk(tree) if isinstance(t, ast.If) and "TYPE_CHECKING" in ast.dump(t.test)
               for n in ast.walk(t)}  # fmt: skip
    for node in ast.walk(tree):
        if id(node) in checked:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("fastrm"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fastrm":
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if is_module(name) else node.module for name in inner)


def is_module(name):
    relative = Path(*name.split(".")[1:])
    return any((base / relative).with_suffix(".py").is_file() or (base / relative).is_dir()
               for base in (ROOT / "fastrm", ROOT))  # fmt: skip


def rank(module):
    """Return the position of a module in the flow; a package stands for the modules not listed by themselves."""
    name = module.removeprefix("fastrm.")
    while name not in ORDER:
        assert "." in name, f"{module} has no place in the flow; add it to ORDER"
        name = name.rpartition(".")[0]
    return ORDER.index(name)


def module_of(path):
    parts = path.relative_to(ROOT / "fastrm").with_suffix("").parts
    return ".".join(("fastrm", *(part for part in parts if part != "__init__")))


def test_no_import_turns_back():
    files = [path for path in (ROOT / "fastrm").rglob("*.py") if path != ROOT / "fastrm" / "__init__.py"]
    assert len(files) > 10
    for path in files:
        for module in imported_modules(path):
            if module != "fastrm":
                inside_bench = module.startswith("fastrm.bench") and module_of(path).startswith("fastrm.bench")
                assert rank(module) < rank(module_of(path)) or inside_bench, (
                    f"{module_of(path)} imports {module}, which stands after it"
                )


def test_kernels_import_nothing_but_kernels():
    for path in (ROOT / "kernels").glob("*.py"):
        for module in imported_modules(path):
            assert module.startswith("fastrm.kernels"), f"{path.name} imports {module}"
