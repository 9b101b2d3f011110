"""Networks trained on one image: what depth, width, kernels and starts do to them."""

from verify.claim import Claim, Evidence, Source

KEY = "zhang2020identity"

_FIGURES = (
    *("Fig1", "Fig2", "Fig3", "Fig4", "Fig5", "Fig7", "Fig8", "Fig9", "Fig10", "Fig11"),
    *(f"Fig{k}" for k in (*range(13, 20), *range(21, 31), *range(32, 44))),
    *("Probe", "Layer", "SVD", "Upper", "Rel"),
)

FIGURES = Claim(
    id="id/Fig3",
    items=_FIGURES,
    title="Depth moves convolutional networks from the identity to a constant",
    statement=r"\text{correlation to the identity falls, to the constant rises with depth}",
    source=Source(KEY, "Sections 4 and 5"),
    evidence=Evidence.TREND,
    open_reason=(
        "Networks of several layers have no closed form; they have to be trained, and"
        " this ledger does not train them yet."
    ),
)

CLAIMS = (FIGURES,)
