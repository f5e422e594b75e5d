// Plain JavaScript: with TypeScript here, each start would load the compiler before the cache of its output is known.
import module from 'node:module';
import { join } from 'node:path';

// Said before anything is imported that an older Node could not read.
const NODE_MIN = 24;
if (Number.parseInt(process.versions.node, 10) < NODE_MIN) {
  console.error(
    `petstore: This is Node ${process.versions.node}, and Node ${NODE_MIN} or newer is needed. "npx --yes pnpm@12 start" brings one along.`,
  );
  process.exit(1);
}

// Compiled code is kept between starts, which halves the time they take. What is imported below is not yet loaded.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compile'));

const { runServer } = await import('./operations/run-server.ts');
// Standard streams may keep the process alive; everything of ours has ended by now.
process.exit(await runServer(process.env));
