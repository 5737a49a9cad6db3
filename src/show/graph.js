"use strict";
/* The data flow as a picture to zoom into. The library says which part of a module is on which rank and where in it
   (src/show/layers.c); here the parts get their sizes, which depend on what is open, and their places. Only what is in
   sight is drawn, in as much detail as can be seen. */
const graph = (() => {
  const HEAD = 22, LINE = 16, PAD = 14, GAP = 26, BEND_GAP = 12, RANK_GAP = 30, MOST_BOXES = 30000, FIRST_BOXES = 120, MOST_LINES = 4000, MOVING_LINES = 1200, READABLE = 5.5 / 12;
  const canvas = document.getElementById("canvas"), NO_EDGES = { parts: [], ranks: [], edges: [] };
  let data = null, root = null, top = null, byNumber = [], selected = null, view = { x: 0, y: 0, k: 1 }, waiting = false, colours = {};
  let hooks = { select() {}, said() {} }, painted = false;

  /* ---- words ---- */

  const FONT = "system-ui, sans-serif", widths = new Map();
  const pen = canvas.getContext("2d");
  pen.font = "12px " + FONT;
  function wide(text) { /* about: letter by letter, each measured once */
    let sum = 0;
    for (const c of text) { let w = widths.get(c); if (w === undefined) { pen.font = "12px " + FONT; widths.set(c, w = pen.measureText(c).width); } sum += w; }
    return sum;
  }
  function fit(text, room) {
    if (wide(text) <= room) return text;
    let sum = wide("…"), out = "";
    for (const c of text) { sum += wide(c); if (sum > room) break; out += c; }
    return out + "…";
  }

  /* What a class does, by the words in its name: the colour of its head. */
  const KINDS = [["norm", /norm|lrn/i], ["attention", /attention|attn|sdpa/i], ["act", /relu|gelu|silu|swish|elu|sigmoid|tanh|softmax|softplus|mish|activation|act$/i],
    ["pool", /pool/i], ["weight", /conv|linear|gemm|matmul|dense|lstm|gru|rnn|bilinear|^mm$|addmm|einsum|fullyconnected/i], ["table", /embed|gather|lookup/i],
    ["form", /reshape|transpose|permute|flatten|concat|^cat$|slice|split|squeeze|view|expand|pad|^shape$|cast|stack|chunk|unsqueeze|resize|upsample/i],
    ["math", /^(add|sub|mul|div|pow|sqrt|exp|mean|sum|reduce\w*|neg|where|clip|erf|max|min)(_?tensor|\d+)?$/i]];
  const kinds = new Map();
  function kindOf(box) {
    if (box.kids) return "module";
    const cls = box.node ? box.node.cls || "" : "";
    if (!kinds.has(cls)) kinds.set(cls, (KINDS.find(([, fits]) => fits.test(cls)) || ["other"])[0]);
    return kinds.get(cls);
  }

  /* ---- boxes: what is shown of the tree ---- */

  function graphOf(node) { return data && ((node.whole && data.whole[node.number]) || data.folded[node.number]) || NO_EDGES; }

  /* A box that nothing changed in is used again: to open one of ten thousand is to lay out what is around it. */
  function boxOf(node, last, times, around) {
    const old = node.box;
    if (old && old.last === last && old.times === times) { old.around = around; return old; }
    const box = { node, last, times, around, kids: node.kids.length > 0 && !node.from.shared_with, open: false, x: 0, y: 0, w: 0, h: 0, in: 0, out: 0 };
    node.box = box;
    if (box.kids && node.drawn) openBox(box);
    else measureClosed(box);
    return box;
  }

  function linesOf(box) {
    const node = box.node, name = box.times > 1 ? `${node.name} … ${box.last.name}` : node.name;
    const lines = [name];
    if (box.kids && node.total) lines.push(human(node.total) + (rolesAreKnown() ? " parameters" : " elements"));
    else if (node.from.shared_with) lines.push("= " + node.from.shared_with);
    else if (node.args) lines.push(node.args);
    if (node.from.condition) lines.push("if " + node.from.condition);
    return lines;
  }
  const rolesAreKnown = () => rolesKnown;
  const titleOf = box => (box.node.cls || box.node.name || "?") + (box.node.from.repeat !== 1 && box.node.from.repeat !== undefined ? " × " + box.node.from.repeat : "");

  function measureClosed(box) {
    box.lines = linesOf(box);
    const widest = Math.max(wide(titleOf(box)) * 1.08 + (box.kids ? 22 : 0) + (box.times > 1 ? 12 + wide("×" + box.times) : 0), ...box.lines.map(wide));
    box.w = Math.min(250, Math.max(84, widest + 20));
    box.h = HEAD + 6 + LINE * box.lines.length;
    box.title = fit(titleOf(box), (box.w - 16 - (box.kids ? 18 : 0) - (box.times > 1 ? wide("×" + box.times) + 6 : 0)) / 1.08);
    box.lines = box.lines.map(line => fit(line, box.w - 16));
    box.in = box.out = box.w / 2;
  }

  function openBox(box) {
    const node = box.node, g = graphOf(node), is_root = node === root;
    box.open = true;
    box.graph = g;
    if (g === NO_EDGES) box.parts = groupsOf(node).map(([first, last, times]) => boxOf(first, last, times, box));
    else if (g.parts.length) {
      box.parts = [];
      for (let i = 0; i < g.parts.length; i += 2) box.parts.push(boxOf(node.kids[g.parts[i]], node.kids[g.parts[i] + g.parts[i + 1] - 1], g.parts[i + 1], box));
    } else box.parts = node.kids.map(kid => boxOf(kid, kid, 1, box));
    box.parts.forEach((part, i) => { part.index = i; });
    arrange(box, g, is_root);
  }
  const groupsOf = node => node.whole ? node.kids.map(k => [k, k, 1]) : groups(node, true);

  /* ---- places: x by moving ranks to where their neighbours are, as far as no two overlap; y by the heights ---- */

  function arrange(box, g, is_root) {
    const p = box.parts.length, IN = p, OUT = p + 1;
    let n = p + 2;
    for (const e of g.edges) if (e[6]) n = Math.max(n, e[5] + e[6]);
    const x = new Float64Array(n), w = new Float64Array(n), h = new Float64Array(n), into = new Float64Array(n), outOf = new Float64Array(n), used = new Uint8Array(n);
    box.parts.forEach((part, i) => { w[i] = part.w; h[i] = part.h; into[i] = part.in; outOf[i] = part.out; });
    for (const port of [IN, OUT]) { w[port] = is_root ? 74 : 8; h[port] = is_root ? 26 : 0; into[port] = outOf[port] = w[port] / 2; }
    const pieces = piecesOf(g, p, is_root), ranks = g.ranks;
    for (const rank of ranks) for (const v of rank) used[v] = 1;
    const width = settle(ranks, pieces, { x, w, into, outOf, p: p + 2 });
    /* heights */
    const tops = [], bottoms = [];
    let y = is_root ? 8 : ranks.length && ranks[0][0] === IN ? 0 : HEAD + 10; /* from outside: through the head */
    const gaps = pieces.map(list => RANK_GAP + Math.min(60, 0.05 * list.reduce((far, q) => Math.max(far, Math.abs(x[q.a] + outOf[q.a] - x[q.b] - into[q.b])), 0)));
    ranks.forEach((rank, r) => {
      tops.push(y);
      y += rank.reduce((most, v) => Math.max(most, h[v]), 0) + (y ? 0 : HEAD);
      bottoms.push(y);
      y += r + 1 < ranks.length ? gaps[r] : 0;
    });
    for (let i = 0; i < p; i++) if (used[i]) { box.parts[i].x = PAD + x[i]; }
    ranks.forEach((rank, r) => { for (const v of rank) if (v < p) box.parts[v].y = tops[r]; });
    for (const list of pieces) for (const q of list) { /* what leads back is beside what leads there */
      q.x0 = PAD + x[q.a] + outOf[q.a] + (q.e[4] === 1 && q.a < p ? Math.min(10, w[q.a] / 4) : 0);
      q.x1 = PAD + x[q.b] + into[q.b] + (q.e[4] === 1 && q.b < p ? Math.min(10, w[q.b] / 4) : 0);
      q.y0 = tops[g.at[q.a]] + h[q.a];
    }
    box.inner = { ranks, tops, bottoms, x, w, h, IN, OUT, gaps: pieces, far: g.edges.filter(e => e[4] === 2) };
    const loose = box.parts.filter((part, i) => !used[i]);
    const [w2, h2] = shelve(loose, ranks.length ? PAD + width + GAP * 1.5 : PAD, ranks.length ? Math.max(tops[0], HEAD + 10) : y, ranks.length ? y : 0);
    box.loose = loose;
    box.head = headOf(box);
    const needs = wide(box.head[0]) * 1.08 + wide(box.head[1]) + 48;
    box.w = Math.max(ranks.length ? width + 2 * PAD : 0, w2 + PAD, is_root ? 0 : needs);
    box.h = Math.max(ranks.length ? y : 0, h2) + (is_root ? 8 : used[OUT] ? 0 : PAD);
    if (is_root || !used[OUT]) box.h += 4;
    if (!is_root && used[OUT]) { box.h = Math.max(box.h, y + 4); if (bottoms.length) { bottoms[bottoms.length - 1] = tops[tops.length - 1] = box.h; } }
    box.in = used[IN] ? PAD + x[IN] + into[IN] : box.w / 2;
    box.out = used[OUT] ? PAD + x[OUT] + outOf[OUT] : box.w / 2;
  }

  /* For each gap between two ranks, the pieces of edges in it: upper vertex, lower vertex, edge; whether an arrow ends at
     its lower end (1) or its upper end (-1), and whether the shape of what flows stands beside it. */
  function piecesOf(g, p, is_root) {
    if (!g.at) { g.at = []; g.ranks.forEach((rank, r) => { for (const v of rank) g.at[v] = r; }); }
    const pieces = g.ranks.map(() => []);
    for (const e of g.edges) {
      if (e[4] === 2) continue;
      const bends = e[6] || 0, back = e[4] === 1, arrow = e[1] < p || is_root;
      for (let i = 0; i <= bends; i++) {
        const from = i ? e[5] + i - 1 : e[0], to = i < bends ? e[5] + i : e[1], a = back ? to : from, b = back ? from : to;
        pieces[g.at[a]].push({ a, b, e, x0: 0, x1: 0, y0: 0, tip: i < bends || !arrow ? 0 : back ? -1 : 1, named: !i && !back && (from !== p && to !== p + 1 || is_root) });
      }
    }
    return pieces;
  }

  /* The neighbours of each vertex in one direction, in rows: where each vertex's begin, who, how strong they pull, and
     by how much the points where the edge ends are apart. */
  function neighbours(n, pieces, p, isUp, into, outOf) {
    const start = new Uint32Array(n + 2);
    let count = 0;
    for (const list of pieces) for (const q of list) { start[(isUp ? q.b : q.a) + 2]++; count++; }
    for (let v = 0; v < n; v++) start[v + 2] += start[v + 1];
    const who = new Uint32Array(count), pull = new Float64Array(count), shift = new Float64Array(count);
    for (const list of pieces) for (const q of list) {
      const at = start[(isUp ? q.b : q.a) + 1]++, d = outOf[q.a] - into[q.b];
      who[at] = isUp ? q.a : q.b;
      pull[at] = q.a >= p && q.b >= p ? 8 : q.a >= p || q.b >= p ? 1 : 3; /* bends first: long edges are straight */
      shift[at] = isUp ? -d : d;
    }
    return { start, who, pull, shift };
  }

  /* Least squares in each rank, with the order kept and the boxes apart: what pulls together is pooled (isotonic
     regression). Rounds down and up, then both ways,
     then once more up and down. Returns the width. */
  function settle(ranks, pieces, s) {
    const { x, w, into, outOf, p } = s, above = neighbours(x.length, pieces, p, true, into, outOf), below = neighbours(x.length, pieces, p, false, into, outOf);
    for (const rank of ranks) {
      let at = 0;
      for (const v of rank) { x[v] = at; at += w[v] + (v >= p ? BEND_GAP : GAP); }
      for (const v of rank) x[v] -= at / 2;
    }
    const rounds = x.length > 5000 ? 9 : 15, wish = { at: 0, weight: 0 };
    const hear = (near, v) => { for (let k = near.start[v]; k < near.start[v + 1]; k++) { wish.at += near.pull[k] * (x[near.who[k]] - near.shift[k]); wish.weight += near.pull[k]; } };
    /* Where most of the pull is: what is in a chain stays straight, and does not lean to what joins it from the side. */
    const heads = [];
    const lean = (near, v) => {
      heads.length = 0;
      for (let k = near.start[v]; k < near.start[v + 1]; k++) { heads.push([x[near.who[k]] - near.shift[k], near.pull[k]]); wish.weight += near.pull[k]; }
      heads.sort((a, b) => a[0] - b[0]);
      let sum = 0, i = 0;
      while (i < heads.length && (sum += heads[i][1]) * 2 < wish.weight) i++;
      if (i < heads.length) wish.at = wish.weight * (sum * 2 === wish.weight ? (heads[i][0] + heads[i + 1][0]) / 2 : heads[i][0]);
    };
    for (let round = 0; round < rounds; round++) {
      const up = round % 2 === 1, late = round >= rounds - 2, both = !late && round >= rounds - 6;
      for (let i = 0; i < ranks.length; i++) place(ranks[up ? ranks.length - 1 - i : i], v => {
        wish.at = wish.weight = 0;
        if (late) { /* edges go out of the way of boxes, boxes that follow others of those that follow edges */
          lean(up ? below : above, v);
          const weight = wish.weight * (v >= p ? 1 : wish.weight >= 3 ? 1e6 : 1e3);
          wish.at *= weight / (wish.weight || 1); wish.weight = weight;
        }
        else {
          if (!up || both) hear(above, v);
          if (up || both) hear(below, v);
        }
        if (wish.weight) wish.at /= wish.weight; else { wish.at = x[v]; wish.weight = 0.01; }
        return wish;
      }, s);
    }
    let least = Infinity, most = -Infinity;
    for (const rank of ranks) for (const v of rank) { least = Math.min(least, x[v]); most = Math.max(most, x[v] + w[v]); }
    for (const rank of ranks) for (const v of rank) x[v] = Math.round((x[v] - least) * 2) / 2;
    return ranks.length ? most - least : 0;
  }

  let means = new Float64Array(64), heavy = new Float64Array(64), many = new Uint32Array(64), offset = new Float64Array(64);
  function place(rank, wishOf, { x, w, p }) {
    const n = rank.length;
    if (means.length < n) { means = new Float64Array(2 * n); heavy = new Float64Array(2 * n); many = new Uint32Array(2 * n); offset = new Float64Array(2 * n); }
    let at = 0, pools = 0;
    for (let i = 0; i < n; i++) {
      const v = rank[i], { at: want, weight } = wishOf(v);
      offset[i] = at;
      at += w[v] + (v >= p || rank[i + 1] >= p ? BEND_GAP : GAP);
      means[pools] = want - offset[i]; heavy[pools] = weight; many[pools++] = 1;
      while (pools > 1 && means[pools - 2] > means[pools - 1]) {
        const a = pools - 2, b = pools - 1, sum = heavy[a] + heavy[b];
        means[a] = (means[a] * heavy[a] + means[b] * heavy[b]) / sum; heavy[a] = sum; many[a] += many[b];
        pools--;
      }
    }
    for (let pool = 0, i = 0; pool < pools; pool++) for (let k = 0; k < many[pool]; k++, i++) x[rank[i]] = means[pool] + offset[i];
  }

  /* What nothing flows to or from, in rows beside the rest. */
  function shelve(parts, left, y, tall) {
    if (!parts.length) return [0, 0];
    const area = parts.reduce((sum, part) => sum + (part.w + GAP) * (part.h + GAP), 0), wish = Math.max(200, Math.min(Math.sqrt(area * 1.6), tall ? area / tall : Infinity));
    let x = left, height = 0, most = 0;
    for (const part of parts) {
      if (x > left && x - left + part.w > wish) { x = left; y += height + 14; height = 0; }
      part.x = x; part.y = y;
      x += part.w + 14;
      height = Math.max(height, part.h);
      most = Math.max(most, x - 14);
    }
    return [most, y + height + PAD];
  }

  function touch(node) { for (let at = node; at; at = at.parent) at.box = null; }
  /* The box of a node, if it is in the picture: its last one may be in a module that was closed since. */
  function shownOf(node) {
    const found = node.box;
    let box = found;
    for (; box && box.around; box = box.around) if (!box.around.open || box.around.parts[box.index] !== box) return null;
    return box && box === top ? found : null;
  }
  function rebuild(anchor) {
    const before = anchor && anchor.old, was = before && placeOf(before);
    if (root) { root.drawn = true; top = boxOf(root, root, 1, null); }
    const after = anchor && shownOf(anchor);
    if (anchor) anchor.old = null;
    if (was && after) { const is = placeOf(after); view.x += (was.x + before.w / 2 - is.x - after.w / 2) * view.k; view.y += (was.y - is.y) * view.k; }
    ask();
  }
  function placeOf(box) { let x = 0, y = 0; for (let b = box; b; b = b.around) { x += b.x; y += b.y; } return { x, y }; }

  /* ---- drawing ---- */

  function theme() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["bg", "fg", "dim", "faint", "line", "head", "pick", "edge", "bad", "card", "frame", "back"]) colours[name] = style.getPropertyValue("--" + name).trim();
    for (const kind of [...KINDS.map(k => k[0]), "module", "other"]) colours["k-" + kind] = style.getPropertyValue("--k-" + kind).trim();
    ask();
  }
  function ask() { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; resize(); paint(pen, view, canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1); }); } }
  function resize() {
    const ratio = devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  }

  /* Everything in sight is collected by what it looks like, then drawn in few strokes. */
  let moving = 0; /* a timer: while the picture moves, fewer still; then it is drawn once more */
  function move() { clearTimeout(moving); moving = setTimeout(() => { moving = 0; ask(); }, 150); ask(); }
  let before = 0; /* edges in sight of the picture before; where none can be told from the next, few are drawn */
  function paint(c, v, width, height, ratio) {
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = colours.bg;
    c.fillRect(0, 0, width * ratio, height * ratio);
    if (!top || !data) return;
    if (c === pen && !painted) { painted = true; performance.mark("graph drawn"); }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const job = { c, v, x0: -v.x / v.k, y0: -v.y / v.k, x1: (width - v.x) / v.k, y1: (height - v.y) / v.k, frames: [], lines: [], dashed: [], marked: [], n_lines: 0, stride: v.k < 0.15 ? Math.max(1, Math.ceil(before / (c === pen && moving ? MOVING_LINES : MOST_LINES))) : 1, tips: [], cards: [], flat: new Map(), labels: [] };
    collect(job, top, 0, 0, 0);
    before = job.n_lines;
    strokes(job);
    cards(job);
    labels(job);
  }

  function collect(job, box, ox, oy, depth) {
    const x = ox + box.x, y = oy + box.y, { v } = job;
    if (x > job.x1 || y > job.y1 || x + box.w < job.x0 || y + box.h < job.y0) return;
    const tall = box.h * v.k;
    if (!box.open || tall < 6 && box !== top) {
      if (tall < 7) { const kind = box === selected ? "picked" : box.kind ||= kindOf(box); let list = job.flat.get(kind); if (!list) job.flat.set(kind, list = []); list.push(x, y, box.w, box.h); }
      else job.cards.push([box, x, y]);
      return;
    }
    if (box !== top) job.frames.push([box, x, y, depth]);
    const { ranks, tops, bottoms, gaps, IN, OUT } = box.inner, p = box.parts.length;
    let lo = 0, hi = ranks.length; /* the first rank that ends below the upper edge of the window */
    while (lo < hi) { const mid = (lo + hi) >> 1; if (y + bottoms[mid] < job.y0) lo = mid + 1; else hi = mid; }
    /* ranks that are less than a pixel apart: one of several */
    const pitch = ranks.length ? box.h / ranks.length * v.k : 1, step = pitch < 0.5 ? Math.ceil(0.5 / pitch) : 1;
    for (let r = Math.max(0, lo - 1); r < ranks.length && y + tops[r] <= job.y1; r += step) {
      for (const vertex of ranks[r]) {
        if (vertex < p) collect(job, box.parts[vertex], x, y, depth + 1);
        else if (box === top && (vertex === IN || vertex === OUT)) job.cards.push([vertex === IN ? "input" : "output", x + PAD + box.inner.x[vertex], y + tops[r]]);
      }
      if (r + 1 < ranks.length) edges(job, box, gaps[r], x, y, bottoms[r], tops[r + 1], depth);
    }
    for (const part of box.loose) collect(job, part, x, y, depth + 1);
    if (selected && selected.around === box) far(job, box, x, y);
  }

  function edges(job, box, list, x, y, upper, lower, depth) {
    const chosen = selected && selected.around === box ? selected.index : -2, { v } = job, y1 = y + lower, detail = v.k > 0.55;
    if ((lower - upper) * v.k < 0.4) return;
    for (let i = 0; i < list.length; i += job.stride) {
      const piece = list[i], e = piece.e, x0 = x + piece.x0, x1 = x + piece.x1;
      if (Math.min(x0, x1) > job.x1 || Math.max(x0, x1) < job.x0) continue;
      job.n_lines += job.stride;
      const into = e[0] === chosen || e[1] === chosen ? job.marked : e[4] === 1 ? job.dashed : job.lines;
      into.push(x0, y + piece.y0, y + upper, x1, y1);
      if (v.k < 0.3) continue;
      if (piece.tip > 0) job.tips.push(x1, y1, 1);
      if (piece.tip < 0) job.tips.push(x0, y + piece.y0, -1);
      if (detail && piece.named) { const text = labelOf(e); if (text) job.labels.push([text, x0, y + upper, depth]); }
    }
  }
  function labelOf(e) {
    if (e[7] === undefined) { const row = (network().flow || [])[e[2]]; e[7] = row && row.shape ? shapeText(row.shape) : ""; }
    return e[7];
  }

  /* Edges that lead over so many ranks that they have no bends, of what is selected. */
  function far(job, box, x, y) {
    const chosen = selected.index, { inner } = box, p = box.parts.length;
    for (const e of inner.far) {
      if (e[0] !== chosen && e[1] !== chosen) continue;
      const at = (v, down) => { const r = box.graph.at[v], part = v < p ? box.parts[v] : null;
        return [x + (part ? part.x + (down ? part.out : part.in) : PAD + inner.x[v] + inner.w[v] / 2), y + inner.tops[r] + (down ? inner.h[v] : 0)]; };
      const [x0, y0] = at(e[0], true), [x1, y1] = at(e[1], false);
      job.marked.push(x0, y0, y0, x1, y1);
    }
  }

  function strokes(job) {
    const { c, v } = job, sx = x => x * v.k + v.x, sy = y => y * v.k + v.y;
    for (const [box, x, y, depth] of job.frames) {
      const w = box.w * v.k, h = box.h * v.k;
      c.fillStyle = colours[depth % 2 ? "frame" : "bg"];
      c.strokeStyle = box === selected ? colours.edge : colours.line;
      c.lineWidth = box === selected ? 2 : 1;
      round(c, sx(x), sy(y), w, h, Math.min(8, 8 * v.k));
      c.fill(); c.stroke();
    }
    const curved = v.k > 0.15 && job.lines.length < 5 * 3000;
    for (const [list, colour, dash, thick] of [[job.lines, "edge", [], 1.2], [job.dashed, "back", [5, 4], 1.2], [job.marked, "bad", [], 2.2]]) {
      if (!list.length) continue;
      c.strokeStyle = colours[colour]; c.lineWidth = Math.max(0.4, Math.min(thick, thick * v.k * 1.6)); c.setLineDash(dash);
      c.beginPath();
      for (let i = 0; i < list.length; i += 5) {
        if (i % 1280 === 1275) { c.stroke(); c.beginPath(); } /* one path of all of them is slow to fill */
        const x0 = sx(list[i]), x1 = sx(list[i + 3]), y0 = sy(list[i + 1]), y1 = sy(list[i + 2]), y2 = sy(list[i + 4]), mid = (y1 + y2) / 2;
        c.moveTo(x0, y0);
        if (curved && Math.abs(x0 - x1) > 1) { if (y1 > y0) c.lineTo(x0, y1); c.bezierCurveTo(x0, mid, x1, mid, x1, y2); }
        else c.lineTo(x1, y2);
      }
      c.stroke();
    }
    c.setLineDash([]);
    c.fillStyle = colours.edge;
    c.beginPath();
    for (let i = 0; i < job.tips.length; i += 3) {
      const x = sx(job.tips[i]), y = sy(job.tips[i + 1]), s = 7 * v.k * job.tips[i + 2];
      c.moveTo(x, y); c.lineTo(x - s * 0.55, y - s); c.lineTo(x + s * 0.55, y - s); c.closePath();
    }
    c.fill();
  }

  function round(c, x, y, w, h, r) {
    c.beginPath();
    if (r < 1.5) c.rect(x, y, w, h); else c.roundRect(x, y, w, h, r);
  }

  function cards(job) {
    const { c, v } = job, sx = x => x * v.k + v.x, sy = y => y * v.k + v.y, k = v.k;
    for (const [kind, list] of job.flat) {
      c.fillStyle = kind === "picked" ? colours.bad : colours["k-" + kind];
      c.beginPath();
      for (let i = 0; i < list.length; i += 4) {
        if (i % 256 === 252) { c.fill(); c.beginPath(); }
        c.rect(sx(list[i]), sy(list[i + 1]), Math.max(0.6, list[i + 2] * k), Math.max(0.6, list[i + 3] * k));
      }
      c.fill();
    }
    for (const [box, x, y] of job.cards) {
      if (typeof box === "string") { pill(c, box, sx(x), sy(y), k); continue; }
      const w = box.w * k, h = box.h * k, r = Math.min(5, 5 * k), left = sx(x), up = sy(y);
      c.lineWidth = box === selected ? 2.5 : 1;
      if (box.times > 1) { c.fillStyle = colours.card; c.strokeStyle = colours.line; for (const d of [6, 3]) { round(c, left + d * k, up + d * k, w, h, r); c.fill(); c.stroke(); } }
      c.strokeStyle = box === selected ? colours.bad : colours.line;
      c.fillStyle = colours.card;
      round(c, left, up, w, h, r); c.fill(); c.stroke();
      c.fillStyle = colours["k-" + kindOf(box)];
      round(c, left, up, w, HEAD * k, r < 1.5 ? 0 : [r, r, 0, 0]); c.fill();
    }
    if (k > READABLE) words(job);
  }

  /* A font at a time: to change it costs more than to write. */
  function words(job) {
    const { c, v } = job, sx = x => x * v.k + v.x, sy = y => y * v.k + v.y, k = v.k, boxes = job.cards.filter(card => typeof card[0] !== "string");
    c.textBaseline = "middle"; c.textAlign = "left"; c.fillStyle = "#fff"; c.font = `600 ${12 * k}px ${FONT}`;
    for (const [box, x, y] of boxes) c.fillText(box.title, sx(x) + 8 * k, sy(y) + 11.5 * k);
    c.font = `${12 * k}px ${FONT}`;
    for (const [box, x, y] of boxes) {
      if (box.times > 1) c.fillText("×" + box.times, sx(x) + (box.w - (box.kids ? 26 : 8) - wide("×" + box.times)) * k, sy(y) + 11.5 * k);
      if (box.kids) sign(c, sx(x) + (box.w - 13) * k, sy(y) + 11 * k, k, "#fff", true);
    }
    c.fillStyle = colours.fg;
    for (const [box, x, y] of boxes) c.fillText(box.lines[0], sx(x) + 8 * k, sy(y) + (HEAD + 11) * k);
    c.fillStyle = colours.dim; c.font = `${11 * k}px ${FONT}`;
    for (const [box, x, y] of boxes) for (let i = 1; i < box.lines.length; i++) c.fillText(box.lines[i], sx(x) + 8 * k, sy(y) + (HEAD + 11 + LINE * i) * k);
    for (const [box, x, y, depth] of job.frames) frameWords(c, box, Math.max(sx(x), 0), sy(y), k, colours[depth % 2 ? "frame" : "bg"]);
  }
  function sign(c, x, y, k, colour, plus) {
    c.strokeStyle = colour; c.lineWidth = Math.max(0.7, 1.4 * k);
    c.beginPath(); c.rect(x - 5 * k, y - 5 * k, 10 * k, 10 * k); c.moveTo(x - 2.5 * k, y); c.lineTo(x + 2.5 * k, y);
    if (plus) { c.moveTo(x, y - 2.5 * k); c.lineTo(x, y + 2.5 * k); }
    c.stroke();
  }
  /* What the head of an open module says: its class, its name, how many there are of it. */
  function headOf(box) {
    const { node } = box, title = titleOf(box), name = box.times > 1 ? `${node.name} … ${box.last.name}` : node.cls ? node.name : "";
    return [title, name + (box.times > 1 ? "  ×" + box.times + " (one is shown)" : "")];
  }
  function frameWords(c, box, left, up, k, fill) {
    const [title, more] = box.head, at = 24 + wide(title) * 1.08 + 8;
    c.fillStyle = fill; /* what flows in passes behind the words */
    c.fillRect(left + 22 * k, up + 3 * k, (at - 20 + wide(more)) * k, 18 * k);
    sign(c, left + 13 * k, up + 12 * k, k, colours.dim, false);
    c.textAlign = "left"; c.fillStyle = colours.fg; c.font = `600 ${12 * k}px ${FONT}`;
    c.fillText(title, left + 24 * k, up + 12 * k);
    c.fillStyle = colours.dim; c.font = `${12 * k}px ${FONT}`;
    c.fillText(more, left + at * k, up + 12 * k);
  }
  function pill(c, text, x, y, k) {
    c.fillStyle = colours.head; c.strokeStyle = colours.dim; c.lineWidth = 1;
    round(c, x, y, 74 * k, 26 * k, 13 * k); c.fill(); c.stroke();
    if (k < READABLE) return;
    c.textBaseline = "middle"; c.fillStyle = colours.fg; c.textAlign = "center"; c.font = `${12 * k}px ${FONT}`;
    c.fillText(text, x + 37 * k, y + 13.5 * k);
  }

  /* The shape of what flows, once for each that leaves a box. */
  function labels(job) {
    const { c, v } = job, places = new Map();
    c.textAlign = "left"; c.textBaseline = "middle"; c.font = `${10.5 * v.k}px ${FONT}`;
    for (const label of job.labels) {
      const key = label[1] + "|" + label[2], known = places.get(key);
      if (!known) places.set(key, label);
      else if (known[0] !== label[0] && !known[0].endsWith(" …")) known[0] += " …"; /* one of several */
    }
    const once = [...places.values()];
    for (const [text, x, y, depth] of once) { /* other edges pass behind */
      c.fillStyle = colours[depth % 2 ? "frame" : "bg"];
      c.fillRect((x + 4) * v.k + v.x, (y + 4) * v.k + v.y, (wide(text) * 0.875 + 2) * v.k, 12 * v.k);
    }
    c.fillStyle = colours.dim;
    for (const [text, x, y] of once) c.fillText(text, (x + 5) * v.k + v.x, (y + 10) * v.k + v.y);
  }

  /* ---- looking ---- */

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const k = Math.min(4, Math.max(least(), view.k * factor));
    view.x = x - (x - view.x) * k / view.k;
    view.y = y - (y - view.y) * k / view.k;
    view.k = k;
    move();
  }
  const whole = () => top ? Math.min((canvas.clientWidth - 24) / top.w, (canvas.clientHeight - 24) / top.h) : 1;
  const least = () => Math.min(0.1, whole() * 0.8);
  function show(k) {
    if (!top) return;
    view.k = Math.min(1.2, k);
    view.x = (canvas.clientWidth - top.w * view.k) / 2;
    view.y = Math.max(8, (canvas.clientHeight - top.h * view.k) / 2);
    ask();
  }
  const fitAll = () => show(whole());
  /* All of it where that can be read; else the top, where the network begins. */
  function begin() {
    const k = whole();
    if (k >= 0.4 || !top) return fitAll();
    view.k = Math.max(0.62, Math.min(0.9, (canvas.clientWidth - 24) / top.w));
    view.x = canvas.clientWidth / 2 - (top.in || top.w / 2) * view.k;
    view.y = 8;
    ask();
  }
  function centre(box) {
    const { x, y } = placeOf(box), W = canvas.clientWidth, H = canvas.clientHeight;
    if (view.k < 0.35) view.k = 0.8;
    const left = x * view.k + view.x, up = y * view.k + view.y, w = box.w * view.k, h = box.h * view.k;
    if (left >= 0 && up >= 0 && left + w <= W && up + Math.min(h, H) <= H) return ask();
    view.x = W / 2 - (x + box.w / 2) * view.k;
    view.y = h > H ? 20 - y * view.k : H / 2 - (y + box.h / 2) * view.k;
    ask();
  }

  function hit(px, py) {
    const x = (px - view.x) / view.k, y = (py - view.y) / view.k;
    let found = null, box = top, ox = 0, oy = 0;
    while (box && box.open) {
      ox += box.x; oy += box.y;
      const inner = box.parts.find(part => x >= ox + part.x && x <= ox + part.x + part.w && y >= oy + part.y && y <= oy + part.y + part.h);
      if (!inner) break;
      found = { box: inner, x: x - ox - inner.x, y: y - oy - inner.y };
      box = inner;
    }
    return found;
  }

  function toggle(box, open = !box.open) {
    if (!box || !box.kids || box === top) return;
    box.node.drawn = open;
    renew(box.node, box.node);
  }
  function unfold(box) { box.around.node.whole = true; renew(box.node, box.around.node); }
  /* Lays out again what changed and all around it; what the hand is on stays where it is. */
  function renew(node, changed) {
    node.old = shownOf(node);
    touch(changed);
    rebuild(node);
    pick(node);
    hooks.said();
  }

  /* Shows a node: what is around it opens, and what it is folded into unfolds. */
  function reveal(node) {
    if (!top || !data) return;
    let changed = false;
    for (let at = node; at.parent; at = at.parent) {
      const up = at.parent;
      if (up !== root && !up.drawn) { up.drawn = true; touch(up); changed = true; }
      if (!up.whole && groupsOf(up).some(([first, , times]) => times > 1 && first !== at) && !representative(up, at)) { up.whole = true; touch(up); changed = true; }
    }
    if (changed) { rebuild(); hooks.said(); }
    pick(node);
    if (selected) centre(selected);
  }
  function representative(up, at) {
    const g = graphOf(up), index = up.kids.indexOf(at);
    if (g === NO_EDGES) return groupsOf(up).some(([first]) => first === at);
    if (!g.parts.length) return true;
    for (let i = 0; i < g.parts.length; i += 2) if (g.parts[i] === index) return true;
    return false;
  }
  /* While somebody types, nothing opens. */
  function look(node) { pick(node); if (selected) centre(selected); }
  function pick(node) { selected = node ? shownOf(node) : null; if (selected === top) selected = null; ask(); }

  function openAll(open) {
    let left = MOST_BOXES;
    const level = [root];
    for (const node of level) { /* outer modules first */
      if (node !== root) node.drawn = open && node.kids.length > 0 && left > 0;
      if (!open) node.whole = false;
      const inner = node === root || node.drawn || !open ? groupsOf(node).map(g => g[0]) : [];
      left -= inner.length;
      for (const kid of inner) level.push(kid);
    }
    for (const node of byNumber) node.box = null;
    rebuild(); fitAll();
    pick(byNumber[0]);
    return left <= 0 && open ? `only the first ${MOST_BOXES.toLocaleString("en")} parts were opened` : "";
  }

  /* Opens as many levels as can be looked at. */
  function openSome() {
    let level = [root], count = 0;
    while (level.length) {
      const next = level.flatMap(node => groupsOf(node).map(g => g[0]));
      count += next.length;
      if (count > FIRST_BOXES && level[0] !== root) break;
      for (const node of level) node.drawn = true;
      level = next.filter(node => node.kids.length && !node.from.shared_with);
    }
  }

  function load(given, start, all) {
    data = given; root = start; byNumber = all; selected = null; top = null;
    for (const node of all) { node.drawn = node.whole = false; node.box = node.old = null; }
    if (data && root) { openSome(); rebuild(); begin(); }
    ask();
  }

  /* Of all that is shown: how many edges close a cycle, how many have no bends. */
  function counts() {
    let back = 0, long = 0, n = 0, boxes = 0;
    const stack = top ? [top] : [];
    while (stack.length) {
      const box = stack.pop();
      boxes++;
      if (!box.open) continue;
      for (const e of box.graph.edges) { n++; back += e[4] === 1; long += e[4] === 2; }
      for (const part of box.parts) stack.push(part);
    }
    return { boxes, edges: n, back, long, left_out: data ? data.left_out : 0 };
  }

  /* ---- pictures ---- */

  function png() {
    const scale = Math.min(2, 16000 / top.w, 16000 / top.h, Math.sqrt(60e6 / (top.w * top.h))), picture = document.createElement("canvas");
    picture.width = Math.ceil((top.w + 16) * scale); picture.height = Math.ceil((top.h + 16) * scale);
    paint(picture.getContext("2d"), { x: 8 * scale, y: 8 * scale, k: scale }, picture.width, picture.height, 1);
    return new Promise(done => picture.toBlob(blob => done({ blob, said: scale < 0.4 ? "the picture is scaled down to what a PNG may be; the SVG has all of it" : "" }), "image/png"));
  }

  /* The same drawing, onto a context that writes SVG. */
  function svg() {
    const out = [], esc = text => text.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]).replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, "");
    const n = v => String(Math.round(v * 10) / 10);
    let d = [], dash = "";
    const c = { setTransform() {}, setLineDash(list) { dash = list.length ? ` stroke-dasharray="${list.join(" ")}"` : ""; }, beginPath() { d = []; },
      moveTo(x, y) { d.push("M" + n(x) + " " + n(y)); }, lineTo(x, y) { d.push("L" + n(x) + " " + n(y)); }, closePath() { d.push("Z"); },
      bezierCurveTo(...p) { d.push("C" + p.map(n).join(" ")); },
      rect(x, y, w, h) { d.push(`M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}z`); },
      roundRect(x, y, w, h, given) { const r = given[0] ?? given, f = given[0] === undefined ? r : 0; d.push(`M${n(x + r)} ${n(y)}h${n(w - 2 * r)}q${r} 0 ${r} ${r}v${n(h - r - f)}q0 ${f} ${-f} ${f}h${n(2 * f - w)}q${-f} 0 ${-f} ${-f}v${n(r + f - h)}q0 ${-r} ${r} ${-r}z`); },
      fillRect(x, y, w, h) { out.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${c.fillStyle}"/>`); },
      fill() { if (d.length) out.push(`<path d="${d.join("")}" fill="${c.fillStyle}"/>`); },
      stroke() { if (d.length) out.push(`<path d="${d.join("")}" fill="none" stroke="${c.strokeStyle}" stroke-width="${n(c.lineWidth)}"${dash}/>`); },
            fillText(text, x, y) { out.push(`<text x="${n(x)}" y="${n(y + 4)}" fill="${c.fillStyle}" font-size="${/([\d.]+)px/.exec(c.font)[1]}"${/^600/.test(c.font) ? ' font-weight="600"' : ""}${c.textAlign === "left" ? "" : ` text-anchor="${c.textAlign === "right" ? "end" : "middle"}"`}>${esc(text)}</text>`); } };
    const w = Math.ceil(top.w + 16), h = Math.ceil(top.h + 16), was = selected;
    selected = null;
    paint(c, { x: 8, y: 8, k: 1 }, w, h, 1);
    selected = was;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="system-ui, sans-serif">\n${out.join("\n")}\n</svg>\n`;
  }

  /* ---- hands ---- */

  const pointers = new Map();
  let moved = 0;
  const at = e => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  canvas.addEventListener("pointerdown", e => { canvas.setPointerCapture(e.pointerId); pointers.set(e.pointerId, at(e)); moved = 0; });
  canvas.addEventListener("pointermove", e => {
    const before = pointers.get(e.pointerId), now = at(e);
    if (!before) { const found = hit(...now); canvas.style.cursor = found ? "pointer" : "grab"; canvas.title = found && view.k < 0.6 ? `${found.box.node.path}: ${found.box.node.cls || "?"}` : ""; return; }
    moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (pointers.size === 2) { /* two fingers */
      const other = [...pointers].find(([id]) => id !== e.pointerId)[1], far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
      zoom(far(now, other) / Math.max(1, far(before, other)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else if (moved > 3) { view.x += now[0] - before[0]; view.y += now[1] - before[1]; canvas.style.cursor = "grabbing"; move(); }
    pointers.set(e.pointerId, now);
  });
  const lift = e => { pointers.delete(e.pointerId); };
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerup", e => {
    const was = pointers.get(e.pointerId);
    lift(e);
    if (!was || moved > 3) return;
    const found = hit(...at(e));
    if (!found) return;
    const { box } = found, onSign = box.kids && found.y < HEAD + 2 && (box.open ? found.x < 24 : found.x > box.w - 24);
    if (onSign) toggle(box);
    else if (box.times > 1 && !box.open && found.y < HEAD && found.x > box.w - 34 - wide("×" + box.times)) unfold(box);
    hooks.select(box.node);
  });
  canvas.addEventListener("dblclick", e => { const found = hit(...at(e)); if (found) toggle(found.box); });
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    const size = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? canvas.clientHeight : 1;
    if (e.ctrlKey || e.metaKey) return zoom(Math.exp(-e.deltaY * size * (Math.abs(e.deltaY) < 40 ? 0.01 : 0.0022)), ...at(e));
    view.x -= (e.shiftKey ? e.deltaY : e.deltaX) * size;
    view.y -= (e.shiftKey ? 0 : e.deltaY) * size;
    move();
  }, { passive: false });

  /* The next box in a direction: along edges up and down, in its rank left and right. */
  function neighbour(box, key) {
    const { around } = box, g = around.graph, i = box.index, p = around.parts.length;
    if (!g.at || g.at[i] === undefined) return around.parts[i + (key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1)];
    if (key === "ArrowDown" || key === "ArrowUp") {
      const [a, b] = key === "ArrowDown" ? [0, 1] : [1, 0], e = g.edges.find(e => e[a] === i && e[b] < p && e[4] !== 1);
      return e && around.parts[e[b]];
    }
    const rank = g.ranks[g.at[i]].filter(v => v < p), to = rank[rank.indexOf(i) + (key === "ArrowLeft" ? -1 : 1)];
    return to === undefined ? null : around.parts[to];
  }
  canvas.addEventListener("keydown", e => {
    if (!top || e.altKey || e.ctrlKey || e.metaKey) return;
    const go = box => { if (box) { hooks.select(box.node); if (selected) centre(selected); } };
    const walk = () => go(selected ? neighbour(selected, e.key) : top.parts[0]);
    const keys = { ArrowDown: walk, ArrowUp: walk, ArrowLeft: walk, ArrowRight: walk, "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fitAll, 1: () => { view.k = 1; if (selected) centre(selected); ask(); },
      Enter: () => selected && toggle(selected), " ": () => selected && toggle(selected), i: () => selected && selected.open && go(selected.parts[0]),
      Backspace: () => selected && selected.around && selected.around !== top && go(selected.around), u: () => selected && selected.times > 1 && unfold(selected) };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  new ResizeObserver(() => ask()).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme());

  return { load, theme, reveal, pick, look, zoom, fitAll, begin, openAll, counts, png, svg, ask, hooks: given => { hooks = given; },
    hasFlow: () => !!data, toggle: path => { const node = byNumber.find(n => n.path === path), box = node && shownOf(node); if (box) toggle(box); }, scene: () => top, view: () => view, placeOf };
})();
