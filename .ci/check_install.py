"""Check that wheel and sdist hold every tracked file and that fastrm imports however it was installed.

Run inside a virtual environment that has fastrm's dependencies; new environments borrow them through a .pth file.
"""

import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMPORT = "import fastrm, fastrm.kernels, fastrm.bench.__main__; fastrm.compile; print(fastrm.__file__)"


def run(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def must(*command, cwd):
    code, output = run(*command, cwd=cwd)
    if code:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{output}")
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
        installs = {"checkout": [], "wheel": [wheel], "editable": ["-e", clone]}
        for kind, arguments in installs.items():
            python = new_environment(work / kind, packages)
            if arguments:
                must(
                    sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", *arguments, cwd=work
                )
            for place in (clone, elsewhere):
                if kind == "checkout" and place == elsewhere:
                    code = f"import sys; sys.path.insert(0, {str(clone)!r}); {IMPORT}"
                else:
                    code = IMPORT
                print(
                    f"{kind:9} from {'root' if place == clone else 'elsewhere':9}", must(python, "-c", code, cwd=place)
                )
            if kind == "wheel":
                status, output = run(python, "-c", "import kernels", cwd=elsewhere)
                if status == 0:
                    sys.exit("the wheel makes a top-level package 'kernels' importable")
                print("wheel: import kernels is not possible:", output.splitlines()[-1])
        status, output = run(sys.executable, "-c", "import kernels", cwd=clone)
        if status == 0:
            sys.exit("a checkout makes a top-level package 'kernels' importable")


main()
