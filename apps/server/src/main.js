// Plain JavaScript: TypeScript here would load the compiler at each start, before the cache of its output is set.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

if (!existsSync(new URL('../node_modules', import.meta.url))) {
  console.error(
    'petstore: Dependencies are not installed. "npx --yes pnpm@12 start" installs them, and starts the server.',
  );
  process.exit(1);
}
const { requireNode } = await import('@petstore/runtime/require-node');
requireNode('npx --yes pnpm@12 start');

// Compiled code is kept between starts, which halves their time. The modules below are imported after this line.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compile'));

const { runServer } = await import('./operations/run-server.ts');
// Standard streams may keep the process alive, but everything of ours has ended by now.
process.exit(await runServer(process.env));
