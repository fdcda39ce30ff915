// Start servers, and run the tests against them: under this node and those that MEMSENSE_NODES names,
// with both versions of the AI SDK, and in Chromium, if it is installed.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";

const nodes = [process.execPath, ...(process.env.MEMSENSE_NODES ?? "").split(delimiter).filter(Boolean)];
const server = spawn(process.env.MEMSENSE_PYTHON ?? "python3", ["test/server.py"], {
  stdio: ["pipe", "pipe", "inherit"],
});
const ended = new Promise((done) => server.once("exit", done));
let failures = 0;
try {
  const line = await new Promise((done, fail) => {
    createInterface(server.stdout).once("line", done);
    server.once("exit", () => fail(new Error("the server did not start")));
  });
  const env = { ...process.env, MEMSENSE_TEST: line };
  const majors = Object.fromEntries([makeMajor("ai"), makeMajor("ai-6")]);
  for (const node of nodes) {
    const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
    run(`node ${version}`, node, ["build/test/client.test.js", "build/test/langchain.test.js"], env);
    for (const [name, { file, needs }] of Object.entries(majors)) {
      if (Number(version.slice(1).split(".")[0]) < needs) console.log(`# ${name} needs node ${needs}: skipped`);
      else run(`node ${version}, ${name}`, node, [file], env);
    }
  }
  runTutorial(JSON.parse(line));
  await runChromium(JSON.parse(line));
} finally {
  server.stdin.end();
  await ended;
}
process.exitCode = failures === 0 ? 0 : 1;

function run(title, node, files, env) {
  console.log(`# ${title}`);
  const { status } = spawnSync(node, ["--test", "--test-reporter=spec", ...files], { env, stdio: "inherit" });
  if (status !== 0) failures++;
}

/** Run the blocks of the tutorial, and compare what they print with what it shows. */
function runTutorial({ url, key }) {
  const page = readFileSync("../../docs/tutorials/typescript.md", "utf8");
  const blocks = (language) => [...page.matchAll(new RegExp("```" + language + "\n([^]*?)```", "g"))].map((it) => it[1]);
  writeFileSync("build/tutorial.mjs", blocks("ts").join(""));
  const env = { ...process.env, MEMSENSE_URL: url, MEMSENSE_KEY: key };
  const { stdout, stderr } = spawnSync(process.execPath, ["build/tutorial.mjs"], { env, encoding: "utf8" });
  const isTrue = stdout === blocks("text").join("");
  console.log(`# tutorial: ${isTrue ? "right" : `printed ${stdout}${stderr}`}`);
  if (!isTrue) failures++;
}

/** Put the build beside one version of the AI SDK; return its name, and its test with the node it needs. */
function makeMajor(folder) {
  const manifest = execFileSync("cat", [`node_modules/${folder}/package.json`], { encoding: "utf8" });
  const { version, engines } = JSON.parse(manifest);
  const place = join("build", folder);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(join(place, "node_modules"), { recursive: true });
  for (const it of ["dist", "package.json"]) cpSync(it, join(place, it), { recursive: true });
  cpSync("build/test", join(place, "test"), { recursive: true });
  symlinkSync(resolve("node_modules", folder), join(place, "node_modules", "ai"));
  const needs = Number(engines?.node?.match(/\d+/)?.[0] ?? 20);
  return [`ai ${version}`, { file: join(place, "test", "ai-sdk.test.js"), needs }];
}

/** Open a page of another origin whose script uses the client, and wait for what it reports. */
async function runChromium(told) {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const found = names.map((name) => spawnSync("which", [name], { encoding: "utf8" }).stdout.trim());
  const program = process.env.MEMSENSE_CHROMIUM ?? found.find(Boolean);
  if (!program) {
    console.log("# Chromium is not installed: skipped");
    return;
  }
  const { outputFiles } = await build({
    entryPoints: ["build/test/browser.js"], bundle: true, format: "esm", write: false,
  });
  let report;
  const reported = new Promise((done) => (report = done));
  const site = createServer(async (request, response) => {
    if (request.method === "POST") {
      const parts = [];
      for await (const part of request) parts.push(part);
      report(Buffer.concat(parts).toString());
      response.end();
    } else if (request.url === "/test.js") {
      response.writeHead(200, { "Content-Type": "text/javascript" }).end(outputFiles[0].contents);
    } else {
      response.writeHead(200, { "Content-Type": "text/html" });
      const script = `globalThis.told = ${JSON.stringify(told)}`;
      response.end(`<script>${script}</script><script type="module" src="/test.js"></script>`);
    }
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  const profile = mkdtempSync(join(tmpdir(), "memsense-chromium-"));
  const address = `http://127.0.0.1:${site.address().port}/`;
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const browser = spawn(program, [...flags, `--user-data-dir=${profile}`, address], { stdio: "ignore" });
  const late = new Promise((done) => setTimeout(done, 60_000, '{"error":"no report in 60 s"}').unref());
  const { error, steps } = JSON.parse(await Promise.race([reported, late]));
  const left = new Promise((done) => browser.once("exit", done));
  browser.kill();
  await left;
  site.close();
  site.closeAllConnections();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  const version = execFileSync(program, ["--version"], { encoding: "utf8" }).trim();
  console.log(`# ${version}: ${error ?? steps.join(", ")}`);
  if (error) failures++;
}
