"""The house: which rooms there are, in which order data flows through them, and what each of them keeps to itself.

A room imports only rooms above it, and of those only what they make public; inside a room there are no cycles.
"""

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

import fastrm
import fastrm.learners

ROOT = Path(__file__).parent.parent
ROOMS = [
    "worlds", "machines", "problems", "exact", "learners", "inference", "results", "experiments", "plots", "pages",
    "env", "bench",
]  # fmt: skip
HALL = {
    "__init__", "arrays", "checks", "config", "dispatch", "errors", "lazy", "progress", "resources",
    "schedules", "textfile",
}  # fmt: skip
"""Modules that every room may use; they import only each other."""
DOORS = {"__main__", "custom"}
"""Modules for people alone: the program, and names from all rooms, imported when they are used."""
OPEN = {"fastrm.kernels", "fastrm.machines.language", "fastrm.learners.registry", "fastrm.env.sb3"}
"""What may be imported from inside a room: kernels are files of functions, the registry must not import Numba, and
`fastrm.env` must not import torch."""
DELEGATES = {
    ("results/dataset.py", "plan"),
    ("results/dataset.py", "replay"),
    ("results/dataset.py", "write_runs"),
    ("worlds/grid.py", "_repr_svg_"),
    ("worlds/grid.py", "plot"),
    ("machines/machine.py", "_repr_svg_"),
    ("machines/machine.py", "plot"),
    ("problems/problem.py", "_repr_html_"),
    ("exact/answers.py", "_repr_html_"),
    ("learners/runs.py", "_repr_html_"),
    ("learners/runs.py", "plot"),
    ("learners/runs.py", "save"),
    ("results/dataset.py", "_repr_html_"),
    ("results/dataset.py", "plot"),
    ("experiments/experiment.py", "load"),
    ("experiments/experiment.py", "named"),
}
"""Conveniences of an object that belong to a later room, or to a later module of its own, imported when called."""
PUBLIC_FUNCTIONS = {
    "compile",
    "solve",
    "train",
    "run",
    "load",
    "task",
    "lint",
    "check",
    "replay",
    "infer",
    "learn",
    "equivalent",
}
KEPT = {
    "matplotlib": ("plots/",),
    "PIL": ("plots/",),
    "h5py": ("results/hdf5.py",),
    "threading": (
        "progress.py",
        "resources.py",
        "bench/speed/",
        "experiments/executors.py",
        "experiments/execution.py",
    ),
    "concurrent": ("experiments/executors.py", "experiments/execution.py", "bench/studies/agenda.py"),
    "multiprocessing": ("experiments/executors.py",),
    "distributed": ("experiments/executors.py",),
    "gymnasium": ("env/", "bench/speed/", "bench/deep/"),
    "stable_baselines3": ("env/sb3.py", "bench/deep/"),
    "torch": ("bench/deep/",),
    "xarray": ("results/dataset.py",),
    "pandas": ("results/dataset.py",),
    "numba": (),
    "llvmlite": (),
    "ctypes": ("bench/speed/",),
    "pickle": (),
}
"""Who may import what, at the top or inside functions."""
GUIDES = ("CONTRIBUTING.md", "docs/explanation/architecture.md")
"""Pages for contributors; NAME in a path stands for any name."""
FILES = sorted(path for folder in ("fastrm", "bench") for path in (ROOT / folder).rglob("*.py"))


def name_of(path):
    """Return the dotted name of a file of fastrm."""
    parts = Path(place_of(path)).with_suffix("").parts
    return ".".join(("fastrm", *(part for part in parts if part != "__init__")))


def place_of(path):
    """Return where a file lies in an installed package, below its folder."""
    return str(path.relative_to(ROOT)).removeprefix("fastrm/")


def room_of(module):
    """Return the room of a dotted name, empty for the hall."""
    first = module.split(".")[1:2]
    return first[0] if first and first[0] in (*ROOMS, "kernels") else ""


@cache
def imports(path):
    """Return (module, names, function) of every import of a file, names for the type checker aside."""
    found = []
    tree = ast.parse(path.read_text())
    function_of, skipped = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            function_of |= {id(inner): node.name for inner in ast.walk(node)}
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.append((alias.name, [], function_of.get(id(node))))
        elif isinstance(node, ast.ImportFrom):
            names, module = [alias.name for alias in node.names], node.module or ""
            if node.level:  # only bench has relative imports
                folder = name_of(path).split(".")[: None if path.name == "__init__.py" else -1]
                module = ".".join((*folder[: len(folder) + 1 - node.level], *filter(None, [module])))
            found.append((module, names, function_of.get(id(node))))
    return found


@cache
def offered(folder):
    """Return what a package makes public."""
    tree = ast.parse((folder / "__init__.py").read_text()) if (folder / "__init__.py").is_file() else ast.Module([])
    return {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}


def folder_of(module):
    """Return the folder of a package, which for kernels and bench lies beside fastrm's."""
    parts = module.split(".")[1:]
    return (ROOT if parts[:1] in (["kernels"], ["bench"]) else ROOT / "fastrm").joinpath(*parts)


def modules(path):
    """Yield the fastrm modules that a file imports: a package stands for itself unless one of its files is named."""
    for module, names, function in imports(path):
        if module.split(".")[0] == "fastrm":
            folder = folder_of(module)
            files = [name for name in names if (folder / f"{name}.py").is_file() or (folder / name).is_dir()]
            inside = [name for name in files if name not in offered(folder)]  # exact offers the function lint
            yield from ((f"{module}.{name}", function) for name in inside)
            if len(inside) < len(names) or not names:
                yield module, function


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_room_imports_only_rooms_above_it(path):
    here = room_of(name_of(path))
    for module, function in modules(path):
        there = room_of(module)
        if (place_of(path), function) in DELEGATES:
            continue
        if there and there != "kernels" and here != there:
            assert here, f"the hall imports {module}"
            assert ROOMS.index(there) < ROOMS.index(here), f"{name_of(path)} imports {module}, a later room"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_rooms_are_entered_by_their_doors(path):
    here = room_of(name_of(path))
    for module, _ in modules(path):
        there = room_of(module)
        if there and there != here and module not in OPEN and not module.startswith("fastrm.kernels."):
            assert module == f"fastrm.{there}", f"{name_of(path)} imports {module}; import from fastrm.{there}"


def test_inside_a_room_there_are_no_cycles():
    graph = {}
    for path in FILES:
        if path.name != "__init__.py":
            relative = place_of(path)
            graph[name_of(path)] = {m for m, function in modules(path) if (relative, function) not in DELEGATES}
    done = set()

    def visit(name, trail):
        assert name not in trail, f"a cycle: {' -> '.join((*trail, name))}"
        if name not in done:
            for other in graph.get(name, ()):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_no_room_uses_a_door_that_is_for_people():
    for path in FILES:
        for module, _ in modules(path):
            assert module not in {f"fastrm.{door}" for door in DOORS}, f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("package", KEPT)
def test_what_a_room_keeps_to_itself(package):
    for path in FILES:
        relative = place_of(path)
        if any(relative.startswith(place) for place in KEPT[package]):
            continue
        for module, _, _ in imports(path):
            assert module.split(".")[0] != package, f"{relative} imports {package}"


def test_kernels_import_nothing_but_kernels():
    for path in (ROOT / "kernels").rglob("*.py"):
        for module, _, _ in imports(path):
            assert not module.startswith("fastrm") or module.startswith("fastrm.kernels"), f"{path.name}: {module}"


def test_colours_are_known_in_one_place():
    for path in [*(ROOT / "fastrm" / "plots").rglob("*.py"), *(ROOT / "fastrm" / "pages").rglob("*.py")]:
        for colour in re.findall(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b", path.read_text()):
            parts = re.findall("..", colour[1:]) if len(colour) == 7 else list(colour[1:])
            assert path.name == "palette.py" or len(set(parts)) == 1, f"{path.name} has the colour {colour}"


def test_letters_of_objects_are_known_in_one_place():
    for path in FILES:
        if path.name != "tiles.py":
            assert not re.search(r"a-zH|islower\(|ascii_lowercase|\[a-z\]\|H", path.read_text()), path


def test_only_agenda_trains_among_the_studies():
    for path in (ROOT / "bench" / "studies").glob("*.py"):
        names = {name for module, found, _ in imports(path) if module == "fastrm.learners" for name in found}
        assert path.name == "agenda.py" or not names & {"train", "train_many", "Batch"}, path


def test_the_folder_listing_is_the_house():
    beside = {path.stem for path in (ROOT / "fastrm").glob("*.py")}
    assert beside == HALL | DOORS
    rooms = {path.parent.name for path in (ROOT / "fastrm").glob("*/__init__.py")}
    assert rooms | {"bench"} == set(ROOMS) and not rooms & PUBLIC_FUNCTIONS


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_and_what_it_offers(room):
    tree = ast.parse((folder_of(f"fastrm.{room}") / "__init__.py").read_text())
    assert ast.get_docstring(tree)
    logic = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.For | ast.While | ast.Try)]
    assert not logic, f"{room}/__init__.py holds logic"
    if room != "bench":
        assert any("__all__" in ast.dump(node) for node in tree.body), f"{room} does not say what it offers"


def words_of(page):
    """Return what a page says: its text, and every word between backquotes outside its blocks of code."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    return text, [word for span in re.findall(r"`([^`]+)`", text) for word in span.split()]


@pytest.mark.parametrize("page", GUIDES)
def test_guides_name_only_files_and_names_that_are_there(page):
    text, words = words_of(page)
    paths = [word for word in words if re.fullmatch(r"[\w.-]+(/[\w.-]*)+|[\w-]+\.(py|md|toml|yml)", word)]
    names = [word for word in words if re.fullmatch(r"fastrm(\.\w+)+", word)]
    assert len(paths) > 10 and not [path for path in paths if not any(ROOT.glob(path.replace("NAME", "*").rstrip("/")))]
    for name in names:
        pkgutil.resolve_name(name)  # or there is an error
    for name, path in re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", text):
        tree = ast.parse((ROOT / path.replace("NAME", "qrm")).read_text())
        assert name in {getattr(node, "name", getattr(node, "id", "")) for node in ast.walk(tree)}, f"{name} of {path}"


def test_the_guide_lists_the_rooms_in_their_order():
    text, _ = words_of(GUIDES[1])
    assert re.findall(r"^\| `(\w+)` \|", text, re.M) == ROOMS
    listed = re.findall(r"^  (\w+)/ ", (ROOT / GUIDES[1]).read_text(), re.M)
    assert listed == [*(room for room in ROOMS if room in listed), "suites", "studies", "speed", "deep"]
    assert {*ROOMS} - {*listed} == {"bench"}


def test_one_learner_is_read_in_five_files():
    (path,) = re.findall(r"^One learner.*?(?=^[A-Z])", (ROOT / GUIDES[1]).read_text(), re.M | re.S)
    assert 1 <= len(re.findall(r"^\d\. `", path, re.M)) <= 5


def test_tab_completion_shows_public_names_only():
    """Only what pages of the reference describe: no modules, no names that the package itself imports."""
    for package in (fastrm, fastrm.learners):
        assert dir(package) == sorted(package.__all__)
    assert {"train", "load_run", "__version__"} < set(dir(fastrm)) and "annotations" not in dir(fastrm)
