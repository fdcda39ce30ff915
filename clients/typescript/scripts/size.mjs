// Print the sizes of a bundle of the client and of the package, and fail if one is over its limit.
import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LARGEST_BUNDLE = 6_000;
const LARGEST_PACKAGE = 150_000;

const use = 'import { MemSense } from "./dist/index.js"; globalThis.memory = new MemSense({ url: "" });';
const { outputFiles } = await build({
  stdin: { contents: use, resolveDir: "." }, bundle: true, format: "esm", minify: true, write: false,
});
const { contents } = outputFiles[0];
const bundle = gzipSync(contents, { level: 9 }).length;
console.log(`bundle of new MemSense: ${contents.length} bytes, ${bundle} gzipped; at most ${LARGEST_BUNDLE}`);

const [{ size, unpackedSize, files }] = JSON.parse(
  execFileSync(process.execPath, [process.env.npm_execpath, "pack", "--dry-run", "--json"], { encoding: "utf8" }),
);
console.log(`package: ${size} bytes, ${unpackedSize} unpacked; at most ${LARGEST_PACKAGE}`);
const others = files.map((it) => it.path).filter((path) => !/^(dist\/|README\.md$|LICENSE$|package\.json$)/.test(path));
if (others.length > 0) console.log(`not of dist: ${others.join(", ")}`);
if (bundle > LARGEST_BUNDLE || size > LARGEST_PACKAGE || others.length > 0) process.exitCode = 1;
