// What every test of the graph asks of its picture.
/* Every box: its place, and what is wrong: a box on another, out of its module, or above what feeds it. */
export const scene = page => page.evaluate(() => {
  const found = {}, wrong = [];
  const walk = (box, ox, oy) => {
    const x = ox + box.x, y = oy + box.y;
    found[box.node.path] = { x, y, w: box.w, h: box.h, open: box.open, times: box.times };
    if (!box.open) return;
    box.parts.forEach((part, i) => {
      if (part.x < 0 || part.y < 0 || part.x + part.w > box.w + 0.6 || part.y + part.h > box.h + 0.6) wrong.push(part.node.path + " leaves what is around it");
      for (const other of box.parts.slice(0, i))
        if (part.x < other.x + other.w && other.x < part.x + part.w && part.y < other.y + other.h && other.y < part.y + part.h) wrong.push(part.node.path + " is on " + other.node.path);
    });
    for (const e of box.graph.edges) {
      const [from, to] = [box.parts[e[0]], box.parts[e[1]]];
      if (from && to && e[4] !== 1 && from.y + from.h > to.y) wrong.push(`${from.node.path} is not above ${to.node.path}`);
    }
    for (const part of box.parts) walk(part, x, y);
  };
  walk(graph.scene(), 0, 0);
  return { found, wrong };
});
