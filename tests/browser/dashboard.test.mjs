// The dashboard in a real browser, fed by real runs: scripts/browser.sh.
import assert from "node:assert/strict";
import {cpSync, mkdirSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {endAll, freePort, program, root, scratch} from "./program.mjs";

const require = createRequire(join(process.env.RLDP_BROWSER_MODULES, "package.json"));
const {chromium} = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const demo = (out, ...more) => ["run", join(root, "config/demo.json"), "--out", join(scratch, out), ...more];
const set = (...keys) => keys.flatMap((key) => ["--set", key]);
const endless = "train.steps=50000";  // over only when a test ends it, however slow the browser is
let browser;
const complaints = [];  // of the console; a test that expects one takes it out

async function open(url, how = {}) {
  const page = await browser.newPage({viewport: {width: 1400, height: 900}, ignoreHTTPSErrors: true, ...how});
  page.setDefaultTimeout(600_000);  // all waits are for events; a busy machine takes its time
  page.on("console", (said) => { if (["error", "warning"].includes(said.type())) complaints.push(said.text()); });
  page.on("pageerror", (thrown) => complaints.push(thrown.message));
  await page.goto(url);
  return page;
}

/// What axe-core finds that keeps people out; the page's policy lets no script in but its own, so it is evaluated.
async function barriers(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21aa"]}));
  return found.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.html).slice(0, 3).join(" ")}`);
}

/// Of a page whose server went away.
async function closeForsaken(page) {
  await page.getByText("no connection; trying again").waitFor();
  await page.close();
  complaints.length = 0;
}

/// What runs into its neighbour in a row of a table, and progress whose bar and numbers stand on two lines.
const collisions = (page) => page.evaluate(() => {
  const box = (of) => { const range = document.createRange(); range.selectNodeContents(of); return range.getBoundingClientRect(); };
  const meet = (a, b) => a.width && b.width && a.right + 4 > b.left && b.right + 4 > a.left && a.bottom > b.top && b.bottom > a.top;
  const rows = [...document.querySelectorAll("tr")].flatMap((row) => [...row.cells].flatMap((cell, i) =>
    [...row.cells].slice(i + 1).filter((other) => meet(box(cell), box(other))).map((other) => `${cell.textContent}|${other.textContent}`)));
  return rows.concat([...document.querySelectorAll(".steps")].filter((one) => box(one).height > 1.8 * parseFloat(getComputedStyle(one).fontSize)).map((one) => one.textContent));
});

const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

before(async () => { browser = await chromium.launch({executablePath: process.env.RLDP_CHROMIUM, args: ["--no-sandbox"]}); });
after(async () => { await browser.close(); await endAll(); });

test("a folder without runs says how to start one, and a run appears by itself", async () => {
  const runs = join(scratch, "empty");
  mkdirSync(runs);
  const server = await program(["dashboard", runs, "--http", `${await freePort()}`], "Ctrl-C");
  const page = await open(/http\S+/.exec(server.said())[0]);
  await page.getByText("rldp run CONFIG --out DIR makes one").waitFor();
  assert.deepEqual(await barriers(page), []);
  server.kill("SIGTERM");
  assert.equal(await server.ended, 0);
  await closeForsaken(page);
});

test("a run is seen live, killed, resumed and interrupted", async () => {
  const port = `${await freePort()}`;
  const run = await program(demo("long", "--dashboard", port, ...set(endless, "train.eval_every=4", 'eval.publish="raw"')), "step ");
  const page = await open(`http://127.0.0.1:${port}/`);
  await page.getByRole("link", {name: "long", exact: true}).click();
  await page.getByText("differentially private with ε = 8").waitFor();
  await page.getByRole("heading", {name: "long running"}).waitFor();
  const steps = async () => Number((await page.locator(".card b").first().textContent()).split("/")[0]);
  const first = await steps();
  await page.waitForFunction((than) => Number(document.querySelector(".card b").textContent.split("/")[0]) > than, first);
  await page.locator("svg[aria-label^='Held-out perplexity'] path.line").waitFor();
  assert.deepEqual(await barriers(page), []);

  run.kill("SIGKILL");
  await run.ended;
  await page.getByText("no connection; trying again").waitFor();
  const seen = await steps();
  const resumed = await program(["run", "--resume", join(scratch, "long"), "--dashboard", port], "dashboard:");
  await page.waitForFunction((than) => Number(document.querySelector(".card b")?.textContent.split("/")[0]) > than, seen);
  await page.getByRole("heading", {name: "long running"}).waitFor();
  resumed.kill("SIGINT");
  assert.equal(await resumed.ended, 130);
  await closeForsaken(page);
});

test("a run that is over shows its end", async () => {
  const run = await program(demo("live", ...set("train.steps=40", "train.eval_every=4")), "public/report.html");
  assert.equal(await run.ended, 0);
  const server = await program(["dashboard", join(scratch, "live"), "--http", `${await freePort()}`], "Ctrl-C");
  const page = await open(/http\S+/.exec(server.said())[0] + "#/run/live");
  await page.getByRole("heading", {name: "live done"}).waitFor();
  assert.equal((await page.locator(".card b").first().textContent()).split("/")[0].trim(), "40");
  await page.close();
});

test("runs lie over each other, in the dark, on a phone, and by keyboard", async () => {
  const other = await program(demo("other", ...set("train.steps=8", "method.name=static")), "public/report.html");
  assert.equal(await other.ended, 0);
  const server = await program(["dashboard", scratch, "--http", `${await freePort()}`], "Ctrl-C");
  const url = /http\S+/.exec(server.said())[0];
  const page = await open(url, {colorScheme: "dark"});
  for (const name of ["live", "other"]) await page.getByLabel(`compare ${name}`, {exact: true}).check();
  await page.getByRole("link", {name: "Compare"}).click();
  await page.waitForFunction(() => document.querySelectorAll("svg[aria-label^='Held-out perplexity'] path.line").length === 2);
  assert.match(page.url(), /#\/compare\/live,other$/);
  assert.deepEqual(await barriers(page), []);

  const phone = await open(url + "#/run/live", {viewport: {width: 375, height: 700}});
  await phone.locator("svg path.line").first().waitFor();
  assert.ok(await fits(phone));
  await phone.goto(url + "#/");
  await phone.getByRole("link", {name: "other", exact: true}).waitFor();
  assert.ok(await fits(phone));
  assert.deepEqual(await barriers(phone), []);
  await phone.keyboard.press("Tab");
  await phone.keyboard.press("Enter");
  assert.equal(await phone.evaluate(() => document.activeElement.id), "main");  // past the navigation
  await Promise.all([page.close(), phone.close()]);
});

test("what is seen before there is data says so, and what is seen without JavaScript says that", async () => {
  const server = await program(["dashboard", join(scratch, "live"), "--http", `${await freePort()}`], "Ctrl-C");
  const url = /http\S+/.exec(server.said())[0];
  const bare = await open(url, {javaScriptEnabled: false});
  await bare.locator("noscript p").waitFor();
  assert.ok(!await bare.getByText("loading …").isVisible());
  const page = await open("about:blank");
  await page.route(url + "api/stream", (asked) => asked.abort());  // it, too, tells of runs
  for (const [address, held] of [["", "api/session"], ["", "api/runs"], ["#/run/live", "api/runs/live?*"], ["#/compare/live", "api/runs/live?*"]]) {
    let go;
    const released = new Promise((resolve) => { go = resolve; });
    await page.route(url + held, async (asked) => { await released; await asked.continue(); });
    await page.goto("about:blank");
    await page.goto(url + address);
    await page.getByText("loading …").waitFor();
    assert.equal(await page.locator("figure:visible").count(), 0);
    go();
    await page.getByText("loading …").waitFor({state: "detached"});
    await page.unroute(url + held);
  }
  await Promise.all([page.close(), bare.close()]);
  assert.ok(complaints.splice(0).every((said) => /ERR_FAILED/.test(said)));
});

test("a page whose run a server does not know yet asks again", async () => {
  const server = await program(["dashboard", join(scratch, "live"), "--http", `${await freePort()}`], "Ctrl-C");
  const url = /http\S+/.exec(server.said())[0], page = await open(url);
  await page.route(url + "api/runs/live/stream", (asked) => asked.fulfill({status: 404, body: "no such run"}));
  await page.goto(url + "#/run/live");
  await page.getByText("no connection; trying again").waitFor();
  await page.unroute(url + "api/runs/live/stream");
  await page.getByText("live", {exact: true}).and(page.getByRole("status")).waitFor();
  await page.close();
  assert.ok(complaints.splice(0).every((said) => /404|MIME type/.test(said)));
});

test("a run of one step shows its one point, and one of few looks the points and not a line alone", async () => {
  const run = await program(demo("one", ...set("train.steps=1")), "public/report.html");
  assert.equal(await run.ended, 0);
  const server = await program(["dashboard", scratch, "--http", `${await freePort()}`], "Ctrl-C");
  const page = await open(/http\S+/.exec(server.said())[0] + "#/run/one");
  const points = (title) => page.locator(`svg[aria-label^='${title}'] circle`);
  await points("Training loss").waitFor();
  for (const title of ["Training loss", "Noise multiplier"]) {
    assert.equal(await points(title).count(), 1);
    assert.ok(await points(title).isVisible());
  }
  await page.goto(/http\S+/.exec(server.said())[0] + "#/run/live");
  await page.getByRole("heading", {name: "live done"}).waitFor();
  assert.equal(await points("Held-out perplexity").count(), (await (await fetch(/http\S+/.exec(server.said())[0] + "api/runs/live")).json()).curves.perplexity.length);
  assert.equal(await points("Noise multiplier").count(), 0);
  await page.close();
});

test("at 1200 and 375 columns nothing is wider than its page, and nothing runs into anything", async () => {
  const small = set("train.steps=4", "train.expected_batch_size=8", "train.eval_records=8", "data.path=synthetic:300");
  const at = (name) => join(scratch, "grids-in-a-folder-with-a-long-name", name);
  for (const [what, ...how] of [["compare", "--methods", "static,rldp", "--epsilons", "2,8", "--seeds", "0"], ["sweep", "--grid", "train.lr=1e-3,1e-2,1e-1"]]) {
    const grid = await program([what, join(root, "config/demo.json"), ...how, ...small, "--out", at(what)], `${what}.html`);
    assert.equal(await grid.ended, 0);
  }
  const server = await program(["dashboard", scratch, "--http", `${await freePort()}`], "Ctrl-C");
  const url = /http\S+/.exec(server.said())[0];
  for (const width of [1200, 375]) {
    const page = await open(url, {viewport: {width, height: 800}});
    const sound = async (what) => {
      assert.ok(await fits(page), `${what} is wider than ${width}`);
      assert.deepEqual(await collisions(page), [], `${what} at ${width}`);
    };
    await page.getByRole("link", {name: "live", exact: true}).waitFor();
    const cell = page.getByRole("link", {name: "grids-in-a-folder-with-a-long-name/compare/cells/static-eps2-seed0"});
    assert.equal(await cell.count(), 0);
    await page.getByLabel("list the 7 cells of grids, too").check();
    await cell.waitFor();
    await sound("the list");
    await page.getByRole("link", {name: "live", exact: true}).click();
    await page.getByRole("heading", {name: "live done"}).waitFor();
    await page.getByText("ε guaranteed for each record, at δ").waitFor();
    await page.getByText("Deck left to play: 0 of 40 steps").waitFor();
    const deck = await page.locator("table", {hasText: "Deck left"}).locator("tr").allTextContents();
    assert.equal(new Set(deck.map((row) => row.split(/\s*0 of/)[0])).size, deck.length);
    assert.equal(deck.reduce((sum, row) => sum + Number(/0 of (\d+)$/.exec(row)[1]), 0), 40);
    await sound("a run");
    for (const [link, title] of [["report", "Private fine-tuning: live"], ["certificate", "Certificate"]]) {
      await page.getByRole("link", {name: link, exact: true}).click();
      await page.getByRole("heading", {level: 1}).waitFor();
      assert.match(await page.title(), new RegExp(title, "i"));
      await sound(link);
      await page.goBack();
      await page.getByRole("heading", {name: "live done"}).waitFor();
    }
    for (const [address, awaited] of [["grid/grids-in-a-folder-with-a-long-name~compare", "td a"], ["compare/live,other", "path.line"], ["compare", "main p"]]) {
      await page.goto(`${url}#/${address}`);
      await page.locator(awaited).first().waitFor();
      await sound(address);
    }
    assert.equal(await page.getByRole("heading", {name: "Over the runs"}).count(), 0);  // of none
    for (const file of ["compare/compare.html", "sweep/sweep.html"]) {
      await page.goto("file://" + at(file));
      await sound(file);
      for (const one of await page.locator("figure").all()) assert.ok((await one.boundingBox()).width < 600);
      const smallest = await page.evaluate(() => Math.min(...[...document.querySelectorAll("figure svg text")].map((text) =>
        parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a)));
      assert.ok(smallest > 9 && smallest < 13, `text of ${smallest} px`);
    }
    await page.close();
  }
});

test("what a run made up is a tab of its own, whatever stands in it, and comes when the run ends", async () => {
  const [from, hostile] = ["live", "hostile"].map((name) => join(scratch, name));
  cpSync(from, hostile, {recursive: true});
  const file = join(hostile, "public/summary.json"), summary = JSON.parse(readFileSync(file, "utf8"));
  const evil = "<img src=x onerror='document.title=\"caught\"'>", long = "a word that is long".repeat(20);
  summary.table.rows[0] = summary.table.columns.map((_, i) => [evil, long, ""][i % 3]);
  writeFileSync(file, JSON.stringify(summary));
  const port = `${await freePort()}`;
  const server = await program(["dashboard", scratch, "--http", port], "Ctrl-C");
  const url = /http\S+/.exec(server.said())[0];
  for (const width of [1200, 375]) {
    const page = await open(url + "#/run/live", {viewport: {width, height: 800}});
    await page.getByRole("link", {name: "Rows", exact: true}).click();
    await page.getByText("8 rows of nobody").waitFor();
    assert.match(page.url(), /#\/rows\/live$/);
    const shown = await page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(shown, JSON.parse(readFileSync(join(from, "public/summary.json"), "utf8")).table.rows);
    for (const address of ["#/rows/live", "#/rows/hostile"]) {
      await page.goto(url + address);
      await page.getByText("8 rows of nobody").waitFor();
      assert.ok(await fits(page), `${address} is wider than ${width}`);
      assert.deepEqual(await collisions(page), []);
      assert.deepEqual(await barriers(page), []);
    }
    assert.equal(await page.locator("td").first().textContent(), evil);
    assert.notEqual(await page.title(), "caught");
    await page.getByRole("link", {name: "Run", exact: true}).click();
    await page.getByRole("heading", {name: "hostile done"}).waitFor();
    await page.close();
  }
  rmSync(hostile, {recursive: true});
  const run = await program(demo("later", "--dashboard", `${await freePort()}`, ...set("train.steps=12")), "dashboard:");
  const page = await open(url);
  await page.getByRole("link", {name: "later", exact: true}).waitFor();
  await page.goto(url + "#/rows/later");
  await page.getByText(/No rows yet|8 rows of nobody/).waitFor();
  assert.equal(await run.ended, 0);
  await page.getByText("8 rows of nobody").waitFor();
  await page.close();
});

test("a table is seen as it is made, until the call ends", async () => {
  const port = `${await freePort()}`, out = join(scratch, "made.csv");
  const made = await program(["synthesize", join(scratch, "live"), "--model", join(root, "config/tiny-gpt2"), "--rows", "1000000", "--batch", "8",
    "--no-report", "--out", out, "--dashboard", port], "dashboard:");
  const page = await open(`http://127.0.0.1:${port}/#/rows/live`);
  const there = () => page.locator("p.steps").textContent().then((text) => Number(/(\d+)\/1000000 rows/.exec(text)[1]));
  await page.getByText("/1000000 rows; the last ones").waitFor();
  const first = await there();
  await page.waitForFunction((than) => Number(/(\d+)\/1000000/.exec(document.querySelector("p.steps").textContent)[1]) > than, first);
  assert.ok(await page.locator("tbody tr").count() > 0);
  assert.deepEqual(await barriers(page), []);
  made.kill("SIGTERM");
  assert.equal(await made.ended, 130);
  await closeForsaken(page);
});

test("figures zoom, say values, and are taken home as SVG and CSV; an address keeps what is seen", async () => {
  const server = await program(["dashboard", join(scratch, "live"), "--http", `${await freePort()}`], "Ctrl-C");
  const page = await open(/http\S+/.exec(server.said())[0] + "#/run/live");
  const figure = page.locator("figure", {has: page.getByRole("heading", {name: "Training loss as released"})});
  await figure.locator("path.line").waitFor();
  await figure.scrollIntoViewIfNeeded();
  const svg = figure.locator("svg"), {width, height} = await svg.boundingBox();
  const point = (part) => svg.hover({position: {x: part * width, y: height / 2}});
  await point(0.5);
  const read = await figure.locator("figcaption").textContent();
  assert.match(read, /^\S+ at step (1\d|2\d)$/);
  await page.evaluate(() => view());  // drawn again, as when its stream says something
  assert.equal(await figure.locator("figcaption").textContent(), read);
  await point(0.4);
  await page.mouse.down();
  await point(0.7);
  await page.mouse.up();
  await page.waitForFunction(() => /#\/run\/live\/\d+-\d+$/.test(location.hash));
  // The address changes at once, the figure when its values have come.
  await page.waitForFunction(() => !document.querySelector("svg[aria-label^='Training loss']").getAttribute("aria-label").includes("step 1 to 40"));
  const label = await figure.locator("svg").getAttribute("aria-label");
  await page.reload();
  await figure.locator("path.line").waitFor();
  assert.equal(await figure.locator("svg").getAttribute("aria-label"), label);
  const taken = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", {name: `Training loss as released: download as ${name}`}).click()]);
    return readFileSync(await download.path(), "utf8");
  };
  assert.match(await taken("SVG"), /^<svg.*xmlns="http:\/\/www.w3.org\/2000\/svg".*<\/svg>$/s);
  assert.match(await taken("CSV"), /^series,step,value\n"loss",\d+,-?\d/);
  await figure.getByRole("button", {name: "show all steps"}).click();
  await page.waitForFunction(() => location.hash === "#/run/live");
  await page.getByLabel("what figures are drawn against").selectOption("epsilon");
  await page.waitForFunction(() => document.querySelector("svg[aria-label^='Training loss']").getAttribute("aria-label").includes("over ε so far"));
  await page.close();
});

test("with TLS and tokens strangers see nothing, viewers look, operators stop", async () => {
  const [tls, tokens] = [join(scratch, "tls"), join(scratch, "tokens")];
  await (await program(["key", "new", "--tls", "localhost", tls], "fingerprint")).ended;
  await (await program(["key", "new", "--tokens", tokens], "operator")).ended;
  const token = (who) => new RegExp(`${who} (\\w+)`).exec(readFileSync(tokens, "utf8"))[1];
  const port = `${await freePort()}`;
  const run = await program(demo("guarded", "--dashboard", port,
    ...set(endless, `monitor.tls_certificate=${tls}.pem`, `monitor.tls_key=${tls}.key`, `monitor.token_file=${tokens}`)), "step 1");
  const signIn = async (who) => {
    const page = await open(`https://localhost:${port}/`);
    await page.getByLabel("Token").fill(token(who));
    await page.getByRole("button", {name: "Look"}).click();
    await page.getByRole("link", {name: "guarded", exact: true}).click();
    await page.getByText("differentially private").waitFor();
    return page;
  };
  const viewer = await signIn("viewer");
  assert.equal(await viewer.getByRole("button", {name: "Stop"}).count(), 0);
  const context = await browser.newContext({ignoreHTTPSErrors: true});
  await viewer.close();
  await context.close();
  const operator = await signIn("operator");
  operator.on("dialog", (dialog) => dialog.accept());
  await operator.getByRole("button", {name: "Stop"}).click();
  assert.equal(await run.ended, 130);
  assert.match(run.said(), /interrupted; go on with: rldp run --resume/);
  await operator.close();
  // The strangers' 401s, and the connection that ended with the run.
  assert.ok(complaints.splice(0).every((said) => /401|ERR_|connection/i.test(said)));
});

test("no console had anything to complain of", () => assert.deepEqual(complaints, []));
