#!/usr/bin/env node
// Plain JavaScript: with TypeScript here, each call would load the compiler before the cache of its output is known.
import module from 'node:module';
import { join } from 'node:path';
import { requireNode } from '@petstore/runtime/require-node';

requireNode('npx --yes pnpm@12 -s petstore');

// Compiled code is kept between calls. What is imported below is not yet loaded.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compile'));

const [{ run }, { openStandardOutput }, { watchLaunchers }] = await Promise.all([
  import('./run.ts'),
  import('./output.ts'),
  import('@petstore/runtime'),
]);

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

process.exitCode = await run({
  arguments: process.argv.slice(2),
  environment: process.env,
  workingFolder: process.cwd(),
  checkout: join(import.meta.dirname, '../../..'),
  stdin: process.stdin,
  stdout: openStandardOutput(),
  stderr: process.stderr,
  onSignal(receive) {
    // A database that we started ends with the process, by a guard of its own.
    const end = (code) => receive() && process.exit(code);
    for (const [signal, code] of Object.entries(EXIT_CODES)) process.on(signal, () => end(code));
    watchLaunchers(process.env, () => end(EXIT_CODES.SIGTERM));
  },
});
