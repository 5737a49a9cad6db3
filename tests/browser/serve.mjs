// Uses the page of `pellucid serve` as people do: node serve.mjs URL CHROMIUM PICTURE FILE
import assert from "node:assert";
import { chromium } from "playwright-core";

const [url, executablePath, picture, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
const complaints = [], requests = [];
page.on("console", message => { if (message.type() === "error") complaints.push(message.text()); });
page.on("pageerror", error => complaints.push(String(error)));
page.on("dialog", dialog => { complaints.push("a dialog: " + dialog.message()); dialog.dismiss(); });
page.on("request", request => { if (!request.url().startsWith(url)) requests.push(request.url()); });

await page.goto(url);
await page.getByText(file, { exact: true }).click(); // a name that would be markup is a name
await page.waitForSelector("#said.harmless");
const frame = page.frameLocator("iframe");
await frame.locator(".row").first().waitFor();
// the frame has no origin, but the page around it reads values for it
await frame.locator("#detail").getByRole("button", { name: "w", exact: true }).click();
await frame.locator(".bars rect").first().waitFor();
assert.match(await frame.locator("tr.values").innerText(), /min -1 · max 2/);
// and asks for no other file's: what is asked is of the file that is shown
const refused = await page.evaluate(() => fetch("values?path=../secret.txt&name=w").then(answer => answer.status));
assert.equal(refused, 403);
await page.getByRole("tab", { name: "tensors" }).click();
await page.getByRole("button", { name: "w", exact: true }).click();
await page.waitForSelector("#values svg rect");
assert.match(await page.textContent("#values"), /min-1/);
await page.screenshot({ path: picture });
await page.getByRole("tab", { name: "audit" }).click();
await page.waitForSelector("#out pre");
await page.reload(); // an address leads back to file and tab
await page.waitForSelector("#out pre");
await page.locator("nav button", { hasText: "inner/" }).click();
await page.getByText("bad.pt", { exact: true }).click();
await page.waitForSelector("#said.dangerous");
await page.getByRole("tab", { name: "tree" }).click();
await page.waitForSelector("#out pre, #out iframe");
assert.deepEqual(complaints.filter(text => !/status of 4\d\d/.test(text)), []);
assert.deepEqual(requests.filter(request => !/favicon/.test(request)), []);
await browser.close();
