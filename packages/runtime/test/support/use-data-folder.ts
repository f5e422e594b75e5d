// A process that uses the servers below a data folder until its standard input ends. What it says is one line of JSON.
import { claimDataFolder, openEmbeddedPostgres, openPrivateRedis, prepareDataFolder } from '../../src/index.ts';

const [, , folder = '', ...roles] = process.argv;
try {
  prepareDataFolder(folder);
  if (roles.includes('server')) claimDataFolder(folder, 'exclusive');
  const restarts = roles.includes('server')
    ? { onRestart: (failure?: unknown) => console.log(JSON.stringify({ restarted: failure === undefined })) }
    : {};
  const [postgres, redis] = await Promise.all([
    roles.includes('without-postgres') ? undefined : openEmbeddedPostgres(folder, restarts),
    roles.includes('redis') ? openPrivateRedis(folder, restarts) : undefined,
  ]);
  console.log(
    JSON.stringify({ url: postgres?.address, pid: postgres?.pid, redis: redis?.address, redisPid: redis?.pid }),
  );
  if (roles.includes('exit')) process.exit(0);
  for await (const _ of process.stdin);
  await Promise.all([postgres?.release(), redis?.release()]);
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
