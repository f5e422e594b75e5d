import { requireNode } from '@petstore/runtime/require-node';

requireNode();

const { runServer } = await import('@petstore/server/run-server');
// Always production, because there is no embedded database here.
process.exit(await runServer({ ...process.env, NODE_ENV: 'production' }));
