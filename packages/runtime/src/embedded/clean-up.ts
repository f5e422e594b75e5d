// Run by the guard of a process that died: stops the server that it used, unless another process uses it.
import { findEmbeddedPostgres } from './embedded-postgres.ts';
import { findFormerRedis, findPrivateRedis } from './private-redis.ts';
import { stopIfUnused } from './shared-server.ts';

const [, , dataFolder = '', name] = process.argv;
if (name === 'postgres') await stopIfUnused(findEmbeddedPostgres(dataFolder));
if (name === 'redis') {
  await stopIfUnused(findPrivateRedis(dataFolder));
  await stopIfUnused(findFormerRedis(dataFolder));
}
