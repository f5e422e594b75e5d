import { test } from 'vitest';
import { SpawnedServer, useDataFolder } from './support/spawned-server.ts';

test('the server asks for the memory limit of its container when it starts', async () => {
  using folder = useDataFolder();
  // A test may not make a control group; Node reads those of both versions by this function.
  const limited = 'data:text/javascript,process.constrainedMemory=()=>128*2**20';
  await using server = new SpawnedServer(folder.path, { LOG_FORMAT: 'json', NODE_OPTIONS: `--import=${limited}` });
  await server.said(/"memoryLimitMiB":128,"msg":"little memory is allowed: the system ends this process at 128 MiB/);
});
