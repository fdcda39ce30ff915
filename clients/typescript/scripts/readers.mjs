// Check that others' tools read openapi.json without a word of warning: a validator, and generators of
// clients for TypeScript and Python. MEMSENSE_OPENAPI_TOOLS is the folder of the programs from PyPI.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const place = mkdtempSync(join(tmpdir(), "memsense-openapi-"));
const fromPython = (name) => join(process.env.MEMSENSE_OPENAPI_TOOLS ?? "", name);
const fromNpm = (name) => resolve("node_modules", ".bin", name);
// It knows no lines of JSON, which exports and imports consist of.
writeFileSync(
  join(place, "config.yml"),
  "content_type_overrides:\n  application/x-ndjson: application/octet-stream\npost_hooks: []\n",
);
const readers = {
  "openapi-spec-validator": [fromPython("openapi-spec-validator"), "openapi.json"],
  "openapi-typescript": [fromNpm("openapi-typescript"), "openapi.json", "-o", join(place, "types.ts")],
  "@hey-api/openapi-ts": [fromNpm("openapi-ts"), "-i", "openapi.json", "-o", join(place, "hey"), "--no-log-file"],
  "openapi-python-client": [
    fromPython("openapi-python-client"), "generate", "--path", "openapi.json", "--output-path",
    join(place, "python"), "--config", join(place, "config.yml"), "--fail-on-warning",
  ],
};
for (const [name, [program, ...options]] of Object.entries(readers)) {
  const { status, stdout, stderr, error } = spawnSync(program, options, { encoding: "utf8" });
  const output = `${stdout ?? ""}${stderr ?? ""}`;
  const reads = status === 0 && !/warn|error/i.test(output);
  console.log(`${name}: ${reads ? "reads the text without a warning" : (error ?? output)}`);
  if (!reads) process.exitCode = 1;
}
rmSync(place, { recursive: true });
