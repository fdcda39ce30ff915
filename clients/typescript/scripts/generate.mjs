// Write src/schema.ts, the types of the API, and src/operations.ts, what the client must know of its
// operations at run time, from the OpenAPI text that `memsense openapi` prints.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const command = process.env.MEMSENSE_COMMAND ?? "memsense";
const text = execFileSync(command, ["openapi"], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
writeFileSync("openapi.json", text);
const api = JSON.parse(text);

const types = astToString(await openapiTS(api, { defaultNonNullable: false }));
writeFileSync("src/schema.ts", `// Written by scripts/generate.mjs: npm run generate renews it.\n${types}`);

const safe = [];
const keyed = [];
for (const [path, operations] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    const name = `${method.toUpperCase()} ${path}`;
    if (operation["x-memsense-safe"]) safe.push(name);
    if (operation.parameters?.some((it) => it.name === "idempotency-key")) keyed.push(name);
  }
}
const set = (names) => `/* @__PURE__ */ new Set<string>(${JSON.stringify(names, null, 2)})`;
writeFileSync(
  "src/operations.ts",
  `// Written by scripts/generate.mjs: npm run generate renews it.

/** POSTs that change nothing. */
export const SAFE = ${set(safe)};

/** Writes that are done once under their Idempotency-Key, however often they are sent. */
export const KEYED = ${set(keyed)};
`,
);
