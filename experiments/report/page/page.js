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
  if ("target" in change || "temperature" in change) drawFigures();
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
      shownCells().length === allCells.length
          ? "" : `${shownCells().length} of ${allCells.length} rows`;
}

// --- summary -----------------------------------------------------------------

function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function drawSummary() {
  const lossy = allCells.filter((cell) => !cell.lossless).length;
  const prompts = Math.max(0, ...allCells.map((cell) => cell.prompts ?? 0));
  byId("lead").textContent = [
    counted(distinct(allCells.filter((cell) => !isBaseline(cell)),
                     (cell) => cell.method).length, "method") +
        (allCells.some(isBaseline) ? " and plain decoding" : ""),
    counted(distinct(allCells, (cell) => cell.target).length, "target"),
    `${counted(prompts, "prompt")} each`,
    ...(lossy ? [`${counted(lossy, "lossy row")}, never counted as best`] : []),
  ].join(" · ");
}

// --- details -----------------------------------------------------------------

// The last part of a path.
function fileName(path) {
  return path.split("/").filter(Boolean).at(-1) ?? path;
}

// [what, text] of the run: who computed, when, and from what.
function contextRows({build, machine, started, workload, files}) {
  const release = build.type === "Release" ? "optimised" : `built as ${build.type}`;
  const parts = [
    `${counted(machine.cores, "core")}, ${counted(machine.threads, "thread")} used`,
    machine.instruction_set,
    machine.bytes_per_s > 0
        ? `memory read at ${(machine.bytes_per_s / 1e9).toFixed(1)} GB/s` : "",
    `load ${machine.load.toFixed(1)} when it started`,
  ];
  return [
    ["Processor", [machine.cpu, ...parts].filter(Boolean).join(", ")],
    ...(machine.gpu ? [["GPU", machine.gpu]] : []),
    ...(machine.device === "cpu" ? [] : [["Device", machine.device]]),
    ["Program", `${build.revision.replace("-dirty", " with uncommitted changes")}, ` +
                `${build.compiler}, ${release} (${build.flags.trim()})`],
    ["Started", started.replace("T", " ").replace("Z", " UTC").replace(
        "+00:00", " UTC")],
    ["Prompts", `${counted(workload.prompts, "prompt")} of ` +
                `${fileName(workload.path)} (hash ${workload.hash})`],
    ["Records", files.map(fileName).join(", ")],
  ];
}

// What was stated of another machine, if anything was.
function drawCurve() {
  if (!report.curve) return;
  byId("assumed").hidden = byId("curve").hidden = false;
  byId("assumed").textContent = report.curve.sentence;
  byId("curve").querySelector("pre").textContent = report.curve.costs;
}

function drawDetails() {
  byId("context").replaceChildren(element("dl", {}, ...(
      report.context ? contextRows(report.context) : []).flatMap(
      ([what, text]) => [element("dt", {}, what), element("dd", {}, text)])));
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
byId("every").addEventListener("change", drawTable);
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
