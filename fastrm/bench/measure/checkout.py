"""Files of the checkout that are not installed: the oracle, and the C loop."""

from __future__ import annotations

from pathlib import Path

from fastrm import kernels


def checkout_file(*names: str) -> Path | None:
    """Return a file of the checkout that fastrm runs from, None where it is installed or the file is not there.

    Beside an installed package lie files of other packages, and the files looked for are executed. Kernels lie beside
    the package in a checkout and inside it when installed, which tells the two apart. A link out of the checkout does
    not count either.
    """
    root = Path(__file__).resolve().parents[3]
    if Path(str(kernels.__file__)).resolve().parent != root / "kernels":
        return None
    path = root.joinpath(*names).resolve()
    return path if path.is_file() and path.is_relative_to(root) else None
