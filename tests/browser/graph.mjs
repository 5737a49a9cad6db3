// Uses the graph of a page as people do: node graph.mjs PAGE CHROMIUM PICTURE
// The page's network has the modules stem, blocks.0 ... blocks.3 (equal, in a chain), each with a, b and add, and head.
import assert from "node:assert";
import fs from "node:fs";
import { chromium } from "playwright-core";
import { scene as sceneOf } from "./boxes.mjs";

const [page_path, executablePath, picture] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 }, acceptDownloads: true });
const complaints = [], requests = [];
page.on("console", message => { if (message.type() === "error") complaints.push(message.text()); });
page.on("pageerror", error => complaints.push(String(error)));
page.on("request", request => { if (!/^(file|blob):/.test(request.url())) requests.push(request.url()); });
await page.goto("file://" + page_path);
await page.waitForSelector("#canvas");

const scene = () => sceneOf(page);
/* Where a place of the picture is in the window. */
const at = async (path, dx, dy) => page.evaluate(([path, dx, dy]) => {
  const find = box => box.node.path === path ? box : box.open ? box.parts.map(find).find(Boolean) : undefined;
  const box = find(graph.scene()), { x, y } = graph.placeOf(box), v = graph.view(), r = document.getElementById("canvas").getBoundingClientRect();
  return { x: r.x + (x + (dx < 0 ? box.w + dx : dx)) * v.k + v.x, y: r.y + (y + dy) * v.k + v.y };
}, [path, dx, dy]);
const click = async (path, dx, dy) => { const p = await at(path, dx, dy); await page.mouse.click(p.x, p.y); };

// repeats are one box, and nothing is on anything
await page.click("#closeBoxes");
let now = await scene();
assert.deepEqual(Object.keys(now.found).sort(), ["", "blocks", "head", "stem"]);
await page.click("#openBoxes");
now = await scene();
assert.deepEqual(now.wrong, []);
assert.equal(now.found["blocks.0"].times, 4);
assert.equal(now.found["blocks.1"], undefined);
const middles = ["stem", "blocks.0.a", "blocks.0.b", "blocks.0.add", "head"].map(path => now.found[path].x + now.found[path].w / 2);
assert.ok(Math.max(...middles) - Math.min(...middles) < 1, "what is in a chain is straight, whatever goes around it: " + middles);
await page.screenshot({ path: picture });

// a click chooses: the details, the tree and the address follow
await click("blocks.0.a", 30, 30);
assert.equal(await page.textContent("#detail .path"), "blocks.0.a");
assert.match(page.url(), /#blocks\.0\.a$/);
assert.equal(await page.locator(".row.on .name").textContent(), "a");

// the keyboard: along the edge to the next box; out of the module; closes it, opens it
await page.keyboard.press("ArrowDown");
assert.equal(await page.textContent("#detail .path"), "blocks.0.b");
await page.keyboard.press("Backspace");
assert.equal(await page.textContent("#detail .path"), "blocks.0");
await page.keyboard.press("Enter");
assert.equal((await scene()).found["blocks.0"].open, false);

// the badge: each of them
await page.keyboard.press("u");
now = await scene();
assert.deepEqual(now.wrong, []);
assert.equal(now.found["blocks.3"].times, 1);

// the sign opens
await click("blocks.2", -13, 11);
assert.equal((await scene()).found["blocks.2"].open, true);

// the tree leads into what is folded and closed
await page.click("#closeBoxes");
await page.evaluate(() => go("blocks.2.add"));
now = await scene();
assert.ok(now.found["blocks.2.add"], "what is chosen in the tree is in the graph");

// an address leads to a module
await page.goto("about:blank");
await page.goto("file://" + page_path + "#blocks.3.b");
await page.waitForFunction(() => document.querySelector("#detail .path")?.textContent === "blocks.3.b");
await page.evaluate(() => { location.hash = "#stem"; });
await page.waitForFunction(() => document.querySelector("#detail .path")?.textContent === "stem");
await page.evaluate(() => { location.hash = "#no.such"; });
await page.waitForFunction(() => document.getElementById("found").textContent === "there is no no.such");

// the second network of the page has an address, too
await page.evaluate(() => { location.hash = "#@1/only"; });
await page.waitForFunction(() => document.querySelector("#detail .path")?.textContent === "only");
assert.match(page.url(), /#@1\/only$/);
await page.evaluate(() => { location.hash = "#stem"; });
await page.waitForFunction(() => document.querySelector("#detail .path")?.textContent === "stem");
await page.evaluate(() => { location.hash = "#no.such"; });

// what is typed opens nothing; Enter does
await page.click("#closeBoxes");
await page.fill("#search", "blocks.1.b");
assert.equal((await scene()).found["blocks.1.b"], undefined);
await page.keyboard.press("Enter");
assert.ok((await scene()).found["blocks.1.b"]);
assert.deepEqual((await scene()).wrong, []);
await page.keyboard.press("Escape");

// what is opened and closed leaves the rest as it was
await page.click("#openBoxes");
const opened = (await scene()).found;
for (const path of ["blocks.0", "blocks", "blocks"]) await page.evaluate(path => graph.toggle(path), path);
assert.equal((await scene()).found["blocks.0"].open, false);
await page.evaluate(() => graph.toggle("blocks.0"));
assert.deepEqual((await scene()).found, opened);

// zoom keeps the place under the hand
await page.click("#fit");
const before = await at("stem", 10, 10);
await page.mouse.move(before.x, before.y);
await page.keyboard.down("Control");
await page.mouse.wheel(0, -60);
await page.keyboard.up("Control");
await page.waitForTimeout(50);
const after = await at("stem", 10, 10);
assert.ok(Math.hypot(after.x - before.x, after.y - before.y) < 2, "the place under the hand stays");

// pictures
await page.click("#openBoxes");
const kept = async id => { const [download] = await Promise.all([page.waitForEvent("download"), page.click(id)]); return [download.suggestedFilename(), fs.readFileSync(await download.path())]; };
const [svgName, svg] = await kept("#svg"), [pngName, png] = await kept("#png");
assert.equal(svgName, "net.svg");
assert.match(svg.toString(), /^<svg xmlns[^]*>stem<\/text>[^]*<\/svg>\n$/);
assert.ok(!svg.toString().includes("NaN"));
assert.match(svg.toString(), />if use_head<\/text>/); // what exists only under a condition says so
const problem = await page.evaluate(text => new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")?.textContent, svg.toString());
assert.equal(problem, undefined);
assert.equal(pngName, "net.png");
assert.deepEqual([...png.subarray(1, 4)], [0x50, 0x4e, 0x47]);

// panes come and go; the last one stays
for (const key of ["t", "d"]) await page.keyboard.press(key);
assert.equal(await page.locator("#hierarchy").isVisible(), false);
await page.keyboard.press("g");
assert.equal(await page.locator("#flow").isVisible(), true);
await page.keyboard.press("?");
assert.ok(await page.locator("#keys").isVisible());
await page.keyboard.press("Escape");

// dark
await page.emulateMedia({ colorScheme: "dark" });
await page.waitForTimeout(100);
const corner = await page.evaluate(() => [...document.getElementById("canvas").getContext("2d").getImageData(1, 1, 1, 1).data]);
assert.deepEqual(corner, [20, 24, 28, 255]);

assert.deepEqual(complaints, []);
assert.deepEqual(requests, []);
await browser.close();
