"use strict";
// Draws a round's tree as SVG, growing from left to right as text does: leaves
// take consecutive rows, parents the middle of their outer children, a column
// is as wide as its widest box.

// Lengths in px. A fixed-width font is 0.6 em wide in the usual faces; a little
// more keeps wider ones inside their boxes.
const labelSize = 13;
const noteSize = 10.5;
const emWidth = 0.62;
const boxPadding = 8;
const boxHeight = 36;
const rowGap = 8;  // between the outer rings of two boxes
const columnGap = 30;
const treeMargin = 16;
const ringGap = 3.5;  // between the rings of a box
const longestLabel = 18;

const ringDashes = ["", "5 3", "2 2", "8 3 2 3"];

// Columns a text takes in a fixed-width font: East Asian characters and symbols
// from U+2E80 on count two.
function textColumns(text) {
  let columns = 0;
  for (const character of text) {
    columns += character.codePointAt(0) < 0x2e80 ? 1 : 2;
  }
  return columns;
}

function shortened(text) {
  const characters = [...text];
  return characters.length <= longestLabel
      ? text : characters.slice(0, longestLabel - 1).join("") + "…";
}

// Whether a node was scored beside the tree, and neither drawn nor judged.
function isProbe(node) {
  return Number.isInteger(node.probe_of);
}

function probeNote(node) {
  return node.vector ? "vector" : "probe";
}

// Whether its parent was accepted, or is the root.
function isReached(round, node) {
  return node.parent === 0 || Boolean(round.nodes[node.parent].accepted);
}

// p, and the first trunk's q; ranked drafts have q = 1.
function nodeNote(node) {
  const q = node.q?.[0];
  return `p ${written(node.p)}` +
         (Number.isFinite(q) && q < 1 ? ` q ${written(q)}` : "");
}

// All but the root and the probes.
function draftedNodes(round) {
  return round.nodes.slice(1).filter((node) => !isProbe(node));
}

// A box for each node and, last, one for the token after the accepted path:
// {label, note, parent, kind, trunks, title, accepted, depth, children}.
// `ink` is how that last token came about; `kept` whether the text has it.
function boxesOf(round, ink, kept) {
  const boxes = round.nodes.map((node, index) => ({
    label: shortened(node.text),
    note: index === 0 ? "so far" : isProbe(node) ? probeNote(node)
                                                 : nodeNote(node),
    parent: node.parent,
    kind: index === 0 ? "root" : isProbe(node) ? "probe"
        : node.accepted ? "accepted"
        : isReached(round, node) ? "refused" : "off",
    trunks: index === 0 ? [] : isProbe(node) ? [node.probe_of]
                                             : node.trunks ?? [],
    title: index === 0 ? "the last token before the round"
                       : nodeTitle(node),
    accepted: index === 0 || Boolean(node.accepted),
  }));
  const last = boxes.reduce((found, box, i) => box.accepted ? i : found, 0);
  boxes.push({
    label: shortened(round.next), parent: last,
    note: kept ? ink : "not kept", kind: `next ${kept ? ink : "cut"}`,
    trunks: [], accepted: true,
    title: `${JSON.stringify(round.next)}: the token after the accepted path`,
  });
  boxes.forEach((box, i) => {
    box.children = [];
    box.depth = 0;
    if (i === 0) return;
    box.depth = boxes[box.parent].depth + 1;
    boxes[box.parent].children.push(i);
  });
  return boxes;
}

function nodeTitle(node) {
  if (isProbe(node)) {
    const start = node.vector ? "a vector in the place of " : "";
    return `${start}${JSON.stringify(node.text)}: a probe of trunk ` +
           `${node.probe_of}, scored and not judged`;
  }
  const draws = (node.trunks ?? []).map((trunk, i) => {
    const q = node.q?.[i];
    if (!Number.isFinite(q)) return `, proposed by trunk ${trunk}`;
    const alone = Math.min(1, node.p / q);
    return `, proposed by trunk ${trunk} with q ${written(q)}: judged alone it ` +
           `is accepted with probability min(1, p/q) = ${written(alone)}`;
  });
  return `${JSON.stringify(node.text)}: target probability p ` +
         `${written(node.p)}, ` +
         `${node.accepted ? "accepted" : "not accepted"}${draws.join("")}`;
}

// Sets x, y (of the middle of the left edge), width and the tree's size.
function placeBoxes(boxes) {
  const columns = [];
  for (const box of boxes) {
    box.width = 2 * boxPadding + emWidth * Math.max(
        labelSize * textColumns(box.label), noteSize * textColumns(box.note));
    columns[box.depth] = Math.max(columns[box.depth] ?? 0, box.width);
  }
  const lefts = [treeMargin];
  for (const width of columns) lefts.push(lefts.at(-1) + width + columnGap);
  const rings = Math.max(1, ...boxes.map((box) => box.trunks.length));
  const step = boxHeight + 2 * (rings - 1) * ringGap + rowGap;
  let row = treeMargin + boxHeight / 2;
  const place = (index) => {
    const box = boxes[index];
    box.x = lefts[box.depth];
    box.children.forEach(place);
    if (box.children.length === 0) {
      box.y = row;
      row += step;
    } else {
      const outer = [box.children[0], box.children.at(-1)];
      box.y = (boxes[outer[0]].y + boxes[outer[1]].y) / 2;
    }
  };
  place(0);
  return {width: lefts.at(-1) - columnGap + treeMargin,
          height: row - step + boxHeight / 2 + treeMargin};
}

// --- drawing -----------------------------------------------------------------

function shape(svg, name, attributes, ...children) {
  const made = document.createElementNS(svg.namespaceURI, name);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

function edgeOf(svg, box, parent) {
  const start = parent.x + parent.width;
  const middle = (start + box.x) / 2;
  return shape(svg, "path", {
    class: `edge${box.accepted ? " bold" : ""}`,
    d: `M${start} ${parent.y}C${middle} ${parent.y} ${middle} ${box.y} ` +
       `${box.x} ${box.y}`,
  });
}

function rectOf(svg, box, grown, attributes) {
  return shape(svg, "rect", {
    x: box.x - grown, y: box.y - boxHeight / 2 - grown,
    width: box.width + 2 * grown, height: boxHeight + 2 * grown,
    rx: 5 + grown, ...attributes,
  });
}

// One ring a trunk, in the trunk's colour and dash, outside the box's edge.
function ringsOf(svg, box) {
  return box.trunks.map((trunk, i) => rectOf(svg, box, i * ringGap, {
    class: "ring", stroke: seriesColour(trunk),
    "stroke-dasharray": ringDashes[trunk % ringDashes.length] || null,
  }));
}

// The label's text, with paler signs for spaces and control characters.
function signed(svg, label) {
  return label.split(/([\u0000-\u0020\u007f]+)/).filter(Boolean).map((part) => {
    if (!/^[\u0000-\u0020\u007f]/.test(part)) return part;
    const signs = printable(part).replaceAll(" ", "·");
    return shape(svg, "tspan", {class: "sign"}, signs);
  });
}

function boxOf(svg, box) {
  const text = (style, down, ...content) => shape(
      svg, "text", {class: style, x: box.x + box.width / 2, y: box.y + down},
      ...content);
  return shape(svg, "g", {class: `node ${box.kind}`},
               shape(svg, "title", {}, box.title),
               rectOf(svg, box, 0, {class: "box"}), ...ringsOf(svg, box),
               text("label", -2, ...signed(svg, box.label)), text("note", 13, box.note));
}

// Draws into `svg`, which it empties, and returns the boxes.
function drawTree(svg, round, ink, kept) {
  const boxes = boxesOf(round, ink, kept);
  const {width, height} = placeBoxes(boxes);
  const drafted = draftedNodes(round);
  const accepted = drafted.filter((node) => node.accepted).length;
  setAttributes(svg, {
    width, height, viewBox: `0 0 ${width} ${height}`,
    "aria-label": `Tree of ${drafted.length} drafted tokens, ` +
                  `${accepted} accepted, then ${printable(round.next)}`,
  });
  // Bold edges last, above the others.
  const edges = boxes.slice(1).sort((a, b) => a.accepted - b.accepted);
  svg.replaceChildren(
      ...edges.map((box) => edgeOf(svg, box, boxes[box.parent])),
      ...boxes.map((box) => boxOf(svg, box)));
  return boxes;
}
