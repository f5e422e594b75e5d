import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { findExecutable, PATIENTLY } from '@petstore/testing';
import { expect, test, vi } from 'vitest';
import { startServer } from '../support/spawned-server.ts';

test('with few open files the log says so, health can be reached, and it recovers', async () => {
  const prlimit = findExecutable('prlimit');
  if (prlimit === undefined) throw new Error('prlimit, of util-linux, is needed.');
  await using started = await startServer();
  const { server } = started;
  // Long before the server reads it, which waits for PostgreSQL.
  execFileSync(prlimit, ['--pid', `${server.pid}`, '--nofile=300:300']);
  const url = new URL(await server.url());
  const sockets = Array.from({ length: 400 }, () => {
    const socket = connect(Number(url.port), url.hostname).on('error', () => {}); // one too many
    return { socket, closed: once(socket, 'close') };
  });
  await server.said(/"open":200,"msg":"connections could not be accepted: .* open files/);
  expect((await fetch(`${await server.adminUrl()}/livez`)).status).toBe(200);
  expect((await server.metrics()).get('petstore_http_connections')).toBe(200);
  for (const { socket } of sockets) socket.destroy();
  await Promise.all(sockets.map(({ closed }) => closed));
  await vi.waitFor(async () => expect((await fetch(url)).ok).toBe(true), PATIENTLY);
});
