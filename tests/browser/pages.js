// pages.js PLAYWRIGHT CHROMIUM FOLDER [SCREENSHOTS]: drives the pages that pages.py made, and checks what a reader would see.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const [playwright, executablePath, folder, shots] = process.argv.slice(2);
const { chromium } = require(playwright);

let page;
const complaints = [];

async function open(name) {
  const file = path.join(folder, `${name}.html`);
  const source = fs.readFileSync(file, "utf8");
  assert.match(source, /http-equiv="Content-Security-Policy" content="default-src 'none';/);
  assert.ok(!/unsafe-(inline|eval)/.test(source), `${name}: the policy allows what is not in it`);
  const begin = Date.now();
  await page.goto(`file://${file}`);
  return { size: source.length, load: Date.now() - begin };
}

const text = (selector) => page.locator(selector).first().textContent();
const shot = async (name) => { if (shots) await page.screenshot({ path: path.join(shots, `${name}.png`) }); };
// How long a change takes, with the frame that shows it.
const timed = (change) => page.evaluate(`new Promise((done) => { const begin = performance.now(); (${change})(); requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin))); })`);

async function attention() {
  await open("attention");
  assert.equal(await page.locator(".head").count(), 144);
  assert.equal(await text("#head-title"), "Layer 0, head 0");

  await page.locator(".head").nth(15).click();
  assert.equal(await text("#head-title"), "Layer 1, head 3");
  assert.equal(await page.locator(".head[aria-selected=true]").getAttribute("aria-label"), "layer 1, head 3");
  await page.locator("#grid").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  assert.equal(await text("#head-title"), "Layer 2, head 4");
  assert.equal(await page.locator("#grid").getAttribute("aria-activedescendant"), "head-28");

  // Matrix: hover and keyboard name the strongest partners.
  const box = await page.locator("#stage canvas").boundingBox();
  await page.mouse.move(box.x + 140, box.y + 140);
  assert.match(await text("#partners"), /→.*%/);
  assert.equal(await page.locator("#partners li").count(), 12);
  await page.locator("#stage canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.match(await text("#partners"), /listens to/);
  await shot("attention-matrix");

  // Lines: all tokens, then the chosen one's.
  await page.check("input[value=lines]");
  const all = await page.locator("#stage line").count();
  const tokens = (await page.locator("#stage svg text").count()) / 2;
  assert.equal(tokens, 14);
  assert.ok(all > tokens);
  await page.locator("#stage svg text").nth(4).hover();
  assert.ok(await page.locator("#stage line").count() < all);
  assert.match(await text("#partners h3"), /^“.+” listens to$/);
  await shot("attention-lines");
  await page.mouse.move(1, 1);

  // Words, specials, threshold.
  await page.check("input[value=words]");
  assert.equal((await page.locator("#stage svg text").count()) / 2, 12);
  assert.ok((await page.locator("#stage svg text").allTextContents()).includes("scalable"));
  await page.check("#hide");
  assert.equal((await page.locator("#stage svg text").count()) / 2, 10);
  const before = await page.locator("#stage line").count();
  await page.locator("#threshold").fill("12");
  assert.equal(await text("#threshold-value"), "12 %");
  assert.ok(await page.locator("#stage line").count() < before);
  await page.locator("#threshold").fill("0");

  // Search marks tokens in every view.
  await page.fill("#search", "SCAL");
  assert.equal(await page.locator("#stage text.found").count(), 2);
  await page.check("input[value=table]");
  assert.equal(await page.locator("#stage th.found").count(), 2);
  const cells = (await page.locator("#stage tbody tr").first().locator("td").allTextContents()).map(Number);
  assert.equal(cells.length, 10);
  assert.ok(cells.reduce((a, b) => a + b, 0) < 100, "hidden specials keep their share");
  await page.uncheck("#hide");
  const row = (await page.locator("#stage tbody tr").first().locator("td").allTextContents()).map(Number);
  assert.ok(Math.abs(row.reduce((a, b) => a + b, 0) - 100) < 1, "a row sums to 1");
  await page.fill("#search", "");

  // Light and dark, and what the system prefers.
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.selectOption("#theme", "light");
  const light = await ground();
  await page.selectOption("#theme", "dark");
  assert.notEqual(await ground(), light);
  await page.check("input[value=matrix]");
  await shot("attention-dark");
  await page.selectOption("#theme", "");
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await ground(), light);
  await page.emulateMedia({ colorScheme: "light" });
  assert.equal(await ground(), light);

  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator("#controls").isHidden());
  await shot("attention-print");
  await page.emulateMedia({ media: "screen" });
  await page.setViewportSize({ width: 400, height: 800 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a narrow window scrolls sideways");
  await shot("attention-narrow");
  await page.setViewportSize({ width: 1500, height: 950 });
}

async function hostile() {
  for (const name of ["hostile", "explain-hostile"]) {
    await open(name);
    assert.ok((await page.locator("body").innerText()).includes("</script><b>leads</b>"), `${name}: the text is shown`);
    assert.equal(await page.locator("b").count(), 0);
    assert.equal(await page.locator("script").count(), 3);
  }
}

async function big() {
  const { size, load } = await open("big");
  assert.ok(size < 8_000_000, `${size} bytes`);
  assert.equal(await page.locator(".head").count(), 144);
  const times = { load };
  times.head = await timed(() => document.getElementById("head-77").click());
  times.lines = await timed(() => document.querySelector("input[value=lines]").click());
  times.words = await timed(() => document.querySelector("input[value=words]").click());
  times.matrix = await timed(() => document.querySelector("input[value=matrix]").click());
  times.threshold = await timed(() => { const range = document.getElementById("threshold"); range.value = 3; range.dispatchEvent(new Event("input")); });
  const box = await page.locator("#stage canvas").boundingBox();
  times.hover = await timed(`() => document.querySelector("#stage canvas").dispatchEvent(new PointerEvent("pointermove", { clientX: ${box.x + 200}, clientY: ${box.y + 200} }))`);
  console.log(`12 x 12 x 128: ${(size / 1e6).toFixed(2)} MB; ms: ${Object.entries(times).map(([k, v]) => `${k} ${Math.round(v)}`).join(", ")}`);
  // Far above what a free machine needs (some tenths of a second), for one that is shared.
  for (const [what, time] of Object.entries(times)) assert.ok(time < (what === "load" ? 60_000 : 10_000), `${what} takes ${time} ms`);
  await shot("big");
}

async function explanation() {
  await open("explain");
  assert.equal(await page.locator("#heads input").count(), 12);
  assert.equal(await page.locator(".multiples button").count(), 12);
  assert.equal(await page.locator(".static").count(), 0);
  await shot("explain-top");
  const seen = new Set();
  for (let head = 0; head < 12; head++) {
    await page.locator("#heads input").nth(head).check();
    const summaries = (await page.locator("[data-stages] summary").allTextContents()).join("\n");
    for (const what of ["Q", "K", "V", "scores = Q·Kᵀ", "probabilities = softmax by row", "Z = probabilities·V"]) {
      assert.ok(summaries.includes(`head ${head}: ${what}: (`), `head ${head}: ${what}`);
    }
    const rows = await page.locator("[data-stages] details[open] tbody tr").allTextContents();
    assert.equal(rows.length, 14);
    seen.add(rows.join());
  }
  assert.equal(seen.size, 12, "every head has its own numbers");
  await page.locator(".multiples button").nth(3).click();
  assert.ok(await page.locator("#heads input").nth(3).isChecked());

  // A folded matrix is filled when it is opened, for the chosen head.
  const queries = page.locator("[data-stages] details").first();
  assert.equal(await queries.locator("table").count(), 0);
  await queries.locator("summary").click();
  await queries.locator("td").first().waitFor();
  assert.match(await queries.locator("td").nth(1).textContent(), /^-?\d+\.\d{3}$/);

  // Another token: sentences of every head, and rows that sum to 1.
  await page.selectOption("#token", { index: 6 });
  const findings = await page.locator("[data-findings=scores] li").allTextContents();
  assert.equal(findings.length, 12);
  assert.match(await page.locator("main").innerText(), /Whom built listens to:/);
  assert.ok(findings.every((line) => /^head \d+: built → .+ \d+ %/.test(line)), findings[0]);
  assert.match(await text("[data-findings=context] li"), /^head 0: Z of built is \d+ % the V of /);
  assert.match(await text("[data-findings=output] li"), /^head 0: columns 0 to 11, share of length [\d.]+$/);
  const row = (await page.locator("details[open] tr.current").last().locator("td").allTextContents()).map(Number);
  assert.ok(Math.abs(row.reduce((a, b) => a + b, 0) - 1) < 0.01);
  await page.locator(".multiples").scrollIntoViewIfNeeded();
  await shot("explain-heads");
  for (const word of ["residual", "LayerNorm (times γ, plus β)", "feed-forward"]) assert.ok((await page.locator("main").innerText()).includes(word), word);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  assert.ok(await page.locator("#picker").isHidden());
  await page.emulateMedia({ media: "screen", colorScheme: "dark" });
  await shot("explain-dark");
  await page.setViewportSize({ width: 400, height: 800 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a narrow window scrolls sideways");
  await shot("explain-narrow");
  await page.setViewportSize({ width: 1500, height: 950 });
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120_000 });
  page = await browser.newPage({ viewport: { width: 1500, height: 950 }, colorScheme: "light" });
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error}`));
  page.on("request", (request) => { if (!request.url().startsWith(`file://${folder}/`)) complaints.push(`request: ${request.url()}`); });
  let failed = 0;
  for (const test of [attention, hostile, big, explanation]) {
    try {
      await test();
      console.log(`ok ${test.name}`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${test.name}: ${error.stack}`);
    }
  }
  await browser.close();
  for (const complaint of complaints) console.log(complaint);
  process.exit(failed > 0 || complaints.length > 0 ? 1 : 0);
})();
