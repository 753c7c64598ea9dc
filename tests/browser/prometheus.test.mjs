// Prometheus scrapes runs: skipped where it is not installed.
import assert from "node:assert/strict";
import {spawn, spawnSync} from "node:child_process";
import {writeFileSync} from "node:fs";
import {join} from "node:path";
import {after, test} from "node:test";
import {endAll, freePort, program, root, scratch} from "./program.mjs";

const there = spawnSync("prometheus", ["--version"]).status === 0 && spawnSync("promtool", ["--version"]).status === 0;
after(endAll);

test("Prometheus scrapes a run, and promtool has nothing to say against it", {skip: there ? false : "prometheus is not installed"}, async () => {
  const [port, own] = [await freePort(), await freePort()];
  await program(["run", join(root, "config/demo.json"), "--set", "train.steps=50000", "--out", join(scratch, "scraped"), "--dashboard", `${port}`], "step ");
  const config = join(scratch, "prometheus.yml");
  writeFileSync(config, `scrape_configs: [{job_name: rldp, scrape_interval: 1s, static_configs: [{targets: ["127.0.0.1:${port}"]}]}]\n`);
  const server = spawn("prometheus", [`--config.file=${config}`, `--storage.tsdb.path=${join(scratch, "tsdb")}`, `--web.listen-address=127.0.0.1:${own}`], {stdio: "ignore"});
  try {
    const scrape = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const checked = spawnSync("promtool", ["check", "metrics"], {input: scrape, encoding: "utf8"});
    assert.equal(checked.stdout + checked.stderr, "");
    assert.equal(checked.status, 0);
    let found = [];
    for (const until = Date.now() + 600_000; Date.now() < until && !found.length;) {
      const answer = await fetch(`http://127.0.0.1:${own}/api/v1/query?query=rldp_step{run="scraped"}>0`).then((r) => r.json(), () => null);
      found = answer?.data?.result ?? [];
      if (!found.length) await new Promise((wake) => setTimeout(wake, 200));
    }
    assert.equal(found[0]?.metric.run, "scraped");
  } finally {
    server.kill("SIGKILL");
    await new Promise((ended) => server.on("exit", ended));
  }
});
