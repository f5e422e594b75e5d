import type { Cluster } from 'ioredis';
import type { RateLimitSubject } from '../subject.ts';

/** What may share a script call in a Redis Cluster, where a call may only name keys of one slot: what is of one key. */
export function groupByKey<Entry extends { readonly subject: RateLimitSubject }>(entries: readonly Entry[]): Entry[][] {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const { storageKey } = entry.subject;
    const group = groups.get(storageKey);
    if (group === undefined) groups.set(storageKey, [entry]);
    else group.push(entry);
  }
  return [...groups.values()];
}

/**
 * Holds back what is sent to each master until all of it is known, and then writes it at once. Commands stay apart: each
 * is redirected, and fails, by itself. A pipeline of ioredis would not follow a redirection of some of its commands, and
 * takes longer than it saves.
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
