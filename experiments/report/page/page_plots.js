"use strict";
// The plots, drawn by Chart.js. Each row of `plots` makes one figure; the ones
// that have nothing to show say so instead.

const charts = new Map();  // by the figure's id
const phases = ["draft", "derive", "target", "verify", "commit", "device"];
const crowd = 8;  // more cells than these hide the chains
let depthMetric = "acceptance_by_depth";

// `make` gives a Chart.js configuration for cells with labels, or null.
const plots = [
  {id: "size", title: "Speed against tree size", wide: true, make: sizePlot,
   needs: ["speed", "drafted_nodes"], sentence: "speed"},
  {id: "depth", title: "Acceptance by depth", make: depthPlot,
   needs: ["acceptance_by_depth", "conditional_acceptance_by_depth"],
   sentence: () => depthMetric},
  {id: "rank", title: "Acceptance by rank", make: rankPlot,
   needs: ["acceptance_by_rank"], sentence: "acceptance_by_rank"},
  {id: "predicted", title: "Predicted against measured speed",
   make: predictedPlot, needs: ["predicted_speed", "speed"],
   sentence: "predicted_speed"},
  {id: "lengths", title: "Accepted lengths of one cell", make: lengthsPlot,
   needs: ["accepted_lengths"], sentence: "accepted_lengths", ofChosen: true},
  {id: "shares", title: "Where the time goes", wide: true, make: sharesPlot,
   needs: ["time_shares"], sentence: "time_shares"},
];

// --- plugins -----------------------------------------------------------------

// Whiskers from `low` to `high` of each datum, along the value axis, and from
// `xLow` to `xHigh` along x.
const errorBars = {
  id: "errorBars",
  afterDatasetsDraw(chart) {
    const {ctx, chartArea: area} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    chart.data.datasets.forEach((dataset, index) => {
      if (!dataset.whiskers || !chart.isDatasetVisible(index)) return;
      ctx.strokeStyle = dataset.whiskers;
      ctx.lineWidth = 1.25;
      chart.getDatasetMeta(index).data.forEach(
          (point, i) => drawWhiskers(chart, point, dataset.data[i]));
    });
    ctx.restore();
  },
};

const cap = 3;  // half of a whisker's end, in px

function drawWhiskers({ctx, scales}, point, datum) {
  ctx.beginPath();
  if (hasInterval(datum)) {
    const [low, high] = [datum.low, datum.high].map(
        (value) => scales.y.getPixelForValue(value));
    ctx.moveTo(point.x, low);
    ctx.lineTo(point.x, high);
    for (const y of [low, high]) {
      ctx.moveTo(point.x - cap, y);
      ctx.lineTo(point.x + cap, y);
    }
  }
  if (Number.isFinite(datum.xLow) && Number.isFinite(datum.xHigh)) {
    const [low, high] = [datum.xLow, datum.xHigh].map(
        (value) => scales.x.getPixelForValue(value));
    ctx.moveTo(low, point.y);
    ctx.lineTo(high, point.y);
    for (const x of [low, high]) {
      ctx.moveTo(x, point.y - cap);
      ctx.lineTo(x, point.y + cap);
    }
  }
  ctx.stroke();
}

// Draws the line y = 1, or y = x, below the data.
const referenceLine = {
  id: "referenceLine",
  beforeDatasetsDraw(chart, _, options) {
    if (!options.kind) return;
    const {ctx, chartArea: area, scales: {x, y}} = chart;
    const at = options.kind === "one" ? [[x.min, 1], [x.max, 1]]
                                      : [[x.min, x.min], [x.max, x.max]];
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    ctx.strokeStyle = colour("note");
    ctx.setLineDash([5, 4]);
    ctx.beginPath();
    for (const [px, py] of at) {
      ctx.lineTo(x.getPixelForValue(px), y.getPixelForValue(py));
    }
    ctx.stroke();
    ctx.restore();
  },
};

// --- parts of configurations -------------------------------------------------

function axis(title, more = {}) {
  return {
    title: {display: true, text: title, color: colour("note")},
    grid: {color: colour("grid"), borderColor: colour("edge")},
    ticks: {color: colour("note")},
    ...more,
  };
}

// One entry a method, however many cells it has; a click hides or shows them.
const methodLegend = {
  generateLabels: (chart) => distinct(chart.data.datasets, methodOf).map(
      (method) => {
        const index = chart.data.datasets.findIndex(
            (dataset) => methodOf(dataset) === method);
        const look = chart.data.datasets[index];
        return {
          text: method, datasetIndex: index, fontColor: colour("ink"),
          fillStyle: look.legendColour ?? look.backgroundColor,
          strokeStyle: look.legendColour ?? look.backgroundColor,
          lineWidth: look.pointBorderWidth ?? 0, pointStyle: look.pointStyle,
          hidden: !chart.isDatasetVisible(index),
        };
      }),
  toggle: (_, item, legend) => {
    const {chart} = legend;
    const show = !chart.isDatasetVisible(item.datasetIndex);
    chart.data.datasets.forEach((dataset, index) => {
      if (methodOf(dataset) === item.text)
        chart.setDatasetVisibility(index, show);
    });
    chart.update();
  },
};

function methodOf(dataset) {
  return dataset.method ?? dataset.label;
}

// What all plots have in common. `describe` gives a tooltip's text.
function options(x, y, describe, more = {}) {
  return {
    animation: false,
    maintainAspectRatio: false,
    scales: {x, y},
    ...more,
    plugins: {
      legend: {
        position: "bottom", onClick: methodLegend.toggle,
        labels: {generateLabels: methodLegend.generateLabels,
                 color: colour("ink"), usePointStyle: true, boxWidth: 8,
                 boxHeight: 7, padding: 14},
      },
      tooltip: {callbacks: {label: describe, title: () => ""}},
      ...more.plugins,
    },
  };
}

function described({raw, dataset}) {
  return `${dataset.label}, ${raw.place}: ` +
         writtenWithInterval({...raw, value: raw.y});
}

// Look of a cell's points and line. Cells of one method differ in their dashes,
// and are hollow on all targets but the first.
function lookOf(cell, cells) {
  const look = methodLook(cell.method);
  const alike = cells.filter((other) => other.method === cell.method);
  const hollow = cell.target !== cells[0].target;
  return {
    method: cell.method + lossText(cell),
    legendColour: look.colour, borderColor: look.colour,
    backgroundColor: hollow ? colour("paper") : look.colour,
    whiskers: look.colour, pointStyle: look.shape,
    pointRadius: 5, pointHoverRadius: 7, borderWidth: 2,
    pointBorderWidth: hollow || look.shape === "crossRot" ? 2 : 1,
    borderDash: dashes[alike.indexOf(cell) % dashes.length],
    hidden: isHidden(cell, cells),
  };
}

// Chains that trees are compared with, where they would crowd a plot. A click on
// their name in the legend shows them.
function isHidden(cell, cells) {
  return Boolean(cell.opponent) && cells.length > crowd;
}

// Bounds in round numbers that hold these numbers, their intervals, and 1.
function speedRange(found) {
  const lows = found.map((f) => hasInterval(f) ? f.low : f.value);
  return {min: Math.floor(5 * Math.min(1, ...lows) - 0.25) / 5,
          max: Math.ceil(5 * Math.max(1, ...found.map(topOf)) + 0.25) / 5};
}

// The number in a key like "depth 1".
function numberIn(key) {
  return Number(key.match(/\d+/)?.[0] ?? 0);
}

// The keys of a metric in the order of their numbers.
function numberedKeys(cells, metric) {
  return distinct(cells.flatMap((c) => Object.keys(c.metrics?.[metric] ?? {})),
                  (key) => key).sort((a, b) => numberIn(a) - numberIn(b));
}

// --- the plots ---------------------------------------------------------------

// One line a method: its cells by size, on each target and temperature.
function sizePlot(cells) {
  const drawn = cells.filter((cell) => measured(cell, "speed") &&
                                       measured(cell, "drafted_nodes"));
  if (drawn.length === 0) return null;
  const labels = labelsOf(drawn);
  const line = (cell) => JSON.stringify(
      [cell.method, cell.target, cell.temperature]);
  const datasets = distinct(drawn, line).map((key) => {
    const members = drawn.filter((cell) => line(cell) === key);
    const data = members.map((cell) => sizePoint(cell, labels.get(cell)));
    data.sort((a, b) => a.x - b.x);
    return {
      ...lookOf(members[0], drawn), data, showLine: members.length > 1,
      label: members.length > 1 ? members[0].method : labels.get(members[0]),
      pointRadius: 6,
    };
  });
  return {
    type: "scatter", data: {datasets},
    options: options(
        axis("drafted nodes a round, mean", {beginAtZero: true}),
        axis("speed, baseline = 1",
             speedRange(drawn.map((cell) => measured(cell, "speed")))),
        ({raw}) => `${raw.place}: ` +
                   `${writtenWithInterval({...raw, value: raw.y})} at ` +
                   `${written(raw.x)} nodes`,
        {plugins: {referenceLine: {kind: "one"}}}),
  };
}

function sizePoint(cell, place) {
  const speed = measured(cell, "speed");
  return {x: measured(cell, "drafted_nodes").value, y: speed.value,
          low: speed.low, high: speed.high, place};
}

// One line a cell over the keys of a metric. Lines stand a little beside each
// other, so that their intervals can be told apart.
function keyedLines(cells, metric, title) {
  const keys = numberedKeys(cells, metric);
  const drawn = cells.filter(
      (cell) => keys.some((key) => measured(cell, metric, key)));
  if (drawn.length === 0) return null;
  const labels = labelsOf(drawn);
  const datasets = drawn.map((cell, i) => ({
    ...lookOf(cell, drawn), label: labels.get(cell), showLine: true,
    data: keys.filter((key) => measured(cell, metric, key)).map((key) => {
      const {value, low, high} = measured(cell, metric, key);
      const aside = 0.3 * ((i + 0.5) / drawn.length - 0.5);
      return {x: numberIn(key) + aside, y: value, low, high, place: key};
    }),
  }));
  const numbers = keys.map(numberIn);
  const x = axis(title, {min: Math.min(...numbers) - 0.25,
                         max: Math.max(...numbers) + 0.25});
  x.afterBuildTicks = (scale) => {
    scale.ticks = numbers.map((value) => ({value}));
  };
  return {
    type: "scatter", data: {datasets},
    options: options(x, axis("accepted share", {beginAtZero: true}), described),
  };
}

function depthPlot(cells) {
  return keyedLines(cells, depthMetric, "depth in the tree");
}

function rankPlot(cells) {
  return keyedLines(cells, "acceptance_by_rank", "rank among its siblings");
}

function sharesPlot(cells) {
  const drawn = cells.filter(
      (cell) => phases.some((phase) => measured(cell, "time_shares", phase)));
  if (drawn.length === 0) return null;
  const labels = labelsOf(drawn);
  const datasets = phases.map((phase) => ({
    label: phase, backgroundColor: colour(`phase-${phase}`),
    borderColor: colour("paper"), borderWidth: {right: 1}, pointStyle: "rect",
    data: drawn.map((cell) => measured(cell, "time_shares", phase)?.value ?? 0),
  }));
  const describe = ({dataset, raw, label}) =>
      `${label}, ${dataset.label}: ${(100 * raw).toFixed(1)} %`;
  const percent = (value) => `${Math.round(100 * value)} %`;
  const x = axis("share of the time of the rounds", {stacked: true, max: 1});
  x.ticks.callback = percent;
  return {
    type: "bar", data: {labels: drawn.map((c) => labels.get(c)), datasets},
    height: 110 + 24 * drawn.length,
    options: options(x, axis("", {stacked: true}), describe, {indexAxis: "y"}),
  };
}

function predictedPlot(cells) {
  const drawn = cells.filter((cell) => measured(cell, "speed") &&
                                       measured(cell, "predicted_speed"));
  if (drawn.length === 0) return null;
  const labels = labelsOf(drawn);
  const datasets = drawn.map((cell) => {
    const [x, y] = [measured(cell, "predicted_speed"), measured(cell, "speed")];
    return {
      ...lookOf(cell, drawn), label: labels.get(cell), pointRadius: 6,
      data: [{x: x.value, y: y.value, low: y.low, high: y.high,
              xLow: x.low, xHigh: x.high}],
    };
  });
  const scale = speedRange(drawn.flatMap(
      (cell) => [measured(cell, "predicted_speed"), measured(cell, "speed")]));
  return {
    type: "scatter", data: {datasets},
    options: options(
        axis("predicted speed", scale), axis("measured speed", scale),
        ({raw, dataset}) => `${dataset.label}: measured ${written(raw.y)}, ` +
                            `predicted ${written(raw.x)}`,
        {plugins: {referenceLine: {kind: "diagonal"}}}),
  };
}

function lengthsPlot() {
  const cell = view.cell;
  const keys = cell ? numberedKeys([cell], "accepted_lengths") : [];
  const found = keys.map((key) => measured(cell, "accepted_lengths", key));
  if (!found.some(Boolean)) return null;
  const look = methodLook(cell.method);
  const data = keys.map((key, i) => ({
    x: String(numberIn(key)), y: found[i]?.value ?? 0,
    low: found[i]?.low, high: found[i]?.high, place: key,
  }));
  return {
    type: "bar",
    data: {labels: data.map((datum) => datum.x),
           datasets: [{label: cell.method, data, whiskers: colour("ink"),
                       backgroundColor: look.colour}]},
    options: options(axis("drafted tokens accepted in a round"),
                     axis("share of the rounds", {
                       beginAtZero: true,
                       suggestedMax: Math.max(...found.filter(Boolean)
                                                  .map(topOf)),
                     }),
                     described, {plugins: {legend: {display: false}}}),
  };
}

// --- figures -----------------------------------------------------------------

function figureOf(plot) {
  const found = byId(`figure-${plot.id}`);
  if (found) return found;
  const figure = element(
      "figure", {id: `figure-${plot.id}`, class: plot.wide ? "wide" : null},
      element("figcaption", {}, element("h3", {}, plot.title),
              element("small", {class: "files"}),
              element("span", {class: "choice"})),
      element("p", {class: "quiet sentence"}),
      element("div", {class: "chart"}, element("canvas", {
        role: "img", "aria-label": `${plot.title}; its numbers are in the ` +
                                   "table of cells or in the report as JSON",
      })),
      element("p", {class: "quiet note"}));
  byId("figures").append(figure);
  return figure;
}

function drawPlot(plot) {
  const figure = figureOf(plot);
  charts.get(plot.id)?.destroy();
  charts.delete(plot.id);
  const sentence = typeof plot.sentence === "function" ? plot.sentence()
                                                       : plot.sentence;
  figure.querySelector(".sentence").textContent = sentenceOf(sentence);
  drawFiles(plot);
  const config = plot.make(shownCells());
  const box = figure.querySelector(".chart");
  box.hidden = config === null;
  figure.querySelector(".note").textContent = config === null
      ? `Nothing to draw: no cell here has ${plot.needs.map(words).join(" and ")}.`
      : noteOf(plot);
  if (config === null) return;
  box.style.height = config.height ? `${config.height}px` : "";
  charts.set(plot.id, new Chart(box.firstChild, {
    type: config.type, data: config.data, options: config.options,
    plugins: [errorBars, referenceLine],
  }));
}

// Below the histogram, what each trunk of the cell had accepted; below the
// others, which target has which marks.
function noteOf(plot) {
  if (plot.id === "shares") return "";
  if (!plot.ofChosen) {
    return [targetsNote(), dashesNote(plot), chainsNote()].filter(Boolean)
        .join(" ");
  }
  const trunks = numberedKeys([view.cell], "acceptance_by_trunk").map((key) => {
    const found = measured(view.cell, "acceptance_by_trunk", key);
    return found && `${key} ${writtenWithInterval(found)}`;
  }).filter(Boolean);
  return trunks.length ? `Accepted by trunk: ${trunks.join(", ")}.` : "";
}

function targetsNote() {
  const [first, ...others] = distinct(shownCells(), (cell) => cell.target);
  return others.length ? `Filled marks: ${first}; hollow: ` +
                         `${others.join(", ")}. Point at a mark for its cell.`
                       : "";
}

// Which dash is which cell, of the method that has most.
function dashesNote(plot) {
  if (plot.id !== "depth" && plot.id !== "rank") return "";
  const cells = shownCells();
  const methods = distinct(cells, (cell) => cell.method).map(
      (method) => cells.filter((cell) => cell.method === method));
  const most = methods.reduce((a, b) => b.length > a.length ? b : a, []);
  if (most.length < 2) return "";
  const labels = labelsOf(most);
  const named = most.map(
      (cell, i) => `${labels.get(cell)} ${dashNames[i % dashNames.length]}`);
  return `Lines of one method differ by dashes: ${named.join(", ")}.`;
}

function chainsNote() {
  const cells = shownCells();
  return cells.some((cell) => isHidden(cell, cells))
      ? "Chains for comparison are hidden: click their names to show them." : "";
}

// Links to the figure as files, of the one target and temperature shown.
function drawFiles(plot) {
  const file = (report.figures ?? []).find(
      (figure) => figure.plot === plot.id && figure.target === view.target &&
                  String(figure.temperature) === view.temperature);
  const link = (kind, type) => element("a", {
    download: `${file.file}.${kind}`,
    href: `data:${type};charset=utf-8,${encodeURIComponent(file[kind])}`,
  }, kind.toUpperCase());
  // The answer has that one, as it is drawn for papers.
  byId(`figure-${plot.id}`).hidden = plot.id === "size" && file !== undefined;
  byId(`figure-${plot.id}`).querySelector(".files").replaceChildren(
      ...(file ? [link("svg", "image/svg+xml"), " ", link("csv", "text/csv")]
               : []));
}

// A select in the figure's heading.
function drawChoice(id, label, values, chosen, change) {
  const place = byId(`figure-${id}`).querySelector(".choice");
  let select = place.querySelector("select");
  if (!select) {
    select = element("select", {"aria-label": label,
                                change: (event) => change(event.target.value)});
    place.append(select);
  }
  fillSelect(select, values, chosen);
}

function drawDepthChoice() {
  drawChoice("depth", "Which acceptance",
             [["acceptance_by_depth", "of all rounds"],
              ["conditional_acceptance_by_depth", "once its parent was"]],
             depthMetric, (value) => {
               depthMetric = value;
               drawPlot(plots.find((plot) => plot.id === "depth"));
             });
}

function drawPlotsOfChosen() {
  plots.filter((plot) => plot.ofChosen).forEach(drawPlot);
  const labels = labelsOf(shownCells());
  drawChoice("lengths", "Cell", [...labels].map(
      ([cell, label]) => [cell.name, label]), view.cell?.name,
      (name) => choose({cell: allCells.find((cell) => cell.name === name)}));
}

function drawPlots() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  plots.forEach(figureOf);  // in their order
  plots.filter((plot) => !plot.ofChosen).forEach(drawPlot);
  drawDepthChoice();
  drawPlotsOfChosen();
}
