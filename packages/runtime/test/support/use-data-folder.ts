// A process that uses the PostgreSQL below a data folder until its standard input ends. What it says is one line of JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../src/index.ts';

const [, , folder = '', ...roles] = process.argv;
try {
  const postgres = await openEmbeddedPostgres(folder, {
    ...(roles.includes('server') && {
      server: 'alone',
      onEnd: () => console.log(JSON.stringify({ ended: true })),
    }),
  });
  const [pid] = readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n');
  console.log(JSON.stringify({ url: postgres.url, pid: Number(pid) }));
  if (roles.includes('exit')) process.exit(0);
  for await (const _ of process.stdin);
  await postgres.release();
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
