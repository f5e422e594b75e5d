// Plain JavaScript that every Node reads: `npm test` begins here with whatever Node there is, before anything is installed.
import { existsSync } from 'node:fs';

if (!existsSync(new URL('../node_modules', import.meta.url))) {
  console.error('Dependencies are not installed. "npx --yes pnpm@12 test" installs them, and runs the tests.');
  process.exit(1);
}
const { requireNode } = await import('@petstore/runtime/require-node');
requireNode('npx --yes pnpm@12 test');
await import('./main.ts');
