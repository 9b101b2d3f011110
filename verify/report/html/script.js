"use strict";
// Search and filters. The page is whole without them.
const form = document.getElementById("filters");
const lines = [...document.querySelectorAll("table.claims tr:not(.group)")].flatMap((line) => {
  const link = line.querySelector("td a");
  if (!link) return [];
  const article = document.getElementById(link.hash.slice(1));
  return [{
    line,
    article,
    paper: line.parentElement.dataset.paper,
    evidence: line.cells[1].textContent,
    // Without what stands beside it.
    verdict: line.cells[3].firstChild.textContent.trim(),
    words: "",
  }];
});
const value = (name) => document.getElementById(name)?.value ?? "";
// Formulas have letters for which keyboards have names: rho, \\rho.
const greek = Object.fromEntries(
  ("alpha α beta β gamma γ delta δ epsilon ϵ zeta ζ eta η theta θ kappa κ lambda λ mu μ nu ν" +
    " xi ξ pi π rho ρ sigma σ tau τ phi ϕ chi χ psi ψ omega ω")
    .split(" ").flatMap((each, k, all) => (k % 2 ? [] : [[each, all[k + 1]]])),
);
const letter = (word) => greek[word.replace(/^\\/, "")];

function filter() {
  const wanted = value("search").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const one of lines) {
    one.words ||= one.article.textContent.toLowerCase();
    const fits =
      ["paper", "evidence", "verdict"].every((n) => !value(n) || value(n) === one[n]) &&
      wanted.every((w) => one.words.includes(w) || one.words.includes(letter(w) ?? w));
    one.line.hidden = one.article.hidden = !fits;
    shown += fits;
  }
  for (const group of document.querySelectorAll("table.claims tbody"))
    group.hidden = !group.querySelector("tr:not(.group, [hidden])");
  for (const group of document.querySelectorAll("section.group"))
    group.hidden = !group.querySelector("article:not([hidden])");
  document.getElementById("shown").value = `${shown} of ${lines.length} claims`;
}

// A link leads to its claim, whatever is filtered away.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.matches("article[hidden]")) return;
  form.reset();
  filter();
  bring(target);
}

// What is above takes its size only when it is drawn: so a few frames long.
function bring(target, frames = 10) {
  target.scrollIntoView({ behavior: "instant" });
  if (frames) requestAnimationFrame(() => bring(target, frames - 1));
}

// A reference names its claim to who asks; those of the coverage have its colour too.
function entitle(event) {
  const link = event.target.closest?.("a.ref:not([title]), .refs a:not([title]), .items a:not([title])");
  const article = link && document.getElementById(link.hash.slice(1));
  if (article) link.title = article.querySelector("h4").textContent;
}
addEventListener("mouseover", entitle);
addEventListener("focusin", entitle);
const kinds = new Map(lines.map((one) =>
  [`#${one.article.id}`, one.line.cells[3].className || "holds"]));
for (const link of document.querySelectorAll(".items a"))
  link.classList.add(kinds.get(link.getAttribute("href")));

form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const found = lines.filter((one) => !one.line.hidden).map((one) => one.line.querySelector("a"));
  const named = value("search").trim().toLowerCase();
  (found.find((link) => link.textContent.toLowerCase() === named) ?? found[0])?.focus();
});
addEventListener("hashchange", reveal);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/INPUT|SELECT/.test(event.target.tagName)) return;
  event.preventDefault();
  document.getElementById("search").focus();
});
filter();
