import { findFreePort, startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';

type Server = Awaited<ReturnType<typeof startNode>>;

const MASTERS = 3;
const HOST = '127.0.0.1';
const NODE_CONFIG = {
  'cluster-enabled': 'yes',
  'cluster-node-timeout': 2_000,
  // The other masters go on while one is replaced.
  'cluster-require-full-coverage': 'no',
  'repl-diskless-sync-delay': 0,
  // A replica is listed from the first ping of its master on, which is 10 s away otherwise.
  'repl-ping-replica-period': 1,
  databases: 1,
};

/** What a node of a cluster is, besides its own ports. */
type TlsConfig = Readonly<Record<string, string>>;

/** Its administration goes by `port`, without TLS. Nodes know each other, and are known to clients, by `nodePort`. */
async function startNode(tls: TlsConfig | undefined) {
  const tlsPort = tls === undefined ? undefined : await findFreePort();
  const ofTls =
    tlsPort === undefined ? {} : { ...tls, 'tls-port': tlsPort, 'tls-cluster': 'yes', 'tls-replication': 'yes' };
  const server = await startRedisServer({ config: { ...NODE_CONFIG, ...ofTls } });
  return Object.assign(server, { nodePort: tlsPort ?? server.port });
}

/**
 * Six real servers on the loopback interface: three masters, and a replica of each.
 *
 * @param tls directives with which the nodes speak TLS
 */
export async function startRedisCluster(tls?: TlsConfig) {
  const servers = await Promise.all(Array.from({ length: 2 * MASTERS }, () => startNode(tls)));
  for (const [i, server] of servers.entries()) {
    await ask([server], async (client) => {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      if (i < MASTERS) await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(i), firstSlot(i + 1) - 1);
      for (const earlier of servers.slice(0, i)) await client.call('CLUSTER', 'MEET', HOST, earlier.nodePort);
    });
  }
  await Promise.all(servers.map((server) => waitUntil(server, knowsAllNodes)));
  const ids = await Promise.all(servers.map((server) => ask([server], (client) => client.call('CLUSTER', 'MYID'))));
  for (const [i, server] of servers.entries()) {
    const master = ids[i - MASTERS];
    if (i >= MASTERS) await ask([server], (client) => client.call('CLUSTER', 'REPLICATE', String(master)));
  }
  await Promise.all(servers.map((server) => waitUntil(server, isWhole)));
  const findServer = (port: number | undefined): Server => {
    const server = servers.find((node) => node.port === port);
    if (server === undefined) throw new Error(`no server at port ${port}`);
    return server;
  };
  return {
    /** Without TLS. */
    nodes: servers.map(({ port }) => ({ host: HOST, port })),
    nodePorts: servers.map(({ nodePort }) => nodePort),
    async findMaster(key: string): Promise<Server> {
      const port = await ask(servers, async (client) => {
        const slot = await client.cluster('KEYSLOT', key);
        const ranges = await client.cluster('SLOTS');
        return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1];
      });
      return findServer(port);
    },
    /** Begins to move the slot of a key to another master; keys that exist stay where they are. */
    async beginMove(key: string) {
      const from = await this.findMaster(key);
      const slot = await ask([from], (client) => client.cluster('KEYSLOT', key));
      const others = await ask([from], (client) => client.cluster('SLOTS'));
      const to = findServer(others.map(([, , master]) => master?.[1]).find((port) => port !== from.port));
      const idOf = (server: Server) => ask([server], async (client) => String(await client.call('CLUSTER', 'MYID')));
      const [fromId, toId] = [await idOf(from), await idOf(to)];
      const set = (server: Server, ...state: string[]) =>
        ask([server], (client) => client.call('CLUSTER', 'SETSLOT', slot, ...state));
      await set(to, 'IMPORTING', fromId);
      await set(from, 'MIGRATING', toId);
      const end = async () => {
        for (const server of [to, from]) await set(server, 'NODE', toId);
      };
      return { slot, to, end };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

const firstSlot = (master: number): number => Math.floor((master * 16_384) / MASTERS);

/** Nodes that have not responded yet are known by address alone, and cannot be given a replica. */
async function knowsAllNodes(client: Redis): Promise<boolean> {
  const nodes = String(await client.call('CLUSTER', 'NODES'));
  return nodes.trim().split('\n').length === 2 * MASTERS && !/handshake|noaddr|fail/.test(nodes);
}

/** A replica without its master's data cannot take its place; a node must know who serves what. */
async function isWhole(client: Redis): Promise<boolean> {
  const [info, slots, replication] = await Promise.all([
    client.cluster('INFO'),
    client.cluster('SLOTS'),
    client.info('replication'),
  ]);
  const isLinked = replication.includes('role:master') || replication.includes('master_link_status:up');
  const isServed = slots.length === MASTERS && slots.every(([, , ...nodes]) => nodes.length === 2);
  return isLinked && isServed && info.includes('cluster_state:ok');
}

const waitUntil = (server: Server, condition: (client: Redis) => Promise<boolean>): Promise<void> =>
  ask([server], async (client) => {
    while (!(await condition(client))) await new Promise((resolve) => setTimeout(resolve, 20));
  });

/** Asks the first of the servers that is alive. */
async function ask<Answer>(servers: readonly Server[], question: (client: Redis) => Promise<Answer>): Promise<Answer> {
  const [first, ...others] = servers;
  const client = new Redis(first?.port ?? 0, { maxRetriesPerRequest: 1 });
  try {
    return await question(client);
  } catch (error) {
    if (others.length === 0) throw error;
    return await ask(others, question);
  } finally {
    client.disconnect();
  }
}
