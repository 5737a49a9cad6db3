// Opens the page of `make web`, gives it files, and runs jobs: node web.mjs PAGE CHROMIUM PICTURE JOBS
// JOBS: a JSON file, [[path, [job, ...]], ...]. Writes what came as JSON; exits 1 if the page complained or a
// connection was tried.
import assert from "node:assert";
import fs from "node:fs";
import { chromium } from "playwright-core";

const [page_path, executablePath, picture, jobs_path] = process.argv.slice(2);
const jobs = JSON.parse(fs.readFileSync(jobs_path, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
const complaints = [], requests = [];
page.on("console", message => { if (message.type() === "error") complaints.push(message.text()); });
page.on("pageerror", error => complaints.push(String(error)));
page.on("request", request => { if (!/^(file|blob|about|data):/.test(request.url())) requests.push(request.url()); });

await page.goto("file://" + page_path);
await page.evaluate(() => window.ready);
await page.setInputFiles("#files", jobs.map(([path]) => path));
// all have a verdict
await page.waitForFunction(n => document.querySelectorAll("nav .verdict:not(:empty)").length === n &&
  ![...document.querySelectorAll("nav .verdict")].some(v => v.textContent === "…"), jobs.length, { timeout: 120_000 });
await page.waitForSelector("iframe, pre");

const answers = [];
for (const [number, [, names]] of jobs.entries())
  for (const job of names)
    answers.push(await page.evaluate(([job, number]) => window.pellucid.run(job, number), [job, number]));

// what a person does: another file, another tab
await page.locator("nav button").first().click();
await page.locator("#tabs button").nth(2).click();
await page.waitForSelector("pre");
await page.keyboard.press("ArrowDown");
assert.equal(await page.locator("nav button[aria-selected=true]").count(), 1);
await page.locator("nav button").first().click();
await page.locator("#tabs button").first().click();
await page.waitForSelector("iframe, pre");
await page.waitForTimeout(300);
await page.screenshot({ path: picture });

// a connection is refused, even to whoever opens the console
const refused = await page.evaluate(() => fetch("data:text/plain,x").then(() => "sent", () => "refused"));
assert.equal(refused, "refused");
assert.deepEqual(complaints.filter(text => !/Content Security Policy/.test(text)), []);
assert.deepEqual(requests, []);
await browser.close();
process.stdout.write(JSON.stringify(answers));
