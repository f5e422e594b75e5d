// Plain JavaScript that every Node reads: `npm test` begins here with whatever Node there is, before anything is installed.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

if (!existsSync(resolve(import.meta.dirname, '../node_modules'))) {
  console.error('Dependencies are not installed. "npx --yes pnpm@12 test" installs them, and runs the tests.');
  process.exit(1);
}
await import('./main.ts');
