"""What claims on published networks' settings have in common."""

from functools import partial
from typing import Any

from empirical.digest import ROOT
from empirical.testbed.study import Study
from verify.claim import Case, Claim, numeric
from verify.claims._predictors import mistake
from verify.claims._sources import Place
from verify.compare import Identical
from verify.published import PLACE, said, today


def _in_turn(found: dict[str, str]) -> dict[str, str]:
    names = list(found)
    return dict(zip(names, [found[n] for n in (*names[1:], names[0])], strict=True))


def published(
    study: Study[Any],
    *,
    id: str,
    networks: str,
    items: tuple[str, ...],
    uses: tuple[str, ...],
    ours: Place,
    cases: tuple[Case, ...],
) -> Claim:
    """Return the claim that a study would train its published networks as they were."""
    return numeric(
        id=id,
        items=items,
        uses=uses,
        title=f"Published {networks} have the settings of today's configurations",
        statement=r"c_{\text{published}} = c_{\text{today}}",
        source=ours("The records of trained networks, under results"),
        cases=cases,
        predict=partial(said, study),
        measure=partial(today, study),
        compare=Identical(),
        reads=(PLACE.relative_to(ROOT).as_posix(),),
        must_refute=mistake("Each those of the next one.", then=_in_turn),
        assumptions=("c: all settings of each network, compared by their digests",),
    )
