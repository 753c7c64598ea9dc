// Starts the program and waits for what it says; everything it started ends with the tests.
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";

export const root = new URL("../../", import.meta.url).pathname;
export const scratch = mkdtempSync(join(tmpdir(), "rldp-browser-"));
const started = [];

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => { const {port} = server.address(); server.close(() => resolve(port)); });
  });
}

/// Answers once it has said `until`, with .said() and .ended, a promise of its status.
export function program(args, until) {
  const child = spawn(process.env.RLDP_PROGRAM || join(root, "build/rldp"), args, {env: {...process.env, OMP_NUM_THREADS: "1"}});
  started.push(child);
  let text = "";
  child.said = () => text;
  child.ended = new Promise((resolve) => child.on("exit", (status, signal) => resolve(signal || status)));
  return new Promise((resolve, reject) => {
    const hear = (piece) => { text += piece; if (text.includes(until)) resolve(child); };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", () => reject(new Error(`ended before it said ${until}: ${text}`)));
  });
}

export async function endAll() {
  for (const child of started) if (child.exitCode === null) child.kill("SIGKILL");
  await Promise.all(started.map((child) => child.ended));
  rmSync(scratch, {recursive: true, force: true});
}
