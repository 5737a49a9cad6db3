// How soon a page is there and how evenly it zooms: node frames.mjs PAGE CHROMIUM PICTURE
// Says as one line of JSON: painted (first contentful paint, ms), ready (the graph is drawn), frames: milliseconds
// between the frames that the compositor drew while the wheel zoomed, scripts: between animation frames, and costs: the
// processor time of each frame.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const [page_path, executablePath, picture] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
const complaints = [];
page.on("pageerror", error => complaints.push(String(error)));
await page.goto("file://" + page_path);
await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
const { painted, ready } = await page.evaluate(() => ({ painted: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  ready: performance.getEntriesByName("graph drawn")[0].startTime }));
const opening = Date.now();
await page.click("#openBoxes"); // every module, so that all are in the picture
const drawn = await page.textContent("#drawn");
await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
const opened = Date.now() - opening;
await page.screenshot({ path: picture });

const trace_path = path.join(os.tmpdir(), `frames-${process.pid}.json`);
await browser.startTracing(page, { path: trace_path, categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "disabled-by-default-devtools.timeline.frame"] });
// from all of it to one box and back, 240 steps, a step a frame
const scripts = await page.evaluate(() => new Promise(done => {
  const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect(), times = [];
  let step = 0, last = 0;
  const frame = now => {
    if (last) times.push(now - last);
    last = now;
    if (step === 240) return done(times);
    canvas.dispatchEvent(new WheelEvent("wheel", { ctrlKey: true, deltaY: (step++ < 120 ? -1 : 1) * 39, clientX: box.x + box.width / 2, clientY: box.y + box.height / 3, cancelable: true }));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}));
await browser.stopTracing();
const events = JSON.parse(fs.readFileSync(trace_path, "utf8")).traceEvents;
fs.unlinkSync(trace_path);
const drawings = events.filter(e => e.name === "DrawFrame").map(e => e.ts / 1000).sort((a, b) => a - b);
// what a frame costs: the processor time of the busiest thread between two animation frames; a busy machine adds nothing
const begins = events.filter(e => e.name === "FireAnimationFrame").map(e => e.ts).sort((a, b) => a - b), work = begins.slice(1).map(() => new Map());
for (const e of events) {
  if (!/^(ThreadPool_)?RunTask$/.test(e.name) || !e.tdur || e.ts < begins[0]) continue;
  const frame = begins.findLastIndex(at => at <= e.ts);
  if (frame < work.length) work[frame].set(e.pid + " " + e.tid, (work[frame].get(e.pid + " " + e.tid) || 0) + e.tdur / 1000);
}
const costs = work.map(threads => Math.max(0, ...threads.values()));
const frames = drawings.slice(1).map((at, i) => at - drawings[i]);
await browser.close();
if (complaints.length) { console.error(complaints.join("\n")); process.exit(1); }
console.log(JSON.stringify({ painted, ready, opened, drawn, frames, costs, scripts }));
