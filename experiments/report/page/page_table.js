"use strict";
// The table of every method at every setting.

// Columns that stand in this order if the report has them; every other metric
// of one number follows where every number is asked for.
const tableOrder = [
  "speed", "predicted_speed", "ms_per_token", "tokens_per_pass",
  "accepted_per_pass", "alpha", "drafted_nodes", "drafter_cost",
];

const tableTitles = {
  predicted_speed: "predicted",
  ms_per_token: "ms a token",
  tokens_per_pass: "tokens per pass",
  accepted_per_pass: "accepted per pass",
};

const sorting = {column: "speed", ascending: false};

function scalarMetrics(cells) {
  const present = distinct(
      cells.flatMap((cell) => Object.keys(cell.metrics ?? {})),
      (name) => name).filter((name) => cells.some((c) => measured(c, name)));
  const first = tableOrder.filter((name) => present.includes(name));
  const others = present.filter((name) => !tableOrder.includes(name));
  byId("every").parentElement.hidden = others.length === 0;
  return byId("every").checked ? [...first, ...others] : first;
}

// {id, title, hint, key, draw}: key sorts, and is null where nothing is known.
function tableColumns(cells) {
  const columns = [
    {id: "method", title: "method", hint: "", key: (c) => c.method,
     draw: methodCell},
  ];
  if (distinct(cells, (c) => c.target).length > 1) {
    columns.push({...textColumn("target", (c) => c.target), draw: targetCell});
  }
  if (distinct(cells, (c) => c.temperature).length > 1) {
    columns.push(textColumn("temperature", (c) => c.temperature,
                            (c) => String(c.temperature)));
  }
  for (const axis of varyingAxes(cells)) {
    columns.push(textColumn(axis, (c) => axisKey(c.axes?.[axis]),
                            (c) => c.axes?.[axis] ?? ""));
  }
  return columns.concat(
      withCurve(scalarMetrics(cells).map((name) => metricColumn(name, cells)),
                cells));
}

// Inserts the column of the speed at stated costs after the measured speed.
function withCurve(columns, cells) {
  const key = report.curve?.name;
  const name = "predicted_by_curve";
  if (!cells.some((cell) => measured(cell, name, key))) return columns;
  const place = columns.findIndex((column) => column.id === "speed") + 1;
  const column = metricColumn(name, cells, key);
  column.title = `predicted by ${key}`;
  column.hint = report.curve.sentence;
  return [...columns.slice(0, place), column, ...columns.slice(place)];
}

function textColumn(id, key, text) {
  return {id, title: words(id), hint: "", key, style: "words",
          draw: (cell) => element("td", {class: "words"}, text(cell))};
}

function targetCell(cell) {
  return element("td", {class: "words"}, cell.target, element(
      "small", {}, cell.grown_from ? `grown from ${cell.grown_from}` : ""));
}

// Numbers sort as numbers.
function axisKey(text) {
  if (text === undefined) return null;
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) ? text : number;
}

function metricColumn(name, cells, key = "") {
  const unit = metricNamed(name)?.unit ?? "";
  const title = tableTitles[name] ?? words(name);
  const draw = name === "speed" ? speedDrawer(cells) : numberDrawer(name, key);
  return {id: name, title, hint: withMeaning(title, sentenceOf(name) + (unit && ` [${unit}]`)),
          key: (cell) => measured(cell, name, key)?.value ?? null, draw};
}

function numberDrawer(name, key = "") {
  return (cell) => {
    const found = measured(cell, name, key);
    if (!found) return element("td", {class: "quiet"}, "–");
    return element("td", {}, written(found.value),
                   element("small", {}, interval(found)));
  };
}

// Value, interval, and a bar on one scale for all cells that are shown.
function speedDrawer(cells) {
  const found = cells.map((cell) => measured(cell, "speed")).filter(Boolean);
  const top = 1.05 * Math.max(1.2, ...found.map(topOf));
  const draw = numberDrawer("speed");
  return (cell) => {
    const drawn = draw(cell);
    drawn.classList.add("speed");
    const speed = measured(cell, "speed");
    if (speed) drawn.append(speedBar(speed, top));
    return drawn;
  };
}

const verdictColours = {faster: "s1", slower: "s2", open: ""};

function speedBar(speed, top) {
  const percent = (value) => `${Math.max(0, 100 * value / top).toFixed(2)}%`;
  const verdict = speedVerdict(speed);
  const bar = element("span", {class: `speedbar ${verdict} ${verdictColours[verdict]}`,
                               "aria-hidden": "true"});
  const part = (name, left, width) => {
    const made = element("span", {class: name});
    made.style.left = percent(left);
    made.style.width = percent(width);
    bar.append(made);
  };
  part("fill", 0, speed.value);
  if (hasInterval(speed)) part("range", speed.low, speed.high - speed.low);
  part("one", 1, 0);
  return bar;
}

// Whether its interval says that the cell is faster or slower than plain.
function speedVerdict(speed) {
  if (!hasInterval(speed)) return "open";
  if (speed.low > 1) return "faster";
  return speed.high < 1 ? "slower" : "open";
}

function methodCell(cell) {
  const button = element("button", {
    type: "button", class: "link", "data-focus": `cell ${cell.name}`,
    title: `${cell.name}: show its rounds`,
    click: () => choose({cell}),
  }, cell.method);
  const head = element("th", {scope: "row"}, button);
  if (!cell.lossless) head.append(" ", element("b", {class: "lossy"},
                                         lossText(cell).trim().slice(1, -1)
                                             .toUpperCase()));
  if (isBaseline(cell)) {
    head.append(" ", element("span", {class: "badge"}, "plain decoding"));
  }
  head.append(element("small", {}, madeOf(cell)));
  return head;
}

// Drafters, policies and the verifier in few words.
function madeOf(cell) {
  const trunks = cell.trunks ?? [];
  if (trunks.length === 0) return "nothing drafted";
  const policies = distinct(trunks, (trunk) => trunk.policy);
  return `${trunks.map((trunk) => trunk.drafter).join(" + ")}, ` +
         `${policies.join(" + ")}, ${cell.verifier}`;
}

// Cells without the value stand last either way; ties keep the report's order.
function sortedCells(cells, columns) {
  const column = columns.find((c) => c.id === sorting.column);
  if (!column) return cells;
  const sign = sorting.ascending ? 1 : -1;
  return [...cells].sort((left, right) => {
    const [a, b] = [column.key(left), column.key(right)];
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "string" || typeof b === "string"
                       ? String(a).localeCompare(String(b))
                       : a - b);
  });
}

function sortBy(column) {
  const same = sorting.column === column.id;
  const numbers = allCells.some((c) => typeof column.key(c) === "number");
  sorting.ascending = same ? !sorting.ascending : !numbers;
  sorting.column = column.id;
  drawTable();
}

function columnHead(column) {
  const sorted = sorting.column === column.id;
  const direction = sorting.ascending ? "ascending" : "descending";
  return element(
      "th", {scope: "col", class: column.style ?? null,
             "aria-sort": sorted ? direction : null},
      element("button", {
        type: "button", "data-focus": `column ${column.id}`,
        title: column.hint || null,
        click: () => sortBy(column),
      }, column.title));
}

// What all shown cells have in common.
function sharedText(cells) {
  const shared = [];
  const targets = distinct(cells, targetText);
  if (targets.length === 1) shared.push(`target ${targets[0]}`);
  const temperatures = distinct(cells, (cell) => cell.temperature);
  if (temperatures.length === 1) shared.push(`temperature ${temperatures[0]}`);
  const prompts = distinct(cells, (cell) => cell.prompts);
  if (prompts.length === 1) shared.push(counted(prompts[0], "prompt"));
  return shared.join(", ");
}

function drawTable() {
  const cells = shownCells();
  const columns = tableColumns(cells);
  byId("shared").textContent = sharedText(cells);
  const table = byId("table");
  const focused = document.activeElement?.dataset.focus;
  table.tHead.replaceChildren(element("tr", {}, ...columns.map(columnHead)));
  table.tBodies[0].replaceChildren(...sortedCells(cells, columns).map(
      (cell) => element("tr", {class: cell === view.cell ? "chosen" : null},
                        ...columns.map((column) => column.draw(cell)))));
  const scroll = table.parentElement;
  byId("sideways").hidden = scroll.scrollWidth <= scroll.clientWidth;
  // A key that was held must not fall to the top of the page.
  if (focused) {
    table.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  }
}
