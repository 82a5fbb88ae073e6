"""The command line: ``python -m fastrm.bench``, installed as ``fastrm``. Parsing and printing only."""
