"use strict";
// The page as a whole: what is chosen, the summary, the details. Loaded last.

// What is chosen. Empty texts choose all.
const view = {target: "", temperature: "", cell: null};

function shownCells() {
  return allCells.filter(
      (cell) => (!view.target || cell.target === view.target) &&
                (!view.temperature ||
                 String(cell.temperature) === view.temperature));
}

// The one way to change `view`; everything that depends on it is drawn anew.
function choose(change) {
  Object.assign(view, change);
  settle();
  drawControls();
  drawTable();
  drawFigures();
  if ("target" in change || "temperature" in change) {
    drawPlots();
  } else {
    drawPlotsOfChosen();
  }
  drawViewer();
}

// Makes the choice one that exists: temperatures that the target has, and the
// same method and settings as before, or else the best cell that is shown.
function settle() {
  if (shownCells().length === 0) view.temperature = "";
  const cells = shownCells();
  if (cells.includes(view.cell)) return;
  const axesOf = (cell) => JSON.stringify(varyingAxes(cells).map(
      (axis) => cell.axes?.[axis]));
  const alike = cells.filter((cell) => cell.method === view.cell?.method);
  view.cell = alike.find((cell) => axesOf(cell) === axesOf(view.cell)) ??
              alike[0] ?? bestCell(cells) ?? cells[0] ?? null;
}

// The lossless cell with the highest speed, a tree if there is one; or null.
function bestCell(cells) {
  let best = null;
  const trees = cells.filter((cell) => cell.tree);
  for (const cell of trees.length > 0 ? trees : cells) {
    if (isBaseline(cell) || !cell.lossless) continue;
    const speed = measured(cell, "speed");
    if (speed && speed.value > (measured(best ?? {}, "speed")?.value ?? 0))
      best = cell;
  }
  return best;
}

function drawControls() {
  fillSelect(byId("target"),
             [...distinct(allCells, (c) => c.target).map((target) => [
               target, targetText(allCells.find((c) => c.target === target)),
             ]), ["", "all"]], view.target);
  const ofTarget = allCells.filter(
      (cell) => !view.target || cell.target === view.target);
  const temperatures = distinct(ofTarget, (c) => String(c.temperature));
  fillSelect(byId("temperature"),
             [...temperatures.map((value) => [value, value]), ["", "all"]],
             view.temperature);
  byId("count").textContent =
      `${shownCells().length} of ${allCells.length} cells`;
}

// --- the figure ----------------------------------------------------------------

function dataAddress(type, text) {
  return `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
}

// Tokens per pass beside speedup, by drafted nodes, as `--figures` draws them; each
// temperature by itself.
function drawFigures() {
  const shown = (report.figures ?? []).filter(
      (figure) => ["tokens", "size"].includes(figure.plot) &&
                  (!view.target || figure.target === view.target) &&
                  (!view.temperature ||
                   String(figure.temperature) === view.temperature));
  byId("drawn").replaceChildren(...shown.map((figure) => element(
      "figure", {},
      element("img", {src: dataAddress("image/svg+xml", figure.svg),
                      alt: figure.title}),
      element("figcaption", {},
              element("a", {download: `${figure.file}.svg`,
                            href: dataAddress("image/svg+xml", figure.svg)}, "SVG"),
              element("a", {download: `${figure.file}.csv`,
                            href: dataAddress("text/csv", figure.csv)}, "CSV")))));
}

// --- summary -----------------------------------------------------------------

function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function drawSummary() {
  const lossy = allCells.filter((cell) => !cell.lossless).length;
  const prompts = Math.max(0, ...allCells.map((cell) => cell.prompts ?? 0));
  byId("lead").textContent = [
    counted(allCells.length, "cell"),
    counted(distinct(allCells, (cell) => cell.method).length, "method"),
    counted(distinct(allCells, (cell) => cell.target).length, "target"),
    `${counted(prompts, "prompt")} each`,
    ...(lossy ? [`${lossy} lossy, never counted as best`] : []),
  ].join(" · ");
}

// --- details -----------------------------------------------------------------

// How numbers of the context are written, and named where their name has a unit.
const fieldForms = {
  bytes_per_s: {name: "memory read",
                text: (value) => value > 0 ? `${(value / 1e9).toFixed(1)} GB/s`
                                           : "not measured"},
  load: {name: "load", text: (value) => value.toFixed(1)},
};

// Nested plain fields as nested description lists.
function fields(object) {
  return element("dl", {}, ...Object.entries(object).flatMap(
      ([name, value]) => {
        const form = fieldForms[name];
        const text = form && Number.isFinite(value) ? form.text(value)
                                                    : String(value);
        return [
          element("dt", {}, form?.name ?? words(name)),
          element("dd", {}, value !== null && typeof value === "object"
                                ? fields(value) : text),
        ];
      }));
}

// What was stated of another machine, if anything was.
function drawCurve() {
  if (!report.curve) return;
  byId("assumed").hidden = byId("curve").hidden = false;
  byId("assumed").textContent = report.curve.sentence;
  byId("curve").querySelector("pre").textContent = report.curve.costs;
}

function drawDetails() {
  byId("context").replaceChildren(fields(report.context ?? {}));
  byId("experiment").textContent = report.experiment ?? "";
  byId("hash").textContent = report.experiment_hash ?? "";
  drawCurve();
  drawGlossary();
  byId("metrics").replaceChildren(...(report.metrics ?? []).flatMap(
      ({name, sentence, unit}) => [
        element("dt", {}, words(name) + (unit ? ` [${unit}]` : "")),
        element("dd", {}, sentence),
      ]));
}

// --- start -------------------------------------------------------------------

byId("target").addEventListener(
    "change", (event) => choose({target: event.target.value}));
byId("temperature").addEventListener(
    "change", (event) => choose({temperature: event.target.value}));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawPlots();
  drawViewer();
});
drawAnswer();
drawSummary();
drawDetails();
listenInViewer();
const first = allCells.find(
    (cell) => cell.target === report.answer?.targets[0]?.target) ?? allCells[0];
choose({
  target: first?.target ?? "",
  temperature: String(first?.temperature ?? ""),
});
