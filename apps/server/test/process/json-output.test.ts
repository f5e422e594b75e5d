import { beforeAll, describe, expect, test } from 'vitest';
import { KEYS } from '../support/database.ts';
import { SpawnedServer, startServer, useDataFolder, useStartedDataFolder } from '../support/spawned-server.ts';

const linesOf = (output: string): Record<string, unknown>[] => {
  const lines = output.trim() === '' ? [] : output.trim().split('\n');
  return lines.map((line): Record<string, unknown> => JSON.parse(line));
};

const copyStarted = useStartedDataFolder();

describe('with LOG_FORMAT=json every line of both outputs is JSON', () => {
  test('with the embedded database: the log, and where everything is', async () => {
    using data = copyStarted();
    await using server = new SpawnedServer(data.path, { LOG_FORMAT: 'json' });
    const url = await server.url();
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
    const settings = { LOG_FORMAT: 'json', ACCESS_LOG: 'on' };
    await using started = await startServer(settings);
    server = started.server;
    const headers = { authorization: `Bearer ${KEYS.free.text}`, 'x-request-id': 'mine' };
    await fetch(`${await server.url()}/v1/store/orders`, { headers });
    await server.said(/"request completed"/);
    await server.stop();
  });

  test('each request is a line at info, whatever LOG_LEVEL hides below', () => {
    const { id } = KEYS.free;
    expect(server.logLines('request completed')).toEqual([
      expect.objectContaining({ level: 'info', requestId: 'mine', keyId: id, operation: 'listOrders', status: 200 }),
    ]);
    expect(server.stdout).not.toContain('"level":"debug"');
  });
});
