"use strict";
// The answer: what every rival is worth, a table for each temperature, the largest
// target first. The sentences are those of the terminal.

const verdictSigns = {"faster": "▲ ", "slower": "▼ ", "undecided": ""};

function withSign(value) {
  return (value > 0 ? "+" : "") + value.toFixed(2);
}

function estimateText(found) {
  if (!found) return "–";
  return found.value.toFixed(2) +
         (hasInterval(found)
              ? ` [${found.low.toFixed(2)}, ${found.high.toFixed(2)}]` : "");
}

// The verdict on a paired difference, its interval, and what would decide it.
function verdictNode(difference) {
  const range = hasInterval(difference)
                    ? ` [${withSign(difference.low)}, ${withSign(difference.high)}]`
                    : "";
  const wanted = difference.prompts_wanted
                     ? `about ${difference.prompts_wanted} prompts would decide it`
                     : "";
  return element(
      "span", {},
      element("span", {class: `verdict ${difference.verdict}`},
              verdictSigns[difference.verdict] + difference.verdict),
      ` ${withSign(difference.value)}${range}`,
      wanted && element("small", {}, wanted));
}

// A cell of the table, with its column's title for narrow screens.
function answerData(title, ...children) {
  return element("td", {class: "words", "data-title": title}, ...children);
}

function speedNode(numbers) {
  return element("span", {}, element("strong", {}, estimateText(numbers.speed)),
                 numbers.unexplained
                     ? element("small", {class: "warning"},
                               "above tokens per pass: the machine's noise")
                     : "");
}

function answerRow(name, entry, withdrawn, anyChains) {
  const cells = withdrawn ? [] : [answerData("speedup", speedNode(entry))];
  cells.push(answerData("tokens per pass", estimateText(entry.tokens_per_pass)));
  if (!withdrawn) {
    cells.push(answerData(
        "against the reference",
        entry.reference?.difference
            ? verdictNode(entry.reference.difference) : "–",
        entry.reference ? element("small", {}, entry.reference.name) : ""));
  }
  if (anyChains && !withdrawn) {
    cells.push(answerData(
        "against the hardest chain of its own drafters",
        entry.chain?.difference ? verdictNode(entry.chain.difference) : "–",
        entry.chain ? element("small", {}, entry.chain.name) : ""));
  }
  return element("tr", {}, element("th", {class: "words", scope: "row"}, name),
                 ...cells);
}

function answerTable(target, at) {
  const entries = target.rows.flatMap(
      (row) => row.at.filter((entry) => entry.temperature === at.temperature)
                   .map((entry) => ({name: row.name, entry})));
  const anyChains = entries.some(({entry}) => entry.chain);
  const references = distinct(
      entries.map(({entry}) => entry.reference).filter((other) => other),
      (other) => other.cell).map((cell) => entries.map(
      ({entry}) => entry.reference).find((other) => other?.cell === cell));
  const titles = ["", ...(at.withdrawn ? [] : ["speedup"]), "tokens per pass",
                  ...(at.withdrawn ? [] : ["against the reference"]),
                  ...(anyChains && !at.withdrawn
                          ? ["against the hardest chain of its own drafters"]
                          : [])];
  return element(
      "table", {class: "cards"},
      element("caption", {}, `temperature ${at.temperature}, ` +
                                 `${at.prompts} prompts`),
      element("thead", {}, element("tr", {}, ...titles.map(
          (title) => element("th", {class: "words"}, title)))),
      element("tbody", {},
              ...references.map((other) => answerRow(
                  `reference: ${other.name}`,
                  {...other, reference: null, chain: null}, at.withdrawn,
                  anyChains)),
              ...entries.map(({name, entry}) => answerRow(
                  name, entry, at.withdrawn, anyChains))));
}

function drawAnswer() {
  const answer = report.answer;
  const targets = (answer?.targets ?? []).filter(
      (target) => target.rows.length > 0);
  byId("answer").hidden = targets.length === 0;
  if (answer && answer.records < answer.expected) {
    byId("unfinished").hidden = false;
    byId("unfinished").textContent = `Unfinished: ${answer.records} of ` +
        `${answer.expected} records so far.`;
  }
  byId("loaded").textContent = answer?.loaded ?? "";
  byId("refuted").replaceChildren(...(answer?.refuted ?? []).map(
      (claim) => element("p", {}, claim)));
  byId("opening").replaceChildren(...targets.flatMap(
      (target) => target.opening.map((text) => element("p", {}, text))));
  byId("summary").replaceChildren(...(answer?.targets ?? []).filter(
      (target) => target.fastest).map(
      (target) => element("li", {}, target.fastest)));
  byId("notes").replaceChildren(...(answer?.notes ?? []).map(
      (note) => element("li", {}, note)));
  byId("about-chains").hidden = !targets.some((target) => target.rows.some(
      (row) => row.at.some((entry) => entry.chain)));
  byId("answer-body").replaceChildren(...targets.map((target, i) => element(
      "details", {open: i === 0},
      element("summary", {}, `${target.target}${target.marks}`),
      ...target.temperatures.map((at) => element(
          "div", {class: "scroll", tabindex: "0", role: "region",
                  "aria-label": `The answer on ${target.target} at temperature ` +
                                    at.temperature},
          answerTable(target, at))))));
}
