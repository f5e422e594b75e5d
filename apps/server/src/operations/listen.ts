import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, BlockList, createServer, isIP, type Server } from 'node:net';
import { RuntimeError } from '@petstore/runtime';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

export interface ListenAddress {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The setting to change if the port is not available. */
  readonly setting: 'PORT' | 'ADMIN_PORT';
}

const refuseSchema = (): never => {
  throw new Error('No route may have a schema of Fastify: contracts say what operations take and give.');
};

/** For Fastify's option `schemaController`: no route has a schema, so the compilers of schemas, dear to load, are not. */
export const WITHOUT_SCHEMAS = { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } };

/**
 * Makes Fastify listen.
 *
 * @throws RuntimeError (as a rejection) for a fault that the operator can fix
 */
export async function listenOn(app: Pick<FastifyInstance, 'listen'>, address: ListenAddress): Promise<void> {
  const { host, port } = address;
  try {
    // Only one address of a name is used: for `localhost`, Fastify would listen on each, with servers that it does not show.
    await app.listen({ host: (await lookup(host)).address, port });
  } catch (error) {
    throw explainListenError(error, address);
  }
}

/** The minimum time between two log lines about refused connections, in milliseconds. */
const REFUSED_LOGGED_EVERY_MS = 60_000;

/** Files other than connections of clients: connections to PostgreSQL and Redis, probes of the admin listener, the log. */
const RESERVED_FILES = 100;

/**
 * The connections of clients that this process has files for: without a file for a connection, the system closes it, and
 * nobody is told. Node has raised the soft limit to the hard limit, if it could.
 *
 * @param wanted the maximum if there are enough files
 */
export function connectionsMax(wanted: number): number {
  Object.assign(process.report, { excludeNetwork: true }); // which looks names up; not yet in the types
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: number | 'unlimited' } } }; // as Node documents it
  const files = Number(report.userLimits?.open_files?.soft);
  return Number.isNaN(files) ? wanted : Math.min(wanted, Math.max(files - RESERVED_FILES, 10));
}

/** Logs connections that are not accepted, because the maximum is open. */
export function logFailedAccepts(server: Server, logger: Pick<Logger, 'warn'>): void {
  server.on('error', (err) => logger.warn({ err }, 'a connection could not be accepted')); // it would end the process
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  let dropped = 0;
  server.on('drop', () => {
    dropped++;
    if (performance.now() - loggedAtMs < REFUSED_LOGGED_EVERY_MS) return;
    const advice =
      'the maximum number is open. 10,000 connections need a limit of 10,100 open files (ulimit -n, LimitNOFILE)';
    logger.warn({ dropped, open: server.maxConnections }, `connections could not be accepted: ${advice}`);
    loggedAtMs = performance.now();
    dropped = 0;
  });
}

/** The port of a server that listens. */
export const portOf = (server: Server): number => (server.address() as AddressInfo).port; // never a path, as TCP is used

/**
 * Fails early if a port is taken, before any slow step of the start. Listening may still fail later.
 *
 * @throws RuntimeError
 */
export async function assertPortIsFree(address: ListenAddress): Promise<void> {
  const { host, port } = address;
  const probe = createServer();
  try {
    await once(probe.listen({ host, port }), 'listening');
  } catch (error) {
    throw explainListenError(error, address);
  }
  probe.close();
  await once(probe, 'close');
}

/** Turns a fault that the operator can fix into one line that says how. */
function explainListenError(error: unknown, { host, port, setting }: ListenAddress): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const hostSetting = setting === 'PORT' ? 'HOST' : 'ADMIN_HOST';
  switch (code) {
    case 'EADDRINUSE':
      return new RuntimeError(
        `Port ${port} of ${host} is in use. Stop the process that uses it, or set ${setting} to another.`,
      );
    case 'EACCES':
      return new RuntimeError(
        `This user has no permission to listen on port ${port} of ${host}. Set ${setting} to another.`,
      );
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT': // an address of IPv6 on a machine without it
    case 'EINVAL': // a link-local address without its interface
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new RuntimeError(
        `${host} is not an address of this machine. Set ${hostSetting} to one, such as 127.0.0.1 or 0.0.0.0.`,
      );
    default:
      return error;
  }
}

/** The URL of a listener, as in `http://127.0.0.1:3000`. */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only this machine can reach a listener on this host. The only name that counts is `localhost`. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host.toLowerCase() === 'localhost' : LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

const UNSPECIFIED: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The address at which this machine reaches a listener on this host: the unspecified address cannot be called. */
export const reachableHost = (host: string): string => UNSPECIFIED[host] ?? host;
