import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';

const run = promisify(execFile);

type Server = Awaited<ReturnType<typeof startRedisServer>>;

const NODE_CONFIG = {
  'cluster-enabled': 'yes',
  'cluster-node-timeout': 1_000,
  // The other masters go on while one is replaced.
  'cluster-require-full-coverage': 'no',
  'repl-diskless-sync-delay': 0,
  databases: 1,
};

/** Six real servers on the loopback interface: three masters, and a replica of each. */
export async function startRedisCluster() {
  const servers = await Promise.all(Array.from({ length: 6 }, () => startRedisServer({ config: NODE_CONFIG })));
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes']);
  await Promise.all(servers.map(waitUntilWhole));
  return {
    nodes: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    async findMaster(key: string): Promise<Server> {
      const port = await ask(servers, async (client) => {
        const slot = await client.cluster('KEYSLOT', key);
        const ranges = await client.cluster('SLOTS');
        return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1];
      });
      const server = servers.find((node) => node.port === port);
      if (server === undefined) throw new Error(`no server at port ${port}`);
      return server;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

/** A replica without its master's data cannot take its place; a node must know of the whole cluster. */
async function waitUntilWhole(server: Server): Promise<void> {
  await ask([server], async (client) => {
    for (;;) {
      const [info, replication] = await Promise.all([client.cluster('INFO'), client.info('replication')]);
      const isLinked = replication.includes('role:master') || replication.includes('master_link_status:up');
      if (isLinked && info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:6')) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
}

async function ask<Answer>([first]: readonly Server[], question: (client: Redis) => Promise<Answer>): Promise<Answer> {
  const client = new Redis(first?.port ?? 0, { maxRetriesPerRequest: 1 });
  try {
    return await question(client);
  } finally {
    client.disconnect();
  }
}
