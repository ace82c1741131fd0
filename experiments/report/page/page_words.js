"use strict";
// The project's glossary: a list at the end of the page, and the meaning of a term
// under the pointer.

// [words, meaning] by row of the table in docs/glossary.md.
const glossaryRows = byId("glossary").textContent.split("\n")
    .map((line) => line.match(/^\| (.+?) \| (.+) \|$/))
    .filter((row) => row && row[1] !== "word" && !row[1].startsWith("---"))
    .map((row) => row.slice(1).map((text) => text.replaceAll("`", "")));

// A row may explain several words: "lossless, lossy", "acceptance rate (alpha)".
const glossary = new Map(glossaryRows.flatMap(
    ([words, meaning]) => words.split(/[,()]/).map((word) => word.trim())
        .filter(Boolean).map((word) => [word, meaning])));

// `sentence`, and what the glossary has of `word`.
function withMeaning(word, sentence) {
  const meaning = glossary.get(word);
  return meaning ? `${sentence}\n${word}: ${meaning}` : sentence;
}

function drawGlossary() {
  byId("words").replaceChildren(...glossaryRows.flatMap(([words, meaning]) => [
    element("dt", {}, words), element("dd", {}, meaning),
  ]));
  for (const term of document.querySelectorAll("abbr[data-word]")) {
    term.title = glossary.get(term.dataset.word) ?? "";
  }
}
