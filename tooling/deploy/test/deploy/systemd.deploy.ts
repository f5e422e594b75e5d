import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { createTemporaryFolder, createTestDatabase, createTestRedis, findFreePort } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { useBuiltFolder } from '../support/built-folder.ts';
import { Systemd, UNITS } from '../support/systemd.ts';

const SERVICES = ['petstore.service', 'petstore@.service'];

function analyze(...args: readonly string[]): { readonly status: number | null; readonly printed: string } {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error) throw error;
  return { status, printed: stdout + stderr };
}

/** What systemd says against units, where Node lies where they expect it. */
function verify(change: (text: string) => string = (text) => text): string {
  using folder = createTemporaryFolder();
  cpSync(UNITS, folder.path, { recursive: true });
  for (const name of SERVICES) {
    const file = join(folder.path, name);
    const text = readFileSync(file, 'utf8').replace('/opt/petstore/node/bin/node', process.execPath);
    writeFileSync(file, change(text));
  }
  const { printed } = analyze('verify', ...globSync(join(folder.path, 'petstore*.{service,target}')));
  // It also looks at units of the machine, such as those of packages that other tests need.
  return printed.replaceAll(/^\/(?:usr\/)?lib\/systemd\/system\/.*\n/gm, '');
}

const read = (name: string) => readFileSync(join(UNITS, name), 'utf8');

/** The status of a request on a connection of its own, or `undefined` where no process listens. */
async function statusOf(port: number, path: string): Promise<number | undefined> {
  try {
    const [response] = await once(get({ port, path, agent: false }), 'response');
    response.resume();
    return response.statusCode;
  } catch {
    return undefined;
  }
}

describe('the units for systemd', () => {
  const built = useBuiltFolder();

  test('are understood by it', () => {
    expect(verify()).toBe('');
    expect(verify((text) => text.replace('UMask', 'Umsk'))).toContain("Unknown key 'Umsk'");
  });

  test.each(SERVICES)('%s is exposed by less than 2.0', (name) => {
    const { status, printed } = analyze('security', '--offline=true', '--threshold=20', join(UNITS, name));
    expect(`${status} ${printed.split('\n').at(-2)}`).toMatch(
      /^0 .*Overall exposure level for petstore\S* [01]\.\d OK/,
    );
  });

  test('for one server and for several differ in what they have to', () => {
    const linesOf = (name: string) =>
      read(name)
        .split('\n')
        .filter((line) => !line.startsWith('#'));
    const [one, several] = [linesOf('petstore.service'), linesOf('petstore@.service')];
    expect(several.filter((line) => !one.includes(line))).toEqual([
      'Description=Petstore Orders, server %i',
      'PartOf=petstore.target',
      'Environment=REUSE_PORT=on ADMIN_PORT=300%i',
      'WantedBy=petstore.target',
    ]);
    expect(one.filter((line) => !several.includes(line))).toEqual([
      'Description=Petstore Orders',
      'WantedBy=multi-user.target',
    ]);
  });

  test('give a server the time to end by itself', () => {
    const [, delaySeconds] = /^SHUTDOWN_DELAY=(\d+)s$/m.exec(read('petstore.env')) ?? [];
    const [, stopSeconds] = /^TimeoutStopSec=(\d+)s$/m.exec(read('petstore.service')) ?? [];
    expect(Number(stopSeconds)).toBeGreaterThan(Number(delaySeconds) + 10);
  });

  test('run servers that share a port, each with no more rights than it needs, and end them in order', async () => {
    await using database = await createTestDatabase();
    await using redis = await createTestRedis();
    const port = await findFreePort();
    const adminPorts = [await findFreePort(), await findFreePort()];
    const services = Object.fromEntries(
      adminPorts.map((adminPort, i) => [`petstore@${i + 1}.service`, { PORT: `${port}`, ADMIN_PORT: `${adminPort}` }]),
    );
    await using systemd = new Systemd({ built: built(), services, databaseUrl: database.url, redisUrl: redis.url });
    for (const adminPort of adminPorts) {
      await vi
        .waitUntil(async () => (await statusOf(adminPort, '/readyz')) === 200, { timeout: 30_000 })
        .catch(() => expect.fail(systemd.describe()));
    }
    expect(await statusOf(port, '/docs')).toBe(200);
    const status = readFileSync(`/proc/${await systemd.pidOf('petstore@1.service')}/status`, 'utf8');
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    expect(status).not.toMatch(/^Uid:\t0\t/m);
    const metrics = await (await fetch(`http://127.0.0.1:${adminPorts[0]}/metrics`)).text();
    expect(metrics).toContain('process_max_fds 16384\n');

    await systemd.systemctl('stop', 'petstore@1.service');
    const ended = await systemd.systemctl('show', 'petstore@1.service', '--property=Result,ExecMainStatus');
    expect(ended.trim().split('\n').sort()).toEqual(['ExecMainStatus=0', 'Result=success']);
    expect(systemd.readOutput('petstore@1.service').trimEnd()).toMatch(/"msg":"stopped"\}$/);
    expect(await statusOf(port, '/docs')).toBe(200);
  });
});
