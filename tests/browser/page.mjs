// Opens a page that pellucid wrote and uses it as people do: node page.mjs PAGE CHROMIUM PICTURE MODULES
// Says what it saw as one line of JSON; exits 1 at the first thing that is not as it should be.
import assert from "node:assert";
import { chromium } from "playwright-core";

const [page_path, executablePath, picture, modules] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
const complaints = [], requests = [];
page.on("console", message => { if (message.type() === "error") complaints.push(message.text()); });
page.on("pageerror", error => complaints.push(String(error)));
page.on("request", request => { if (!request.url().startsWith("file:")) requests.push(request.url()); });

const start = Date.now();
await page.goto("file://" + page_path);
await page.waitForSelector(".row");
const opened = Date.now() - start;
assert.match(await page.textContent("#totals"), new RegExp(`^${Number(modules).toLocaleString("en")} modules`));

// at first as many levels are open as fit; all closed, the mouse opens one, and it shows its parts
assert.ok(await page.locator(".row[role=treeitem]").count() > 1, "something is open at first");
await page.click("#close");
const length = () => page.evaluate(() => document.getElementById("rows").offsetHeight);
const before = await length();
await page.locator(".row[aria-expanded=false] .twist").first().click();
assert.ok(await length() > before, "a click opens a module");

// the head of the list is no module
await page.locator(".row.head").click();
await page.locator(".row.head").dblclick();

// the keyboard: down, right, left, home
await page.focus("#list");
await page.keyboard.press("Home");
assert.match(await page.getAttribute("#list", "aria-activedescendant"), /^n0$/);
await page.keyboard.press("ArrowDown");
const second = await page.getAttribute("#list", "aria-activedescendant");
assert.notEqual(second, "n0");
await page.keyboard.press("ArrowLeft");
await page.keyboard.press("ArrowLeft");
assert.equal(await page.getAttribute("#list", "aria-activedescendant"), "n0");

// search: only what fits and what is above it
await page.keyboard.press("/");
await page.keyboard.type("linear");
await page.waitForFunction(() => document.getElementById("found").textContent.endsWith("found"));
assert.ok(!(await page.textContent("#found")).startsWith("0 "), "there are Linears");
assert.ok(await page.locator("mark").count() > 0);
assert.match(await page.textContent("#detail h1"), /^\w*Linear/);
assert.ok(await page.locator("#detail table td", { hasText: "weight" }).count() > 0, "its tensors are shown");
assert.equal(await page.locator("#detail svg").count(), 0, "what has no parts has no flow between them");
await page.keyboard.press("Escape");
assert.equal(await page.textContent("#found"), "");

// everything open at once stays quick, because only the rows in sight exist
const opening = Date.now();
await page.click("#fold");
await page.click("#open");
const expanded = Date.now() - opening;
assert.ok(await page.locator(".row").count() < 100, "rows out of sight are not in the document");
await page.keyboard.press("Tab");
await page.click("#close");
await page.screenshot({ path: picture });
await page.emulateMedia({ colorScheme: "dark" });
const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
assert.equal(dark, "rgb(20, 24, 28)");

assert.deepEqual(complaints, []);
assert.deepEqual(requests, []);
console.log(JSON.stringify({ opened, expanded }));
await browser.close();
