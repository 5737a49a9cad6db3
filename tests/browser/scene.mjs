// Opens all of a page's graph and says what is wrong with the picture, as a JSON list: node scene.mjs PAGE CHROMIUM PICTURE
// Of a page without flow: what it says instead.
import { chromium } from "playwright-core";
import { scene } from "./boxes.mjs";

const [page_path, executablePath, picture] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
const wrong = [];
page.on("pageerror", error => wrong.push(String(error)));
await page.goto("file://" + page_path);
if (await page.evaluate(() => graph.hasFlow())) {
  await page.click("#openBoxes");
  wrong.push(...(await scene(page)).wrong);
  const [width, height] = await page.evaluate(() => [graph.scene().w, graph.scene().h]);
  if (width > 40 * height) wrong.push(`the picture is ${width} wide and ${height} high`);
} else {
  await page.click("#showGraph");
  wrong.push(await page.locator("#empty").innerText());
}
wrong.push(...await page.evaluate(() => nodes.slice(0, 200).map(node => { // each has details and an address
  try { go(node.path); } catch (problem) { return node.path + ": " + problem; }
  return location.hash.length > 1 || !node.path ? [] : node.path + " has no address";
}).flat()));
await page.screenshot({ path: picture });
await browser.close();
console.log(JSON.stringify(wrong));
