// How soon a dashboard's page is there, what it weighs, and whether its figures follow the hand. RLDP_BROWSER_MODULES and RLDP_CHROMIUM as
// in scripts/browser.sh:
//
//   RLDP_BROWSER_MODULES=build/browser RLDP_CHROMIUM=/usr/bin/chromium node bench/page.mjs http://127.0.0.1:8787/ '#/run/ID'
import {createRequire} from "node:module";
import {join, resolve} from "node:path";

const {chromium} = createRequire(join(resolve(process.env.RLDP_BROWSER_MODULES), "package.json"))("playwright-core");
const [base, hash] = process.argv.slice(2);
const browser = await chromium.launch({executablePath: process.env.RLDP_CHROMIUM, args: ["--no-sandbox"]});
const median = (all) => all.slice().sort((a, b) => a - b)[all.length >> 1];
const loads = [], drawn = [], bytes = [];
let page;
for (let i = 0; i < 9; ++i) {
  if (page) await page.close();
  page = await browser.newPage({viewport: {width: 1400, height: 900}});
  const began = Date.now();
  await page.goto(base + hash, {waitUntil: "load"});
  loads.push(await page.evaluate(() => { const [n] = performance.getEntriesByType("navigation"); return n.loadEventEnd - n.startTime; }));
  await page.locator("svg path.line").first().waitFor();
  drawn.push(Date.now() - began);
  bytes.push(await page.evaluate(() => [...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")].reduce((sum, e) => sum + e.transferSize, 0)));
}
const figure = page.locator("svg[aria-label^='Training loss']");
await figure.scrollIntoViewIfNeeded();
const box = await figure.boundingBox();
await page.evaluate(() => { window.gaps = []; let last = performance.now(); const next = (t) => { gaps.push(t - last); last = t; requestAnimationFrame(next); }; requestAnimationFrame(next); });
for (let i = 0; i < 60; ++i) await page.mouse.move(box.x + 60 + 7 * i, box.y + 100);
const gaps = (await page.evaluate(() => gaps)).slice(2);
const zoom = Date.now();
await page.mouse.move(box.x + 200, box.y + 100);
await page.mouse.down();
await page.mouse.move(box.x + 400, box.y + 100);
await page.mouse.up();
await page.waitForFunction(() => /\/\d+-\d+$/.test(location.hash));

console.log(`loaded in ${median(loads).toFixed(0)} ms, first figure after ${median(drawn)} ms, ${(median(bytes) / 1024).toFixed(0)} KiB; reading along a figure: frames of ${median(gaps).toFixed(0)} ms, at worst ${Math.max(...gaps).toFixed(0)} ms; zoomed after ${Date.now() - zoom} ms`);
await browser.close();
