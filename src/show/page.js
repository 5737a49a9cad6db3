"use strict";
const $ = id => document.getElementById(id), ROW = 26;
const networks = JSON.parse($("model").textContent).networks, source = JSON.parse($("source").textContent), graphs = JSON.parse($("graphs").textContent);
let nodes, byNumber = [], root, rolesKnown = true, rows = [], folding = true, selected = 0, matches = null, query = "";

/* ---- the model: every node numbered, summed, and given a number that equal subtrees share ---- */

function shapeText(shape) { return shape ? shape.length ? shape.join("×") : "scalar" : "?"; }
function elements(shape) { return shape && shape.every(n => typeof n === "number") ? shape.reduce((a, b) => a * b, 1) : 0; }
function argText(node) {
  const plain = new Set(node.source_args || []);
  const show = v => v === null ? "None" : v === true ? "True" : v === false ? "False" : Array.isArray(v) ? "(" + v.map(show).join(", ") + (v.length === 1 ? ",)" : ")")
    : typeof v === "string" ? "'" + v + "'" : typeof v === "number" && v && Math.abs(v) < 1e-4 ? v.toExponential() : String(v);
  return Object.entries(node.args || {}).map(([k, v]) => (/^\d/.test(k) ? "" : k + "=") + (plain.has(k) && typeof v === "string" ? v : show(v))).join(", ");
}

/* Bytes of an element, by the number at the end of its type's name or in it; 0: not known. */
const sizes = new Map([["bool", 1]]);
function sizeOf(dtype) {
  if (!sizes.has(dtype)) {
    const found = /^(?:q?u?int|float|bfloat|complex)(\d+)/.exec(dtype || "");
    sizes.set(dtype, found ? found[1] / 8 : 0);
  }
  return sizes.get(dtype);
}
function bytesText(n) { for (const unit of ["B", "kB", "MB", "GB"]) { if (n < 1000) return `${n < 10 && unit !== "B" ? n.toFixed(1) : Math.round(n)} ${unit}`; n /= 1000; } return n.toFixed(1) + " TB"; }

/* What the tensors of a module take, and of which types they are. Those that are another's are not counted twice. */
function weigh(network, node) {
  const { from } = node, dtypes = network.dtypes || {}, tied = from.tied || {};
  node.bytes = 0; node.types = NO_TYPES;
  for (const list of [from.parameters, from.buffers])
    for (const name in list || {}) {
      const dtype = at(dtypes, fullName(network, node, name));
      if (dtype) addTypes(node, [dtype]);
      if (!at(tied, name)) node.bytes += elements(list[name]) * sizeOf(dtype);
    }
}
const NO_TYPES = new Set(), typeSets = new Map(); /* most modules have the same few: one set for all that do */
function addTypes(node, more) {
  const fresh = [...more].filter(t => !node.types.has(t));
  if (!fresh.length) return;
  const all = [...node.types, ...fresh], key = all.join();
  if (!typeSets.has(key)) typeSets.set(key, new Set(all));
  node.types = typeSets.get(key);
}
/* Of a file's names, some are what every object has: toString. */
function at(map, name) { return map && Object.hasOwn(map, name) ? map[name] : undefined; }
function fullName(network, node, name) { return at(node.from.full_names, name) || (node.path ? node.path + (network.separator || ".") + name : name); }

function load(network) {
  nodes = [];
  const looks = new Map();
  const add = (from, parent, depth) => {
    const node = { id: nodes.length, from, parent, depth, name: from.name, cls: from.class, args: argText(from), kids: [], open: false, unfolded: false };
    node.path = parent && parent.path ? parent.path + (network.separator || ".") + from.name : parent ? from.name : "";
    nodes.push(node);
    return node;
  };
  if (!network.tree.length) { root = null; return; }
  root = add(network.tree[0], null, 0);
  const order = [root];
  for (let i = 0; i < order.length; i++)
    for (const child of order[i].from.children) { const made = add(child, order[i], order[i].depth + 1); order[i].kids.push(made); order.push(made); }
  for (let i = order.length; i--;) {
    const n = order[i], from = n.from, tied = from.tied || {};
    n.own = Object.entries(from.parameters).reduce((sum, [k, s]) => sum + (at(tied, k) ? 0 : elements(s)), 0);
    const times = typeof from.repeat === "number" ? from.repeat : 1;
    weigh(network, n);
    for (const k of n.kids) { n.bytes += k.bytes; addTypes(n, k.types); }
    n.bytes *= times;
    n.total = (n.own + n.kids.reduce((sum, k) => sum + k.total, 0)) * times;
    const look = JSON.stringify([n.cls, n.args, from.parameters, from.buffers, from.tied, from.repeat, from.condition, from.shared_with || n.kids.map(k => [k.name, k.look])]);
    if (!looks.has(look)) looks.set(look, looks.size);
    n.look = looks.get(look);
  }
  root.open = true;
  byNumber = [];
  for (const stack = [root]; stack.length;) { const n = stack.pop(); n.number = byNumber.length; byNumber.push(n); for (let i = n.kids.length; i--;) stack.push(n.kids[i]); }
}

/* Neighbours that look the same, as [first, last, how many]. */
function groups(node, isFolded = folding && !node.unfolded) {
  const out = [];
  for (const kid of node.kids) {
    const last = out[out.length - 1];
    if (isFolded && last && last[0].look === kid.look && !kid.from.shared_with) { last[1] = kid; last[2]++; }
    else out.push([kid, kid, 1]);
  }
  return out;
}

/* ---- the list: only the rows in sight are in the document ---- */

function lay() {
  rows = [];
  const stack = root ? [[root, root, 1]] : [];
  while (stack.length) {
    const row = stack.pop(), node = row[0];
    if (matches && !matches.shown.has(node.id)) continue;
    rows.push(row);
    if (matches ? matches.above.has(node.id) : node.open) {
      const inner = matches ? node.kids.map(k => [k, k, 1]) : groups(node);
      for (let i = inner.length; i--;) stack.push(inner[i]);
    }
  }
  $("rows").style.height = rows.length * ROW + "px";
  draw();
}

function marked(text) {
  const span = document.createElement("span"), at = query ? text.toLowerCase().indexOf(query) : -1;
  if (at < 0) { span.textContent = text; return span; }
  const mark = document.createElement("mark");
  mark.textContent = text.slice(at, at + query.length);
  span.append(text.slice(0, at), mark, text.slice(at + query.length));
  return span;
}

function piece(parent, name, text) { const e = document.createElement("span"); e.className = name; e.append(text); parent.append(e); return e; }
function measure(cell, part, whole) { cell.style.setProperty("--part", whole ? 100 * part / whole + "%" : "0%"); }
function human(n) { return n < 1e4 ? n.toLocaleString("en") : n < 1e6 ? (n / 1e3).toFixed(1) + " K" : n < 1e9 ? (n / 1e6).toFixed(1) + " M" : (n / 1e9).toFixed(2) + " G"; }

function draw() {
  const list = $("list"), first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6), last = Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 5);
  const out = [];
  for (let i = first; i < last; i++) {
    const [node, end, times] = rows[i], row = document.createElement("div");
    row.className = node.id === selected ? "row on" : "row";
    row.id = "n" + node.id;
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", node.depth + 1);
    row.setAttribute("aria-selected", node.id === selected);
    row.style.top = i * ROW + "px";
    row.style.paddingLeft = 8 + node.depth * 18 + "px";
    row.dataset.id = node.id;
    const open = matches ? matches.above.has(node.id) : node.open;
    if (node.kids.length) row.setAttribute("aria-expanded", open);
    piece(row, "twist", node.kids.length ? open ? "▾" : "▸" : "");
    if (!node.parent && !node.cls) piece(row, "name", network().name || "");
    if (node.parent) piece(row, "name", times > 1 ? node.name + " … " + end.name : marked(node.name));
    if (times > 1) piece(row, "times", "×" + times).title = "show each of them";
    if (node.from.repeat !== 1) piece(row, "times", "× " + node.from.repeat);
    piece(row, "class", marked(node.cls || ""));
    piece(row, "args", node.from.shared_with ? "= " + node.from.shared_with : node.args);
    if (node.from.condition) piece(row, "cond", "if " + node.from.condition);
    piece(row, "shape", node.from.output ? shapeText(node.from.output) : "").title = node.from.output ? shapeText(node.from.output) : "";
    const types = [...node.types];
    piece(row, "dtype", types.length > 1 ? types[0] + " +" + (types.length - 1) : types[0] || "").title = types.join(", ");
    measure(piece(row, "count bytes", node.bytes ? bytesText(node.bytes * times) : ""), node.bytes * times, root.bytes);
    measure(piece(row, "count", node.total ? human(node.total * times) : ""), node.total * times, root.total);
    measure(piece(row, "count cost", node.from.flops ? human(node.from.flops * times) : ""), (node.from.flops || 0) * times, root.from.flops);
    out.push(row);
  }
  $("rows").replaceChildren(...out);
  list.setAttribute("aria-activedescendant", "n" + selected);
}

function reveal() {
  const at = rows.findIndex(r => r[0].id === selected), list = $("list");
  if (at < 0) return;
  if (at * ROW < list.scrollTop) list.scrollTop = at * ROW;
  else if ((at + 2) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (at + 2) * ROW - list.clientHeight; /* below the head */
}

/* how: what the graph does, which opens what is around the node if nothing is said */
function select(id, how = "reveal") {
  selected = id; reveal(); draw(); detail();
  if (!nodes[id]) return;
  if (!$("flow").hidden) graph[how](nodes[id]);
  remember(nodes[id].path);
}
function toggle(node, open) { if (!matches && node.kids.length) { node.open = open; lay(); } }
function go(path, how) {
  const node = nodes.find(n => n.path === path);
  if (!node) return false;
  clearSearch();
  for (let up = node.parent; up; up = up.parent) { up.open = true; if (groups(up).some(g => g[2] > 1)) up.unfolded = up.unfolded || !groups(up).some(g => g[0] === node || g[0] === up); }
  lay(); select(node.id, how);
  return true;
}

/* ---- what the selected module is ---- */

function make(tag, text, name) { const e = document.createElement(tag); if (text !== undefined) e.append(text); if (name) e.className = name; return e; }
function section(into, title) { into.append(make("h2", title)); }

/* Where somebody beside the page can read the file (`pellucid serve`), a tensor's name shows its values. */
let reader = false, question = 0;
const answers = new Map();
addEventListener("message", e => {
  if (e.source !== parent || !e.data || e.data.pellucid === undefined) return;
  if (e.data.pellucid === "reader" && !reader) { reader = true; detail(); }
  if (e.data.pellucid === "values" && answers.has(e.data.id)) { answers.get(e.data.id)(e.data); answers.delete(e.data.id); }
});
if (parent !== window) parent.postMessage({ pellucid: "page" }, "*");

function nameCell(name, full, dtype) {
  const cell = make("td");
  if (!reader) { cell.append(name); return cell; }
  const button = make("button", name);
  button.title = "its values";
  button.onclick = () => {
    const row = cell.parentNode, next = row.nextSibling;
    if (next && next.className === "values") { next.remove(); return; }
    const shown = make("tr", undefined, "values"), place = make("td", "reading …");
    place.colSpan = 4;
    shown.append(place);
    row.after(shown);
    answers.set(++question, answer => place.replaceChildren(...(answer.error ? [make("span", answer.error, "bad")] : valuesOf(answer.values))));
    parent.postMessage({ pellucid: "values", id: question, name: full, dtype }, "*");
  };
  cell.append(button);
  return cell;
}

function valuesOf(v) {
  const say = x => x === null ? "none" : typeof x === "number" ? Number(x.toPrecision(6)).toString() : String(x);
  const facts = make("div", ["min", "max", "mean", "std", "zero", "nan", "inf"].map(k => k + " " + say(v[k])).join(" · "), "path");
  const NS = "http://www.w3.org/2000/svg", bars = document.createElementNS(NS, "svg"), most = Math.max(1, ...v.counts);
  for (const [k, x] of Object.entries({ class: "bars", viewBox: `0 0 ${v.counts.length || 1} 100`, preserveAspectRatio: "none", role: "img", "aria-label": "histogram" })) bars.setAttribute(k, x);
  v.counts.forEach((n, i) => {
    const bar = document.createElementNS(NS, "rect"), height = 98 * n / most;
    for (const [k, x] of Object.entries({ x: i + 0.05, y: 100 - height, width: 0.9, height })) bar.setAttribute(k, x);
    bars.append(bar);
  });
  const ends = make("div", undefined, "ends");
  if (v.edges.length) ends.append(make("span", say(v.edges[0])), make("span", say(v.edges[v.edges.length - 1])));
  const part = v.looked_at < v.count ? [make("div", `of the first ${v.looked_at.toLocaleString("en")} of ${v.count.toLocaleString("en")}`, "path")] : [];
  return [...part, facts, bars, ends, make("div", "first: " + v.first.map(say).join("  "), "path")];
}

function tensorTable(node) {
  const table = make("table", undefined, "tensors"), head = make("tr"), from = node.from, all = ["parameters", "buffers"];
  for (const [h, c] of [["tensor", ""], ["shape", ""], ["dtype", ""], ["elements", "r"]]) head.append(make("th", h, c));
  table.append(head);
  for (const key of all)
    for (const [name, shape] of Object.entries(from[key] || {})) {
      const row = make("tr"), notes = [], full = fullName(network(), node, name);
      if (key === "buffers") notes.push("buffer");
      if ((from.frozen || []).includes(name)) notes.push("frozen");
      if ((from.not_saved || []).includes(name)) notes.push("not saved");
      if (at(from.tied, name)) notes.push("= " + from.tied[name]);
      if (at(from.full_names, name)) notes.push("in the file: " + full);
      const dtype = at(network().dtypes, full) || "";
      row.append(nameCell(name, full, dtype), make("td", shapeText(shape)), make("td", dtype), make("td", elements(shape).toLocaleString("en"), "r"));
      if (notes.length) row.firstChild.append(make("small", notes.join(", ")));
      table.append(row);
    }
  return table;
}

/* Text of `class name` in the source beside, from its decorators to the next unindented line. */
function classSource(name) {
  const lines = source.split("\n"), at = lines.findIndex(l => l.startsWith("class " + name + "(") || l.startsWith("class " + name + ":"));
  if (at < 0) return "";
  let first = at, end = at + 1;
  while (first && lines[first - 1].startsWith("@")) first--;
  while (end < lines.length && (!lines[end] || /^\s/.test(lines[end]))) end++;
  return lines.slice(first, end).join("\n").trimEnd();
}

const words = new Set("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" "));
function coloured(text) {
  const pre = make("pre"), token = /("""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(#[^\n]*)|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;
  let at = 0;
  for (const m of text.matchAll(token)) {
    const kind = m[1] ? "s" : m[2] ? "c" : m[3] ? "n" : words.has(m[4]) ? "k" : "";
    if (!kind) continue;
    pre.append(text.slice(at, m.index));
    pre.append(make("span", m[0], kind));
    at = m.index + m[0].length;
  }
  pre.append(text.slice(at));
  return pre;
}

function attributeTable(from) {
  const table = make("table");
  for (const [name, value] of Object.entries(from.args)) {
    const row = make("tr"), text = argText({ args: { 0: value }, source_args: (from.source_args || []).includes(name) ? ["0"] : [] });
    row.append(make("th", /^\d/.test(name) ? "argument " + (Number(name) + 1) : name), make("td", text));
    table.append(row);
  }
  return table;
}

/* What is said of the file as a whole, and what it holds beside its tensors. */
function fileFacts(out) {
  const net = network(), rows = [], types = new Map();
  if (net.format) rows.push(["format", net.format]);
  const names = Object.keys(net.state || {});
  if (names.length) rows.push(["tensors", names.length.toLocaleString("en")]);
  for (const dtype of Object.values(net.dtypes || {})) types.set(dtype, (types.get(dtype) || 0) + 1);
  if (types.size) rows.push(["types", [...types].sort((a, b) => b[1] - a[1]).map(([dtype, n]) => `${dtype} ×${n}`).join(", ")]);
  if (net.totals.bytes) rows.push(["bytes", net.totals.bytes.toLocaleString("en")]);
  const table = list => { const t = make("table"); for (const [k, v] of list) { const row = make("tr"); row.append(make("th", k), make("td", v)); t.append(row); } return t; };
  if (net.format && rows.length) { section(out, "file"); out.append(table(rows)); }
  const values = net.values || [], SHOWN = 400;
  if (values.length) {
    section(out, "beside the tensors");
    out.append(table(values.slice(0, SHOWN).map(v => [v.name, v.value])));
    const more = Math.max(0, values.length - SHOWN) + (net.values_left_out || 0);
    if (more) out.append(make("div", `and ${more.toLocaleString("en")} more`, "path"));
  }
  for (const [key, title] of [["facts", "known from elsewhere"], ["assumed", "taken for given"]])
    if ((net[key] || []).length) { section(out, title); out.append(table(net[key].map(f => [f.what, (f.value || f.why || "") + (f.from ? ` (${f.from})` : "")]))); }
}

function detail() {
  const node = nodes[selected], out = $("detail"), from = node && node.from;
  out.replaceChildren();
  if (!node) return;
  out.append(make("h1", node.cls || node.name || network().name || "?"), make("div", node.path || "the whole network", "path"));
  const facts = make("table"), fact = (k, v) => { const row = make("tr"); row.append(make("th", k), make("td", v)); facts.append(row); };
  if (node.total) fact(rolesKnown ? "parameters" : "elements", node.total.toLocaleString("en") + (node.own && node.own !== node.total ? `, ${node.own.toLocaleString("en")} of its own` : ""));
  if (node.bytes) fact("bytes", bytesText(node.bytes) + " as " + [...node.types].join(", "));
  if (from.output) fact("output", shapeText(from.output));
  if (from.flops !== undefined) fact("multiply-adds", human(from.flops));
  if (from.condition) fact("only if", from.condition);
  if (from.shared_with) fact("the same as", link(from.shared_with));
  if (from.origin && from.origin.file) fact("from", from.origin.file + (from.origin.line ? ":" + from.origin.line : ""));
  const near = (key, other) => [...new Set((network().flow || []).filter(e => e[key] === node.path && node.path).map(e => e[other]))];
  const fed = near("to", "from"), feeds = near("from", "to");
  if (fed.length) fact("gets from", links(fed));
  if (feeds.length) fact("gives to", links(feeds));
  if (from.class_file) fact("class in", from.class_file);
  if (facts.childElementCount) { section(out, "facts"); out.append(facts); }
  if (Object.keys(from.args || {}).length) { section(out, "attributes"); out.append(attributeTable(from)); }
  if (node === root) fileFacts(out);
  if (Object.keys(from.parameters).length + Object.keys(from.buffers || {}).length) { section(out, "tensors"); out.append(tensorTable(node)); }
  const text = classSource(node.cls);
  if (text) { section(out, "source"); out.append(coloured(text)); }
  if (node === root) for (const [key, title] of [["errors", "errors"], ["unknown", "unknown"]])
    if ((network()[key] || []).length) {
      section(out, title);
      for (const u of network()[key]) out.append(make("div", `${u.what}: ${u.why}` + (u.file ? ` (${u.file}:${u.line})` : ""), key === "errors" ? "bad" : ""));
    }
}
function link(path) { const a = make("a", path); a.tabIndex = 0; a.setAttribute("role", "link"); a.onclick = () => go(path); a.onkeydown = e => { if (e.key === "Enter") go(path); }; return a; }
function links(paths) { const span = make("span"); paths.slice(0, 12).forEach((p, i) => span.append(i ? ", " : "", link(p))); if (paths.length > 12) span.append(` and ${paths.length - 12} more`); return span; }

/* ---- search ---- */

function search() {
  query = $("search").value.trim().toLowerCase();
  if (!query) { matches = null; $("found").textContent = ""; lay(); reveal(); return; }
  matches = { shown: new Set(), above: new Set(), hits: [] };
  for (const node of nodes) {
    if (!node.path.toLowerCase().includes(query) && !(node.cls || "").toLowerCase().includes(query)) continue;
    const own = node.name.toLowerCase().includes(query) || (node.cls || "").toLowerCase().includes(query) || query.includes(sep());
    if (!own) continue;
    matches.hits.push(node.id);
    matches.shown.add(node.id);
    for (let up = node.parent; up && !matches.above.has(up.id); up = up.parent) { matches.above.add(up.id); matches.shown.add(up.id); }
  }
  $("found").textContent = matches.hits.length.toLocaleString("en") + " found";
  lay();
  if (matches.hits.length) select(matches.hits[0], "look");
}
function clearSearch() { if (matches) { $("search").value = ""; matches = null; query = ""; $("found").textContent = ""; lay(); } }

/* ---- hands ---- */

$("list").addEventListener("scroll", draw, { passive: true });
addEventListener("resize", draw);
$("list").addEventListener("click", e => {
  const row = e.target.closest(".row[data-id]"); /* the head is a row, too */
  if (!row) return;
  const node = nodes[row.dataset.id];
  if (e.target.classList.contains("times") && node.parent) { node.parent.unfolded = true; lay(); }
  else if (e.target.classList.contains("twist")) toggle(node, !node.open);
  select(node.id);
});
$("list").addEventListener("dblclick", e => { const row = e.target.closest(".row[data-id]"); if (row) toggle(nodes[row.dataset.id], !nodes[row.dataset.id].open); });
$("list").addEventListener("keydown", e => {
  const at = rows.findIndex(r => r[0].id === selected), node = nodes[selected], page = Math.max(1, Math.floor($("list").clientHeight / ROW) - 1);
  const to = i => { if (rows.length) select(rows[Math.max(0, Math.min(rows.length - 1, i))][0].id); };
  const keys = {
    ArrowDown: () => to(at + 1), ArrowUp: () => to(at - 1), Home: () => to(0), End: () => to(rows.length - 1), PageDown: () => to(at + page), PageUp: () => to(at - page),
    ArrowRight: () => node.kids.length && !node.open ? toggle(node, true) : to(at + 1),
    ArrowLeft: () => node.open && node.kids.length && !matches ? toggle(node, false) : node.parent && select(node.parent.id),
    Enter: () => toggle(node, !node.open), " ": () => toggle(node, !node.open),
  };
  if (keys[e.key] && node) { e.preventDefault(); keys[e.key](); }
});
addEventListener("keydown", e => {
  const busy = e.altKey || e.ctrlKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) || $("keys").open;
  if (!busy && e.key in PANES) $(PANES[e.key][0]).click();
  if (!busy && e.key === "?") $("keys").showModal();
  if (e.key === "/" && document.activeElement !== $("search")) { e.preventDefault(); $("search").focus(); }
  if (e.key === "Escape" && !$("keys").open && document.activeElement === $("search")) { clearSearch(); $("list").focus(); }
});
$("search").addEventListener("input", search);
$("search").addEventListener("keydown", e => {
  if (e.key !== "Enter" || !matches || !matches.hits.length) return;
  const at = matches.hits.indexOf(selected), n = matches.hits.length;
  select(matches.hits[(at + (e.shiftKey ? n - 1 : 1)) % n]);
});
$("open").onclick = () => { clearSearch(); for (const n of nodes) n.open = n.kids.length > 0; lay(); reveal(); };
$("close").onclick = () => { clearSearch(); for (const n of nodes) { n.open = !n.parent; n.unfolded = false; } selected = 0; lay(); detail(); reveal(); };
$("fold").onclick = e => { folding = !folding; for (const n of nodes) n.unfolded = false; e.target.setAttribute("aria-pressed", folding); e.target.textContent = folding ? "repeats folded" : "repeats shown"; lay(); reveal(); };

/* ---- panes ---- */

const PANES = { t: ["showTree", "hierarchy"], g: ["showGraph", "flow"], d: ["showDetail", "detail"] };
function arrangePanes() {
  for (const [button, pane] of Object.values(PANES)) $(button).setAttribute("aria-pressed", !$(pane).hidden);
  const tree = !$("hierarchy").hidden, flow = !$("flow").hidden, more = !$("detail").hidden;
  document.querySelector("main").classList.toggle("three", flow);
  $("split1").hidden = !(tree && flow);
  $("split2").hidden = !(more && (tree || flow));
  draw();
  graph.ask();
}
for (const [button, pane] of Object.values(PANES)) $(button).onclick = () => {
  $(pane).hidden = !$(pane).hidden;
  if (Object.values(PANES).every(([, each]) => $(each).hidden)) $(pane).hidden = false;
  arrangePanes();
  if (pane === "flow" && !$("flow").hidden) { graph.begin(); if (selected) graph.reveal(nodes[selected]); sayDrawn(); }
};
/* split1 is the right edge of the tree, split2 the left edge of the details. */
for (const [id, pane, sign] of [["split1", "hierarchy", 1], ["split2", "detail", -1]]) {
  const move = width => { $(pane).style.flex = `0 0 ${Math.round(Math.max(160, Math.min(innerWidth - 320, width)))}px`; draw(); graph.ask(); };
  $(id).addEventListener("pointerdown", e => { $(id).setPointerCapture(e.pointerId); });
  $(id).addEventListener("pointermove", e => { if ($(id).hasPointerCapture(e.pointerId)) { const r = $(pane).getBoundingClientRect(); move(sign > 0 ? e.clientX - r.left : r.right - e.clientX); } });
  $(id).addEventListener("keydown", e => { const by = { ArrowLeft: -24, ArrowRight: 24 }[e.key]; if (by) { e.preventDefault(); move($(pane).offsetWidth + sign * by); } });
}

/* ---- the graph's buttons ---- */

function sayDrawn(more) {
  if (!graph.hasFlow()) { $("drawn").textContent = ""; return; }
  const n = graph.counts(), parts = [`${n.boxes.toLocaleString("en")} parts, ${n.edges.toLocaleString("en")} edges`];
  if (n.back) parts.push(`${n.back.toLocaleString("en")} lead back (dashed)`);
  if (n.long) parts.push(`${n.long.toLocaleString("en")} very long ones are shown of what is chosen`);
  if (n.left_out) parts.push(`${n.left_out.toLocaleString("en")} rows of the flow are of no module`);
  if (more) parts.push(more);
  $("drawn").textContent = $("drawn").title = parts.join("; ");
}
function keep(blob, name) {
  const a = make("a"), url = URL.createObjectURL(blob);
  a.href = url; a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
const fileName = end => (($("title").textContent || "graph").replace(/[^\w.-]+/g, "_").slice(0, 80) || "graph") + end;
graph.hooks({ select: node => go(node.path, "pick"), said: () => sayDrawn() });
$("less").onclick = () => graph.zoom(0.8);
$("more").onclick = () => graph.zoom(1.25);
$("fit").onclick = () => graph.fitAll();
$("openBoxes").onclick = () => sayDrawn(graph.openAll(true));
$("closeBoxes").onclick = () => sayDrawn(graph.openAll(false));
$("svg").onclick = () => keep(new Blob([graph.svg()], { type: "image/svg+xml" }), fileName(".svg"));
$("png").onclick = async () => { const { blob, said } = await graph.png(); if (blob) keep(blob, fileName(".png")); sayDrawn(blob ? said : "the picture is too large for a PNG"); };
$("help").onclick = () => $("keys").showModal();

/* ---- the address: #path, and #@2/path in the third network of a page ---- */

let remembered = "";
function remember(path) {
  const number = Number($("networks").value || 0), text = number || path.startsWith("@") ? `@${number}/${path}` : path;
  remembered = "#" + encodeURIComponent(text).replace(/%2F/g, "/").replace(/%40/g, "@").replace(/%3A/g, ":");
  try { history.replaceState(null, "", text ? remembered : "#"); } catch { /* a frame may have no address */ }
  if (parent !== window) parent.postMessage({ pellucid: "at", path: text }, "*");
}
function follow() {
  if (location.hash.length < 2 || location.hash === remembered) return;
  let text = location.hash.slice(1), number = 0;
  try { text = decodeURIComponent(text); } catch { /* as it is */ }
  const found = /^@(\d+)\/([^]*)$/.exec(text);
  if (found) { number = Number(found[1]); text = found[2]; }
  if (number !== Number($("networks").value || 0) && networks[number]) { $("networks").value = number; show(); }
  if (!go(text)) $("found").textContent = "there is no " + text;
}
addEventListener("hashchange", follow);

/* ---- start ---- */

/* As many levels as fit the window: the first look should show something. */
function openSome() {
  let level = root ? [root] : [], shown = 1;
  while (level.length) {
    const next = level.flatMap(n => groups(n, folding)), room = Math.max(12, Math.floor($("list").clientHeight / ROW) - 1);
    if (shown > 1 && shown + next.length > room) break;
    for (const n of level) n.open = n.kids.length > 0;
    shown += next.length;
    level = next.map(g => g[0]).filter(n => n.kids.length);
  }
}

function sep() { return network().separator || "."; }
function network() { return networks[$("networks").value || 0] || { tree: [], flow: [], totals: {} }; }
function show() {
  const net = network(), t = net.totals;
  rolesKnown = t.roles_known !== false;
  $("counted").textContent = rolesKnown ? "parameters" : "elements";
  load(net);
  selected = 0; matches = null; query = ""; $("search").value = "";
  openSome();
  $("list").classList.toggle("plain", !nodes.some(n => n.from.output || n.from.flops));
  $("list").classList.toggle("untyped", !root || !root.bytes);
  $("title").textContent = net.name || (root && root.cls) || "pellucid";
  document.title = $("title").textContent;
  $("totals").textContent = [nodes.length.toLocaleString("en") + " modules", t.parameters !== undefined ? t.parameters.toLocaleString("en") + (rolesKnown ? " parameters" : " elements") + (t.exact === false ? " and unknown ones" : "") : "", t.flops ? human(t.flops) + " multiply-adds" : ""].filter(Boolean).join(" · ");
  showFlow();
  lay(); detail();
}

/* The graph is there from the start where there is one; else its button says why there is none. */
function showFlow() {
  const given = graphs[Number($("networks").value || 0)], of = network().format;
  graph.load(given, root, byNumber);
  $("flow").hidden = !given || innerWidth <= 760;
  $("canvas").hidden = !given;
  $("empty").hidden = !!given;
  for (const id of ["less", "more", "fit", "openBoxes", "closeBoxes", "svg", "png"]) $(id).disabled = !given;
  const run = "pellucid tree SPEC --input SHAPE records the flow of a live model";
  $("empty").replaceChildren(make("b", "No data flow is known here"), make("p", !root ? "There is no network on this page." : of
    ? `What computes with these tensors is not in the file (${of}), or could not be read from it. The tree has all that was found; ${run}.`
    : `No run was watched, and the source does not show what flows from part to part; ${run}.`));
  arrangePanes();
  if (given && !$("flow").hidden) graph.begin();
  sayDrawn();
}
if (networks.length > 1) {
  networks.forEach((n, i) => { const o = make("option", n.name || n.class || String(i)); o.value = i; $("networks").append(o); });
  $("networks").hidden = false;
  $("networks").onchange = () => { show(); remember(""); };
}
const audit = JSON.parse($("audit").textContent);
if (audit) {
  const word = (/^audit: (\w+)/.exec(audit) || [])[1] || "unknown";
  $("verdict").textContent = audit; $("verdict").hidden = false; $("verdict").className = word;
  if (word !== "harmless") $("verdict").setAttribute("role", "alert");
}
graph.theme();
show();
follow();
