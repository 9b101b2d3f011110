"""Write one page for every claim of the ledger, with its latest record if any."""

from pathlib import Path

from verify import ledger
from verify.claim import Claim


def write_claim_pages(folder: Path, *, records: Path) -> None:
    """Write ``folder/<claim>.md`` for each claim and ``folder/index.md``."""
    folder.mkdir(exist_ok=True)
    claims = ledger.load()
    for claim in claims:
        name = file_name(claim)
        (folder / f"{name}.md").write_text(page(claim, records), encoding="utf-8")
    lines = [
        "# Claims",
        "",
        f"{len(claims)} claims, in the order of the papers.",
        "",
        "```{toctree}",
        ":maxdepth: 1",
        "",
        *(file_name(claim) for claim in claims),
        "```",
        "",
    ]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def file_name(claim: Claim) -> str:
    """Return the claim's id as a file name."""
    return claim.id.replace("/", "-")


def page(claim: Claim, records: Path) -> str:
    """Return a claim's page: statement, assumptions, source, evidence, finding."""
    parts = [f"# {claim.title}", "", f"`{claim.id}`", ""]
    parts += ["$$", claim.statement, "$$", ""]
    if claim.assumptions:
        parts += ["**Assumptions**", "", *(f"- {a}" for a in claim.assumptions), ""]
    parts += [f"**Source.** {claim.source.key}, {claim.source.where}", ""]
    if claim.open_reason:
        parts += [f"**Open.** {claim.open_reason}", ""]
        return "\n".join(parts)
    parts += [
        f"**Evidence.** {claim.evidence.value}: *holds* means that "
        f"{claim.evidence.meaning}.",
        "",
        f"**Expected.** {claim.expected.value}",
        "",
    ]
    if claim.finding:
        parts += ["**Finding.** " + claim.finding, ""]
    if claim.uses:
        links = ", ".join(f"[`{i}`]({i.replace('/', '-')}.md)" for i in claim.uses)
        parts += [f"**Rests on** {links}", ""]
    parts += [
        "**Run only this claim**",
        "",
        "```bash",
        f"python -m verify run {claim.id}",
        "```",
        "",
    ]
    figure = records / "figures" / f"{file_name(claim)}.svg"
    if claim.figure and figure.exists():
        target = Path("..") / ".." / figure.relative_to(records.parent.parent)
        parts += [f"![{claim.title}]({target.as_posix()})", ""]
    return "\n".join(parts)
