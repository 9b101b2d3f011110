"""Configuration of the manual; pages of claims are written from the ledger."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

from claim_pages import write_claim_pages  # noqa: E402

project = "deep-ledger"
author = "The deep-ledger authors"
release = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"][
    "version"
]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
html_theme = "furo"
html_title = "deep-ledger"
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

write_claim_pages(HERE / "claims", records=HERE.parent / "results" / "quick")
