"use strict";
// The viewer: a sample's text coloured by how each token came about, and the
// tree and times of one of its rounds.

const inks = {
  accepted: "drafted and accepted",
  corrected: "the target's, after a refusal",
  bonus: "the target's, after a path fully accepted",
  plain: "the target's, nothing drafted",
};

// A round's parts in their order, in the colours of the plot of their shares.
const phases = {draft: "s2", derive: "s7", target: "s1", verify: "s5", commit: "s3",
                device: "s6"};

// The sample that is shown, its round, and the round under the pointer or -1.
const viewed = {sample: null, round: 0, preview: -1};

function samplesOf(cell) {
  return (report.samples ?? []).filter((s) => s.cell === cell?.name);
}

// --- text --------------------------------------------------------------------

// A line feed keeps breaking the line; the style sheet draws a sign before it.
function tokenSpan(token) {
  const text = token.text.replace(/[^\n\t]+/g, printable);
  const breaks = token.text.includes("\n") ? " breaks" : "";
  return element("span", {class: `token ${token.how}${breaks}`,
                          "data-round": token.round}, text);
}

function drawText() {
  const {prompt, tokens} = viewed.sample;
  byId("text").replaceChildren(
      element("span", {class: "prompt"}, prompt), ...tokens.map(tokenSpan));
}

function drawInks() {
  const present = distinct(viewed.sample.tokens, (token) => token.how);
  byId("inks").replaceChildren(
      element("li", {class: "quiet"}, "prompt"),
      ...Object.keys(inks).filter((ink) => present.includes(ink)).map(
          (ink) => element("li", {},
                           element("span", {class: `token ${ink}`}, ink), " ",
                           element("small", {}, inks[ink]))));
}

// Marks the tokens of a round; `follow` brings them into the box's view.
function markRound(number, follow) {
  const box = byId("text");
  const marked = box.querySelectorAll(`[data-round="${number}"]`);
  for (const span of box.querySelectorAll(".current")) {
    span.classList.remove("current");
  }
  for (const span of marked) span.classList.add("current");
  if (!follow || marked.length === 0) return;
  const top = marked[0].offsetTop - box.offsetTop;
  if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) {
    box.scrollTop = top - box.clientHeight / 2;
  }
}

// --- round -------------------------------------------------------------------

function drawRound(number) {
  const {rounds} = viewed.sample;
  const round = rounds[number];
  byId("round").textContent = `Round ${number + 1} of ${rounds.length}`;
  // Not `disabled`: a button that is would lose the focus and the arrow keys.
  byId("previous").ariaDisabled = number <= 0;
  byId("next").ariaDisabled = number >= rounds.length - 1;
  byId("tree").replaceChildren(drawing(round.tree));
  showRoot();
  byId("round-note").textContent = roundNote(round);
  drawTimes(round.ms ?? {}, round.emitted);
}

function roundNote({drafted, accepted, probes, emitted}) {
  const beside = probes > 0 ? `, ${counted(probes, "probe")} beside` : "";
  if (drafted === 0) return `nothing drafted${beside}`;
  const cut = emitted < accepted + 1
      ? `, cut to ${counted(emitted, "token")} where the text ends` : "";
  return `${accepted} of ${counted(drafted, "draft token")} accepted${beside}${cut}`;
}

// Scrolls the tree's box so that the root and what follows are seen.
function showRoot() {
  const box = byId("tree");
  const root = box.querySelector(".node rect");
  box.scrollLeft = 0;
  box.scrollTop = Number(root.getAttribute("y")) - box.clientHeight / 2;
}

function drawTimes(ms, emitted) {
  const known = Object.keys(phases).filter((phase) => Number.isFinite(ms[phase]));
  const sum = known.reduce((total, phase) => total + ms[phase], 0);
  if (known.length === 0 || sum <= 0) {
    byId("times").replaceChildren("No times recorded.");
    return;
  }
  const bar = element("div", {class: "timebar", "aria-hidden": "true"});
  const list = element("ul", {class: "legend"});
  for (const phase of known) {
    const part = element("span", {class: phases[phase]});
    part.style.flexGrow = ms[phase];
    bar.append(part);
    list.append(element("li", {},
                        element("span", {class: `swatch phase ${phases[phase]}`}), " ",
                        `${phase} ${written(ms[phase])} ms`));
  }
  list.append(element("li", {}, element("strong", {}, `${written(sum)} ms`),
                      emitted > 0 ? `, ${written(sum / emitted)} ms a token`
                                  : ""));
  byId("times").replaceChildren(bar, list);
}

// The tokens that a drafter can propose, if they are not all.
function vocabularyText(vocabulary) {
  return `; draft vocabulary of ${vocabulary.model}: ` +
         `${vocabulary.tokens} tokens, ${vocabulary.file}`;
}

function drawTrunks() {
  const trunks = view.cell.trunks ?? [];
  const made = trunks.map((trunk, i) => {
    const ring = element("span", {class: `swatch ringed ${seriesClass(i)}`});
    ring.style.borderStyle = ["solid", "dashed", "dotted", "double"][i % 4];
    return element("li", {}, ring, ` trunk ${i}: `,
                   element("strong", {}, trunk.drafter),
                   `, ${trunk.policy}, ${words(trunk.draws)}`,
                   ...(trunk.vocabularies ?? []).map(vocabularyText));
  });
  const keys = [
    ["accepted", "accepted"], ["refused", "refused"],
    ["off", "its parent was not accepted"],
  ].map(([kind, text]) => element(
      "li", {}, element("span", {class: `swatch node-${kind}`}), ` ${text}`));
  const key = element(
      "li", {class: "quiet"}, "p: the target's probability, q: the drafter's; " +
      "point at a token for its chance of acceptance");
  byId("trunks").replaceChildren(...made,
                                 ...(trunks.length ? [...keys, key] : []));
}

function showRound(number, follow = true) {
  viewed.preview = -1;
  viewed.round = Math.max(
      0, Math.min(number, viewed.sample.rounds.length - 1));
  drawRound(viewed.round);
  markRound(viewed.round, follow);
}

// Shows a round for as long as the pointer is on its tokens.
function previewRound(number) {
  if (number === viewed.preview) return;
  viewed.preview = number;
  const shown = number < 0 ? viewed.round : number;
  drawRound(shown);
  markRound(shown, false);
}

// --- choosing ----------------------------------------------------------------

function drawChoices(samples) {
  const labels = labelsOf(shownCells());
  fillSelect(byId("viewer-cell"),
             [...labels].map(([cell, label]) => [cell.name, label]),
             view.cell?.name);
  fillSelect(byId("viewer-prompt"), samples.map(
      (sample, i) => [i, promptLabel(sample, samples)]), samples.indexOf(viewed.sample));
}

// How many characters all prompts begin with, up to a word's end: a template's.
function sharedStart(prompts) {
  const first = prompts[0] ?? "";
  let length = 0;
  while (length < first.length &&
         prompts.every((prompt) => prompt[length] === first[length])) {
    ++length;
  }
  return length === first.length ? 0 : first.slice(0, length).search(/\S*$/);
}

function promptLabel({id, kind, turn, prompt}, samples) {
  const own = prompt.slice(sharedStart(samples.map((sample) => sample.prompt)));
  const start = [...own.trim().replace(/\s+/g, " ")].slice(0, 40).join("");
  const later = turn > 0 ? `, turn ${turn + 1}` : "";
  return `${id}${kind ? ` (${kind})` : ""}${later}: ${start}`;
}

// Draws the chosen cell; stays on the same prompt where the cell has it.
function drawViewer() {
  const samples = samplesOf(view.cell).filter((s) => s.rounds?.length > 0);
  const held = samples.find((sample) => sample.id === viewed.sample?.id);
  const stays = held !== undefined && held === viewed.sample;
  viewed.sample = held ?? samples[0] ?? null;
  drawChoices(samples);
  const none = viewed.sample === null;
  byId("viewer-none").hidden = !none;
  byId("viewer-body").hidden = none;
  byId("viewer-none").textContent =
      "No text of this method was kept in the report (--samples).";
  if (none) return;
  drawSample(stays ? viewed.round : firstTelling());
}

// The first round that accepts something and refuses something, or 0.
function firstTelling() {
  const telling = viewed.sample.rounds.findIndex(
      ({drafted, accepted}) => accepted > 0 && accepted < drafted);
  return Math.max(0, telling);
}

function drawSample(round) {
  drawText();
  drawInks();
  drawTrunks();
  showRound(round);
}

function roundUnder(event) {
  const span = event.target.closest("[data-round]");
  return span ? Number(span.dataset.round) : -1;
}

function arrowKeys(event) {
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  const modified = event.altKey || event.ctrlKey || event.metaKey;
  if (!step || modified || !viewed.sample ||
      event.target.tagName === "SELECT") {
    return;
  }
  event.preventDefault();
  showRound(viewed.round + step);
}

// The tree as a file of its own.
function saveTree() {
  const svg = drawing(viewed.sample.rounds[viewed.round].tree);
  const style = document.createElementNS(svg.namespaceURI, "style");
  style.textContent = byId("tree-style").textContent;
  svg.prepend(style);
  const link = element("a", {
    download: `tree_${viewed.sample.id}_${viewed.round + 1}.svg`,
    href: dataAddress("image/svg+xml",
                      new XMLSerializer().serializeToString(svg)),
  });
  link.click();
}

// Called once.
function listenInViewer() {
  byId("tree-svg").addEventListener("click", (event) => {
    event.preventDefault();
    saveTree();
  });
  byId("viewer-cell").addEventListener("change", (event) => choose(
      {cell: allCells.find((cell) => cell.name === event.target.value)}));
  byId("viewer-prompt").addEventListener("change", (event) => {
    const samples = samplesOf(view.cell).filter((s) => s.rounds?.length > 0);
    viewed.sample = samples[Number(event.target.value)];
    drawSample(firstTelling());
  });
  byId("previous").addEventListener("click", () => showRound(viewed.round - 1));
  byId("next").addEventListener("click", () => showRound(viewed.round + 1));
  byId("text").addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") previewRound(roundUnder(event));
  });
  byId("text").addEventListener("pointerleave", () => {
    if (viewed.sample) previewRound(-1);
  });
  byId("text").addEventListener("click", (event) => {
    const round = roundUnder(event);
    if (round >= 0) showRound(round, false);
  });
  byId("viewer").addEventListener("keydown", arrowKeys);
}
