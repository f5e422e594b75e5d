import type { Cluster } from 'ioredis';

/**
 * Holds back what is sent to each master until all of it is known, and then writes it at once. Commands stay apart: each
 * is redirected, and fails, by itself. A pipeline of ioredis does not follow a redirection of some of its commands.
 */
export function writeTogether(cluster: Cluster, send: () => void): void {
  const streams = cluster.nodes('master').flatMap(({ stream }) => stream ?? []); // none before the first connection
  for (const stream of streams) stream.cork();
  try {
    send();
  } finally {
    for (const stream of streams) stream.uncork();
  }
}
