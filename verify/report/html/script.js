"use strict";
// Search and filters. The page is whole without them.
const form = document.getElementById("filters");
const lines = [...document.querySelectorAll("tr[data-claim]")].map((line) => {
  const article = document.getElementById(line.dataset.claim);
  return {
    line,
    article,
    paper: line.dataset.paper,
    evidence: line.querySelector(".evidence").textContent,
    verdict: line.querySelector(".verdict").textContent,
    words: "",
  };
});
const value = (name) => document.getElementById(name)?.value ?? "";
const latex = (article) =>
  [...article.querySelectorAll("math")].map((m) => m.getAttribute("alttext")).join(" ");

function filter() {
  const wanted = value("search").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const one of lines) {
    one.words ||= `${one.article.textContent} ${latex(one.article)}`.toLowerCase();
    const fits =
      ["paper", "evidence", "verdict"].every((n) => !value(n) || value(n) === one[n]) &&
      wanted.every((word) => one.words.includes(word));
    one.line.hidden = one.article.hidden = !fits;
    shown += fits;
  }
  for (const group of document.querySelectorAll("table.claims tbody"))
    group.hidden = !group.querySelector("tr[data-claim]:not([hidden])");
  for (const group of document.querySelectorAll("section.group"))
    group.hidden = !group.querySelector("article:not([hidden])");
  document.getElementById("shown").value = `${shown} of ${lines.length} claims`;
}

// A link leads to its claim, whatever is filtered away.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.matches("article.claim[hidden]")) return;
  form.reset();
  filter();
  target.scrollIntoView();
}

form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", reveal);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || /INPUT|SELECT/.test(event.target.tagName)) return;
  event.preventDefault();
  document.getElementById("search").focus();
});
filter();
