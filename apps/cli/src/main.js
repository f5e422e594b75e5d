#!/usr/bin/env node
// Plain JavaScript: TypeScript here would load the compiler at each call, before the cache of its output is set.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';

if (!existsSync(new URL('../node_modules', import.meta.url))) {
  console.error('petstore: Dependencies are not installed. Run "npx --yes pnpm@12 install" first.');
  process.exit(1);
}
const { requireNode } = await import('@petstore/runtime/require-node');
requireNode('npx --yes pnpm@12 -s petstore');

// Compiled code is kept between calls. The modules below are imported after this line.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compile'));

const { runProcess } = await import('./run-process.ts');
await runProcess(process.env, join(import.meta.dirname, '../../..'));
