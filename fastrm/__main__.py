"""``python -m fastrm``: the same program as the installed script ``fastrm``."""

import sys
from importlib import import_module

sys.exit(import_module("fastrm.bench.__main__").main())  # type checkers do not see where a checkout keeps `bench`
