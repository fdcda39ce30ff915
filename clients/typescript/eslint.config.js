import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["src/schema.ts", "src/operations.ts"] },
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { project: ["./tsconfig.json", "./tsconfig.test.json"] } },
    // node:test returns promises that nobody awaits.
    rules: { "@typescript-eslint/no-floating-promises": "off" },
  },
);
