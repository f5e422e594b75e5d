import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { createTemporaryFolder, createTestDatabase, createTestRedis, findFreePort } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';
import { useBuiltFolder } from '../support/built-folder.ts';
import { Container } from '../support/image.ts';

const UNITS = join(ROOT, 'deploy/systemd');

/** Targets that services belong to, so that those of the machine are not begun. */
const TARGETS = ['basic', 'sysinit', 'shutdown', 'network-online', 'multi-user'];

/** Becomes a systemd that knows the units of one folder alone, in a control group of its own. */
const BECOME = `set -e
mount --make-rprivate /
mount -t cgroup2 cgroup2 "$folder/cgroup"
mkdir "$folder/cgroup/$group"
echo $$ > "$folder/cgroup/$group/cgroup.procs"
umount "$folder/cgroup"
exec unshare --cgroup sh -ec '
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t tmpfs -o mode=755 tmpfs /run
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /opt
mkdir -p /opt/petstore/node/bin /opt/petstore/current
touch /opt/petstore/node/bin/node
mount --bind "$1" /opt/petstore/node/bin/node
mount --bind "$2" /opt/petstore/current
cp -a "$3" /opt/petstore/etc
mount --make-rshared /
exec /lib/systemd/systemd --system --unit=test.target --log-target=null --show-status=no
' sh "$node" "$built" "$folder/etc"`;

interface SystemdOptions {
  readonly built: string;
  /** Services to start, each with the settings that make it fit for a test. */
  readonly services: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

const SERVICE = 'petstore.service';

/** Units of `deploy`, run by systemd itself as the first process of a namespace. It takes root. */
class Systemd implements AsyncDisposable {
  readonly #temporary = createTemporaryFolder();
  readonly #group = `petstore-test-${process.pid}`;
  readonly #container: Container;

  constructor({ built, services, databaseUrl, redisUrl }: SystemdOptions) {
    const folder = this.#temporary.path;
    const units = this.#path('units');
    cpSync(UNITS, units, { recursive: true });
    const unit = readFileSync(join(units, SERVICE), 'utf8');
    writeFileSync(join(units, SERVICE), unit.replaceAll('/etc/petstore/', '/opt/petstore/etc/'));
    for (const name of TARGETS) writeFileSync(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n');
    for (const [name, settings] of Object.entries(services)) {
      mkdirSync(join(units, `${name}.d`));
      const lines = Object.entries(settings).map(([setting, value]) => `Environment=${setting}=${value}\n`);
      const output = this.#outputOf(name);
      writeFileSync(
        join(units, `${name}.d/test.conf`),
        `[Service]\n${lines.join('')}StandardOutput=append:${output}\nStandardError=append:${output}\n`,
      );
    }
    const wanted = `[Unit]\nDefaultDependencies=no\nWants=${Object.keys(services).join(' ')}\n`;
    writeFileSync(join(units, 'test.target'), wanted);
    for (const name of ['cgroup', 'generators', 'etc']) mkdirSync(this.#path(name));
    writeFileSync(this.#path('etc/petstore.env'), '');
    writeFileSync(this.#path('etc/database-url'), databaseUrl, { mode: 0o600 });
    writeFileSync(this.#path('etc/redis-url'), redisUrl, { mode: 0o600 });
    const variables = { folder, built, node: process.execPath, group: this.#group };
    const assignments = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork'];
    this.#container = new Container(['unshare', ...namespaces, 'sh', '-c', assignments.join('') + BECOME], {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      container: 'test',
      SYSTEMD_UNIT_PATH: units,
      SYSTEMD_GENERATOR_PATH: this.#path('generators'),
    });
  }

  #path(name: string): string {
    return join(this.#temporary.path, name);
  }

  #outputOf(service: string): string {
    return this.#path(`${service}.log`);
  }

  /** What a service has printed. */
  readOutput(service: string): string {
    return readFileSync(this.#outputOf(service), 'utf8');
  }

  /** All that services and systemd have printed. */
  describe(): string {
    const outputs = globSync(this.#path('*.log')).map((file) => readFileSync(file, 'utf8'));
    return [this.#container.stderr, ...outputs].join('\n');
  }

  /** Runs systemctl inside. @returns what it printed */
  async systemctl(...args: readonly string[]): Promise<string> {
    const inside = ['--target', `${await this.#container.firstPid}`, '--mount', '--pid', '--cgroup'];
    return execFileSync('nsenter', [...inside, 'systemctl', ...args], { encoding: 'utf8' });
  }

  /** The process of a service, as the machine numbers it. */
  async pidOf(service: string): Promise<number> {
    const inside = (await this.systemctl('show', service, '--property=MainPID', '--value')).trim();
    const first = await this.#container.firstPid;
    const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').trim().split(' ');
    const found = children.find((pid) =>
      new RegExp(`^NSpid:.*\\t${inside}$`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8')),
    );
    return Number(found);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // At SIGTERM systemd would begin anew. With it all processes of the namespace end.
    await this.#container.stop('SIGKILL');
    const remove = 'mount -t cgroup2 cgroup2 "$1" && find "$1/$2" -depth -type d -exec rmdir {} +';
    execFileSync('unshare', ['--mount', 'sh', '-c', remove, 'sh', this.#path('cgroup'), this.#group]);
    this.#temporary[Symbol.dispose]();
  }
}

function analyze(...args: readonly string[]): { readonly status: number | null; readonly printed: string } {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error) throw error;
  return { status, printed: stdout + stderr };
}

/** What systemd says against units, where Node lies where they expect it. */
function verify(change: (text: string) => string = (text) => text): string {
  using folder = createTemporaryFolder();
  cpSync(UNITS, folder.path, { recursive: true });
  const file = join(folder.path, SERVICE);
  writeFileSync(file, change(readFileSync(file, 'utf8').replace('/opt/petstore/node/bin/node', process.execPath)));
  const { printed } = analyze('verify', file);
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

describe('the unit for systemd', () => {
  const built = useBuiltFolder();

  test('is understood by it', () => {
    expect(verify()).toBe('');
    expect(verify((text) => text.replace('UMask', 'Umsk'))).toContain("Unknown key 'Umsk'");
  });

  test('is exposed by less than 2.0', () => {
    const { status, printed } = analyze('security', '--offline=true', '--threshold=20', join(UNITS, SERVICE));
    expect(`${status} ${printed.split('\n').at(-2)}`).toMatch(
      /^0 .*Overall exposure level for petstore\S* [01]\.\d OK/,
    );
  });

  test('gives a server the time to end by itself', () => {
    const [, delaySeconds] = /^SHUTDOWN_DELAY=(\d+)s$/m.exec(read('petstore.env')) ?? [];
    const [, stopSeconds] = /^TimeoutStopSec=(\d+)s$/m.exec(read(SERVICE)) ?? [];
    expect(Number(stopSeconds)).toBeGreaterThan(Number(delaySeconds) + 10);
  });

  test('runs a server with no more rights than it needs, and ends it in order', async () => {
    await using database = await createTestDatabase();
    await using redis = await createTestRedis();
    const [port, adminPort] = [await findFreePort(), await findFreePort()];
    const services = { [SERVICE]: { PORT: `${port}`, ADMIN_PORT: `${adminPort}` } };
    await using systemd = new Systemd({ built: built(), services, databaseUrl: database.url, redisUrl: redis.url });
    await vi
      .waitUntil(async () => (await statusOf(adminPort, '/readyz')) === 200, { timeout: 30_000 })
      .catch(() => expect.fail(systemd.describe()));
    expect(await statusOf(port, '/docs')).toBe(200);
    const status = readFileSync(`/proc/${await systemd.pidOf(SERVICE)}/status`, 'utf8');
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    expect(status).not.toMatch(/^Uid:\t0\t/m);
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    expect(metrics).toContain('process_max_fds 16384\n');

    await systemd.systemctl('stop', SERVICE);
    const ended = await systemd.systemctl('show', SERVICE, '--property=Result,ExecMainStatus');
    expect(ended.trim().split('\n').sort()).toEqual(['ExecMainStatus=0', 'Result=success']);
    expect(systemd.readOutput(SERVICE).trimEnd()).toMatch(/"msg":"stopped"\}$/);
  });
});
