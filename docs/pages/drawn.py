"""Pictures of examples that draw: each below its example, drawn by the example itself."""

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from pages.examples import examples
from theory import plots
from verify.figures.style import as_svg

DRAWS = re.compile(r"\bplots\.\w+\(")
"""What stands in an example that draws."""


def drawn(blocks: list[str], name: str) -> Iterator[list[str]]:
    """Run the examples of a page in order; yield the drawings of each block, as SVG.

    Parameters
    ----------
    blocks : list of str
        Examples as they are printed; later ones use the names of earlier ones.
    name : str
        Of the page, from which drawings have their ids.

    Raises
    ------
    Exception
        What an example raises: the page says what is not so.
    """
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks:
        lines = doctest.DocTestParser().get_examples(block)
        with contextlib.redirect_stdout(io.StringIO()):
            for line in lines:
                exec(compile(line.source, name, "single"), names)
        drawing = [e.source.strip() for e in lines if DRAWS.search(e.source)]
        found: list[str] = []
        for number in plt.get_fignums():
            count += 1
            svg = as_svg(
                plt.figure(number),
                name=f"drawn-{count}",
                title="What the example draws",
                description="; ".join(drawing),
                # As at a prompt, on white: colour maps suit no dark page.
                themed=False,
            )
            found.append(svg)
        plt.close("all")
        yield found


def _show(app: Sphinx, document: nodes.document) -> None:
    printed = list(examples(document))
    # What comes behind the last that draws need not run.
    while printed and not DRAWS.search(printed[-1].astext()):
        printed.pop()
    if not printed:
        return
    # Drawn anew when the functions that draw change, or this.
    for path in (plots.__file__, __file__):
        app.env.note_dependency(path)
    name = app.env.docname
    for block, pictures in zip(
        printed, drawn([each.astext() for each in printed], name), strict=True
    ):
        if not pictures:
            continue
        text = f'<div class="drawn">{"".join(pictures)}</div>'
        shown = nodes.raw("", text, format="html")
        block.parent.insert(block.parent.index(block) + 1, shown)


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw as pages are read."""
    app.connect("doctree-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
