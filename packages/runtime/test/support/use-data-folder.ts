// A process that has the PostgreSQL below a data folder, as a server has, until its standard input ends. A line there tells it
// that it is to stop. What it says is one line of JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimDataFolder, openEmbeddedPostgres } from '../../src/index.ts';

const [, , folder = '', role, stoppingPatienceMs = ''] = process.argv;
const stopping = new AbortController();
try {
  using claimed = await claimDataFolder(folder, stopping.signal, Number(stoppingPatienceMs) || undefined);
  const onEnd = () => console.log(JSON.stringify({ ended: true }));
  const postgres = await openEmbeddedPostgres(claimed, onEnd, stopping.signal);
  const [pid] = readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n');
  console.log(JSON.stringify({ url: postgres.url, pid: Number(pid) }));
  if (role === 'exits') process.exit(0);
  for await (const _ of process.stdin) stopping.abort();
  await postgres.stop();
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
