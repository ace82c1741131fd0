"use strict";
// The plots, drawn by the program: the same as `banyan report --figures` writes.

// Each in its place, with the metric whose sentence stands above it.
const plots = {
  tokens: {place: "drawn"},
  size: {place: "drawn"},
  depth: {place: "figures", metric: "acceptance_by_depth"},
  conditional: {place: "figures", metric: "conditional_acceptance_by_depth"},
  rank: {place: "figures", metric: "acceptance_by_rank"},
  lengths: {place: "figures", metric: "accepted_lengths"},
  predicted: {place: "figures", metric: "predicted_speed"},
  shares: {place: "figures", metric: "time_shares"},
};

function dataAddress(type, text) {
  return `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
}

// A drawing of the program as part of the page, so that it has the page's colours
// and texts under the pointer.
function drawing(svg) {
  return document.importNode(
      new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
}

function fileLink(figure, kind, type) {
  return element("a", {download: `${figure.file}.${kind}`,
                       href: dataAddress(type, figure[kind])}, kind.toUpperCase());
}

function figureNode(figure) {
  const {metric} = plots[figure.plot];
  return element(
      "figure", {},
      metric ? element("p", {class: "quiet sentence"}, sentenceOf(metric)) : "",
      element("div", {class: "scroll plain"}, drawing(figure.svg)),
      element("figcaption", {class: "files"},
              fileLink(figure, "svg", "image/svg+xml"),
              fileLink(figure, "csv", "text/csv")));
}

// Those of what is chosen; each temperature has its own.
function drawFigures() {
  for (const place of ["drawn", "figures"]) {
    const shown = (report.figures ?? []).filter(
        (figure) => plots[figure.plot]?.place === place &&
                    (!view.target || figure.target === view.target) &&
                    (!view.temperature ||
                     String(figure.temperature) === view.temperature));
    byId(place).replaceChildren(...shown.map(figureNode));
  }
  byId("plots").hidden = byId("figures").children.length === 0;
}
