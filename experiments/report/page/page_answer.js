"use strict";
// The answer: what every rival is worth against the reference, temperatures side
// by side, the largest target first.

const verdictSigns = {
  "faster": "▲", "slower": "▼", "no difference seen": "·",
  "too few prompts": "?",
};

function verdictNode(verdict, text) {
  return element("span", {class: `verdict ${verdict.split(" ")[0]}`},
                 `${verdictSigns[verdict] ?? ""} ${text}`);
}

function withSign(value) {
  return (value > 0 ? "+" : "") + written(value);
}

function differenceText(against) {
  const difference = against.difference;
  if (!difference) return "";
  const range = Number.isFinite(difference.low)
                    ? ` [${withSign(difference.low)}, ${withSign(difference.high)}]`
                    : "";
  return `${withSign(difference.value)}${range}`;
}

// What the chain that is hardest to beat does to a tree.
function chainNode(chain) {
  const said = {
    "faster": "beats its chains, the best ", "slower": "loses to ",
    "no difference seen": "no difference seen to ", "too few prompts": "beside ",
  };
  return element("small", {},
                 verdictNode(chain.verdict, `${said[chain.verdict]}` +
                     `${chain.method} ${differenceText(chain)}`));
}

function referenceText(reference) {
  return reference.name +
         (reference.speed ? ` ${written(reference.speed.value)}` : "") +
         (reference.tokens_per_pass
              ? ` · ${written(reference.tokens_per_pass.value)} per pass` : "");
}

// `own`: its reference is not the whole column's.
function answerCell(entry, own) {
  if (!entry) return element("td", {}, "");
  const tokens = entry.tokens_per_pass;
  const parts = [
    element("strong", {}, entry.speed ? written(entry.speed.value) : "–"),
    ` · ${tokens ? written(tokens.value) : "–"} per pass `,
  ];
  if (entry.unexplained) {
    parts.push(element("small", {class: "warning"},
                       "noise: above tokens per pass "));
  }
  if (entry.reference) {
    parts.push(element("small", {}, verdictNode(
        entry.reference.verdict,
        `${entry.reference.verdict} ${differenceText(entry.reference)}` +
            (own ? ` to ${referenceText(entry.reference)}` : ""))));
  }
  if (entry.chain) parts.push(chainNode(entry.chain));
  return element("td", {class: "words"}, ...parts);
}

// The entries of a row by temperature.
function entriesOf(row) {
  return new Map(row.at.map((entry) => [entry.temperature, entry]));
}

function answerTable(target) {
  const temperatures = distinct(
      target.rows.flatMap((row) => row.at.map((entry) => entry.temperature)),
      (value) => value).sort((a, b) => a - b);
  // A column's reference, where its rows have one.
  const shared = new Map(temperatures.map((value) => {
    const references = distinct(
        target.rows.map((row) => entriesOf(row).get(value)?.reference)
            .filter((reference) => reference).map(referenceText),
        (text) => text);
    return [value, references.length === 1 ? references[0] : null];
  }));
  return element(
      "table", {},
      element("thead", {}, element(
          "tr", {}, element("th", {class: "words"}, "rival"),
          ...temperatures.map((value) => element(
              "th", {class: "words"}, `temperature ${value}`,
              element("small", {}, shared.get(value)
                          ? `reference: ${shared.get(value)}`
                          : "each row names its reference"))))),
      element("tbody", {}, ...target.rows.map((row) => element(
          "tr", {}, element("th", {class: "words", scope: "row"}, row.name),
          ...temperatures.map(
              (value) => answerCell(entriesOf(row).get(value),
                                !shared.get(value)))))));
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
  byId("refuted").replaceChildren(...(answer?.refuted ?? []).map(
      (claim) => element("p", {}, claim)));
  byId("opening").textContent =
      targets.flatMap((target) => target.opening).join(" ");
  byId("notes").replaceChildren(...(answer?.notes ?? []).map(
      (note) => element("li", {}, note)));
  byId("beside-chains").hidden = !targets.some((target) => target.rows.some(
      (row) => row.at.some((entry) => entry.chain)));
  byId("answer-body").replaceChildren(...targets.map((target, i) => element(
      "details", {open: i === 0},
      element("summary", {},
              `${target.target}${target.marks}, ${target.prompts} prompts`),
      element("div", {class: "scroll", tabindex: "0", role: "region",
                      "aria-label": `The answer on ${target.target}`},
              answerTable(target)))));
}
