"""Statements on trained networks, which wait for networks to be pre-trained."""

from verify.claim import Claim, Evidence, Source

KEY = "lee2023unsupervised"

_BED = "It needs the pre-training test-bed, which is not built yet"


def _open(
    name: str,
    items: tuple[str, ...],
    title: str,
    statement: str,
    where: str,
    also: str = "",
    evidence: Evidence = Evidence.TREND,
) -> Claim:
    return Claim(
        id=f"mmd/{name}",
        items=items,
        title=title,
        statement=statement,
        source=Source(KEY, where),
        evidence=evidence,
        open_reason=f"{_BED}{also}.",
    )


CLAIMS = (
    _open(
        "eq5",
        ("Eq5",),
        "Parameters leave their start as the logarithm of time",
        r"\|\theta_t-\theta_0\|\sim\log t",
        "Equation 5, after Hoffer, Hubara and Soudry 2017",
        "; fits on log t and on the root of t are to be compared over ten starts",
    ),
    _open(
        "claim1",
        ("Claim1",),
        "After pre-training the law of each prediction is uniform, with full support",
        r"f_{\theta_0+\epsilon}(x)\sim U(\Delta^{d-1})\text{ for each }x",
        "Claim 1",
    ),
    _open(
        "ds",
        ("DS",),
        "The share of perturbed models that leave a class of a minibatch empty",
        r"DS=\text{share of 256 models with fewer than }d\text{ classes on 32 inputs}",
        "Appendix C.2",
    ),
    _open(
        "dead",
        ("Dead",),
        "The share of hidden units that are off on a whole minibatch",
        r"x_{l,j}\le0\text{ on all 32 examples}",
        "Appendix B.3",
    ),
    _open(
        "iod",
        ("IOD",),
        "Detachment is measured by the layer with most dead units",
        r"IOD=\max_l\text{ mean share of dead units of layer }l",
        "Appendix C.2",
    ),
    _open(
        "tab1",
        ("Tab1",),
        "Pre-trained starts are more accurate, most so with few labels",
        r"82.42-79.63>92.48-90.91\text{ (Xavier)},\;82.27-79.17>92.61-91.34\text{ (He)}",
        "Table 1",
        ", with fine-tuning on 20 binary tasks",
    ),
    _open(
        "tab2",
        ("Tab2",),
        "Pre-trained starts have the smaller spread over tasks",
        r"4.76<6.62\text{ (Xavier, }N=5),\;5.26<5.74\text{ (He, }N=5)",
        "Table 2",
        ", with fine-tuning on 20 binary tasks",
    ),
    _open(
        "tab3",
        ("Tab3",),
        "The loss against degenerate softmax lowers its share from 89 to 1 per cent",
        r"89.32\,(0,0),\;0.41\,(0.4,0),\;80.83\,(0,1),\;1.39\,(0.4,1)",
        "Table 3",
    ),
    _open(
        "tab4",
        ("Tab4",),
        "Both regularisers together leave the fewest dead units in late layers",
        r"80.08\,(0,0),\;8.21\,(0.4,0),\;0.02\,(0.4,1)\text{ \% in layer 3}",
        "Table 4",
    ),
    _open(
        "tab5",
        ("Tab5",),
        "Both shares depend on s and lambda; (1/2, 0.4) is chosen",
        r"DS=1.58,\;IOD=5.48\text{ \% at }s^2=0.5,\,\lambda=0.4",
        "Table 5",
    ),
    _open(
        "fig1",
        ("Fig1",),
        "Uniformity alone: predictions spread at each input, models become constant",
        r"L_{uni}\text{ alone: }p\text{ is uniform over }\epsilon,\text{ a spike over }x",
        "Figure 1",
    ),
    _open(
        "fig2",
        ("Fig2",),
        "Minimising the loss at the start lowers it around the start, less for larger s",
        r"L_{iod}(\theta_0+\epsilon)\text{ falls with }L_{iod}(\theta_0)",
        "Figure 2",
    ),
    _open(
        "fig3",
        ("Fig3",),
        "The discrepancy comes near zero for lambda up to 0.4 and not for 1",
        r"L_{uni}(\theta_t)\to0\text{ for }\lambda\le0.4",
        "Figure 3",
    ),
    _open(
        "err13",
        ("Err13",),
        "Why lambda is tuned and xi is not: the reason given names the other loss",
        r"L_{uni}\text{ and }L_{iod}\text{ are intertwined}\Rightarrow\text{tune }\lambda",
        "Section 3.3",
        ": whether lambda or xi moves L_uni more has to be seen in training",
    ),
)
