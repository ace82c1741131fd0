"use strict";
// The report as the other files of the page read it: what is measured, how it
// is written, what a cell is called beside others, and its colour.

const report = JSON.parse(document.getElementById("report").textContent);
const allCells = report.cells ?? [];

// {value, low, high}, or null where there is no number. An interval may be
// missing; see hasInterval.
function measured(cell, metric, key = "") {
  const found = cell.metrics?.[metric]?.[key];
  return found && Number.isFinite(found.value) ? found : null;
}

function hasInterval(found) {
  return Number.isFinite(found.low) && Number.isFinite(found.high);
}

// The largest number that is drawn for it.
function topOf(found) {
  return hasInterval(found) ? Math.max(found.high, found.value) : found.value;
}

function metricNamed(name) {
  return (report.metrics ?? []).find((metric) => metric.name === name);
}

function sentenceOf(name) {
  return metricNamed(name)?.sentence ?? "";
}

// "tokens_per_pass" as words.
function words(name) {
  return name.replaceAll("_", " ");
}

// Three digits that matter, two of what is tiny; never an exponent.
function written(value) {
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1 || size === 0) return value.toFixed(2);
  if (size >= 0.01) return value.toFixed(3);
  return value.toFixed(Math.min(9, 1 - Math.floor(Math.log10(size))));
}

// Empty for a number that is known exactly.
function interval(found) {
  if (!hasInterval(found) || found.low === found.high) return "";
  return `${written(found.low)}..${written(found.high)}`;
}

// "" of a lossless cell; else whether it never claimed to be one.
function lossText(cell) {
  if (cell.lossless) return "";
  return cell.refuted ? " (not lossless)" : " (lossy)";
}

function isBaseline(cell) {
  return !cell.baseline || cell.baseline === cell.name;
}

function targetText(cell) {
  return cell.target +
         (cell.grown_from ? ` (grown from ${cell.grown_from})` : "");
}

// Distinct values in their order of appearance.
function distinct(items, valueOf) {
  return [...new Set(items.map(valueOf))];
}

// The axes of the matrix that differ among `cells`, but for those that the page
// shows in places of their own.
function varyingAxes(cells) {
  const names = distinct(cells.flatMap((c) => Object.keys(c.axes ?? {})),
                         (name) => name);
  const elsewhere = ["method", "methods", "target", "temperature"];
  return names.filter(
      (name) => !elsewhere.includes(name.split(".").at(-1)) &&
                distinct(cells, (c) => c.axes?.[name]).length > 1);
}

// Labels by cell that tell `cells` apart: the method, and what else differs.
function labelsOf(cells) {
  const severalTargets = distinct(cells, (c) => c.target).length > 1;
  const severalTemperatures = distinct(cells, (c) => c.temperature).length > 1;
  const axes = varyingAxes(cells);
  const labels = new Map();
  for (const cell of cells) {
    const parts = [cell.method + lossText(cell)];
    if (severalTargets) parts.push(cell.target);
    if (severalTemperatures) parts.push(`T ${cell.temperature}`);
    for (const axis of axes) {
      if (cell.axes?.[axis] !== undefined)
        parts.push(`${axis} ${cell.axes[axis]}`);
    }
    labels.set(cell, parts.join(" · "));
  }
  const taken = [...labels.values()];
  for (const [cell, label] of labels) {
    if (taken.indexOf(label) !== taken.lastIndexOf(label))
      labels.set(cell, cell.name);
  }
  return labels;
}

// Classes of the colours that series have in every drawing.
const seriesCount = 9;

function seriesClass(number) {
  return `s${number % seriesCount + 1}`;
}

// --- the document ------------------------------------------------------------

function byId(id) {
  return document.getElementById(id);
}

// A new element. Children are nodes or texts; `attributes` that are functions
// listen to the event of their name.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      node.addEventListener(name, value);
    } else if (value !== null && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
}

// Fills a select with [value, text] pairs.
function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(
      ([value, text]) => element("option", {value}, text)));
  select.value = chosen;
  select.disabled = options.length < 2;
}

// A picture for a control character: arrows, which more fonts have, for line
// feed and tab.
function picture(character) {
  const code = character.charCodeAt(0);
  if (code === 10) return "↵";
  if (code === 9) return "⇥";
  return String.fromCharCode(code === 127 ? 0x2421 : 0x2400 + code);
}

function printable(text) {
  return text.replace(/[\u0000-\u001f\u007f]/g, picture);
}
