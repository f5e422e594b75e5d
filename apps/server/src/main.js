// Plain JavaScript: with TypeScript here, each start would load the compiler before the cache of its output is known.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

if (!existsSync(join(import.meta.dirname, '../node_modules'))) {
  console.error('petstore: Nothing is installed yet. "npx --yes pnpm@12 start" installs what is needed, and serves.');
  process.exit(1);
}
const { requireNode } = await import('@petstore/runtime/require-node');
requireNode('npx --yes pnpm@12 start');

// Compiled code is kept between starts, which halves the time they take. What is imported below is not yet loaded.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compile'));

const { runServer } = await import('./operations/run-server.ts');
// Standard streams may keep the process alive; everything of ours has ended by now.
process.exit(await runServer(process.env));
