import { beforeAll, describe, expect, test } from 'vitest';
import { KEYS } from '../support/keys.ts';
import { SpawnedServer, useDataFolder } from './support/spawned-server.ts';
import { startServer } from './support/start-server.ts';
import { useStartedDataFolder } from './support/started-once.ts';

const linesOf = (output: string): Record<string, unknown>[] => {
  const lines = output.trim() === '' ? [] : output.trim().split('\n');
  return lines.map((line): Record<string, unknown> => JSON.parse(line));
};

/** Prints as libraries do: by the console, and as a warning of Node. */
const CHATTY = `data:text/javascript,${encodeURIComponent(`
  setTimeout(() => {
    console.error('[library] %s was lost', 'a connection');
    console.log('a remark');
    console.dir({ an: ['object'] });
    process.emitWarning('it is deprecated', 'DeprecationWarning', 'DEP0001');
  }, 700);
`)}`;

/** Has a module of the server print and warn while it is loaded, as a library might: there is no log yet. */
const CHATTY_MODULE = `data:text/javascript,${encodeURIComponent(`
  process.getBuiltinModule('node:module').registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith('/server/src/compose.ts')) return loaded;
      const more = "console.warn('printed while loading'); console.dir({ id: 7n }); process.emitWarning('warned while loading', { code: 'LIB1' });";
      return { ...loaded, source: loaded.source + '\\n' + more };
    },
  });
`)}`;

const copyStarted = useStartedDataFolder();

describe('with LOG_FORMAT=json every line of both outputs is JSON', () => {
  test('with the embedded database: the log, where everything is, and what libraries print', async () => {
    using data = copyStarted();
    await using server = new SpawnedServer(data.path, { LOG_FORMAT: 'json', NODE_OPTIONS: `--import=${CHATTY}` });
    const url = await server.url();
    await server.said(/deprecated/);
    await server.stop();
    const lines = linesOf(server.stdout);
    expect(server.stderr).toBe('');
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: `listening on ${url}`,
        publicUrl: url,
        demoKeysFile: expect.stringMatching(/demo-keys\.json$/),
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        pid: server.process.pid,
      }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'error', msg: '[library] a connection was lost', time: expect.any(String) }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ level: 'info', msg: 'a remark' }));
    expect(lines).toContainEqual(expect.objectContaining({ value: { an: ['object'] } }));
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'it is deprecated',
        warning: 'DeprecationWarning',
        code: 'DEP0001',
      }),
    );
  });

  test('what stops a start', async () => {
    using data = useDataFolder();
    await using server = new SpawnedServer(data.path, { LOG_FORMAT: 'json', PORT: 'x' });
    expect(await server.exited).toMatchObject({ code: 2 });
    expect(server.stdout).toBe('');
    expect(linesOf(server.stderr)).toEqual([
      { level: 'fatal', time: expect.any(String), msg: expect.stringContaining('PORT is "x"') },
    ]);
  });
});

describe('with LOG_FORMAT=json and ACCESS_LOG=on', () => {
  let server: SpawnedServer;
  beforeAll(async () => {
    const settings = { LOG_FORMAT: 'json', ACCESS_LOG: 'on', NODE_OPTIONS: `--import=${CHATTY_MODULE}` };
    await using started = await startServer(settings);
    server = started.server;
    const headers = { authorization: `Bearer ${KEYS.free.text}`, 'x-request-id': 'mine' };
    await fetch(`${await server.url()}/v1/store/orders`, { headers });
    await server.said(/"request completed"/);
    await server.stop();
  });

  test('what libraries print while they are loaded is JSON, too', () => {
    const lines = [...linesOf(server.stdout), ...linesOf(server.stderr)];
    expect(lines).toContainEqual({ level: 'warn', time: expect.any(String), msg: 'printed while loading' });
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'printed { value: { id: 7n } }' }));
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'warned while loading', code: 'LIB1' }));
  });

  test('each request is a line at info, whatever LOG_LEVEL hides below', () => {
    const { id } = KEYS.free;
    expect(server.logLines('request completed')).toEqual([
      expect.objectContaining({ level: 'info', requestId: 'mine', keyId: id, operation: 'listOrders', status: 200 }),
    ]);
    expect(server.stdout).not.toContain('"level":"debug"');
  });
});
