"""Check that wheel and sdist hold every tracked file and that fastrm imports however it was installed.

Run inside a virtual environment that has fastrm's dependencies; new environments borrow them through a .pth file.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ("fastrm", "fastrm.kernels", "fastrm.bench.__main__")
NOT_MODULES = ("fastrm.tests", "fastrm.setup", "fastrm.docs")
"""Folders and files beside the package."""
NOT_ALONE = ("kernels", "bench")
"""They are parts of fastrm, and what is installed must not claim these names."""
SCRIPT = """
import importlib, sys
here, modules, others = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
if here:
    sys.path.insert(0, here)
for name in modules:
    importlib.import_module(name)
import fastrm
fastrm.compile
for name in others:
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    sys.exit(f"import {name} succeeds")
print(fastrm.__file__)
"""


def must(*command, cwd):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    output = (done.stdout + done.stderr).strip()
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{output}")
    return output


def tracked_modules():
    files = must("git", "ls-files", "fastrm", "kernels", "bench", cwd=ROOT).split()
    inside = {"fastrm": "fastrm", "kernels": "fastrm/kernels", "bench": "fastrm/bench"}
    return {inside[name.partition("/")[0]] + "/" + name.partition("/")[2] for name in files}


def check_sdist(clone, work):
    """Build the sdist, compare it with the checkout, and return the folder it unpacks to."""
    must(sys.executable, "-m", "build", "--sdist", "--outdir", work, clone, cwd=work)
    (sdist,) = work.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(work / "sdist", filter="data")
    (unpacked,) = (work / "sdist").iterdir()
    tracked = [name for name in must("git", "ls-files", cwd=clone).splitlines() if not name.startswith(".git")]
    missing = [name for name in tracked if not (unpacked / name).is_file()]
    if missing:
        sys.exit(f"the sdist lacks {missing}; MANIFEST.in says what it holds")
    print(f"{sdist.name} holds all {len(tracked)} tracked files")
    return unpacked


def borrowed_packages(work):
    """Make a folder that shows this environment's packages, but not its own install of fastrm."""
    folder = work / "packages"
    folder.mkdir()
    for item in Path(sysconfig.get_path("purelib")).iterdir():
        if "fastrm" not in item.name:
            (folder / item.name).symlink_to(item)
    return folder


def new_environment(folder, packages):
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = must(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    (Path(site) / "borrowed.pth").write_text(f"{packages}\n")
    return python


def main():
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        clone = work / "clone"
        must("git", "clone", "-q", ROOT, clone, cwd=work)
        unpacked = check_sdist(clone, work)
        must(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work, unpacked, cwd=work)
        (wheel,) = work.glob("*.whl")
        missing = tracked_modules() - set(zipfile.ZipFile(wheel).namelist())
        if missing:
            sys.exit(f"the wheel lacks {sorted(missing)}")
        print(f"{wheel.name} holds all {len(tracked_modules())} tracked files")
        commit = must("git", "rev-parse", "HEAD", cwd=clone)
        recorded = zipfile.ZipFile(wheel).read("fastrm/COMMIT").decode().strip()
        if recorded != commit:
            sys.exit(f"the wheel records commit {recorded!r}, and was built from {commit}")
        print(f"it records the commit {commit}")
        must(sys.executable, "-m", "twine", "check", "--strict", wheel, *work.glob("*.tar.gz"), cwd=work)

        packages = borrowed_packages(work)
        must("rm", "-rf", clone / "build", clone / "fastrm.egg-info", cwd=work)
        elsewhere = work / "elsewhere"
        elsewhere.mkdir()
        check_imports("checkout", [], clone, elsewhere, packages)
        check_imports("wheel", [wheel], clone, elsewhere, packages)
        check_imports("editable", ["-e", clone], clone, elsewhere, packages)
        check_imports("sdist", [], unpacked, elsewhere, packages)


def check_imports(kind, install, root, elsewhere, packages):
    """Import what must be there, and see that nothing else is, from a source folder and from an empty one."""
    folder = elsewhere.parent / f"environment-{kind}"
    python = new_environment(folder, packages)
    if install:
        must(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", *install, cwd=elsewhere)
    for place in (root, elsewhere):
        # what is not installed is found in the folder of the process, or on its path
        here = root if place == elsewhere and not install else ""
        others = (*NOT_MODULES, *(NOT_ALONE if place == elsewhere and install else NOT_ALONE[:1]))
        found = must(python, "-c", SCRIPT, here, " ".join(MODULES), " ".join(others), cwd=place)
        inside = folder if kind == "wheel" and place == elsewhere else root
        if not Path(found).is_relative_to(inside):
            sys.exit(f"{kind} from {place}: fastrm is {found}")
        where = "root" if place == root else "elsewhere"
        print(f"{kind:9} from {where:10} imports {', '.join(MODULES)}; not {', '.join(others)}")


main()
