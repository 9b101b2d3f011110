"""Configuration of the site; pages of papers, claims and modules are written first."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

from pages.elsewhere import ALIASES, write_inventories  # noqa: E402
from pages.papers import write_ledger  # noqa: E402
from pages.reference import write_reference  # noqa: E402

_PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project = "deep-ledger"
author = "The deep-ledger authors"
release = _PROJECT["version"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "pages.claim_links",
    "pages.drawn",
    "pages.examples",
    "pages.mathml",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "py:obj"
exclude_patterns = ["_build", "generated", "pages", "static"]

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "deep-ledger"
# Drawings lie below `_build`, which is no part of the source.
html_static_path = ["static", "_build/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5f8b",
        "color-brand-content": "#1f5f8b",
        "color-background-primary": "#fdfcfa",
        "color-background-secondary": "#f5f3ee",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7db9e0",
        "color-brand-content": "#7db9e0",
        "color-background-primary": "#16181b",
        "color-background-secondary": "#1c1f23",
    },
}

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
# Types of parameters link to where they are described, here or in other projects.
numpydoc_xref_param_type = True
numpydoc_xref_aliases = ALIASES
numpydoc_xref_ignore = "all"
# Inventories of our own: a build asks nobody.
intersphinx_mapping = write_inventories(HERE / "_build" / "inventories")
intersphinx_disabled_reftypes = ["std:*"]

write_ledger(HERE, HERE.parent / "results")
write_reference(HERE / "reference")
