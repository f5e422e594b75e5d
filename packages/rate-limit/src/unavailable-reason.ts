import { Cluster, type Redis } from 'ioredis';

/** Why the connection was lost or could not be made. */
const errors = new WeakMap<Redis | Cluster, Error>();

/** These errors follow from another error, or from closing the connection ourselves. */
const SAYS_NOTHING = /^(?:Connection is closed|Stream isn't writeable|None of startup|Cluster is|Failed to refresh)/;
const REASON_LENGTH_MAX = 160;

/** What a server, or ioredis of it, says to programmers; and what that means if one server is named that finds no others. */
const MEANINGS: readonly (readonly [message: RegExp, meaning: string])[] = [
  [
    /^(?:MOVED|ASK|CROSSSLOT|CLUSTERDOWN)\b/,
    'it is a node of a Redis Cluster: name several of its nodes, separated by commas',
  ],
  [/^READONLY\b/, 'it is a replica, which takes no writes: name the primary'],
  [/^Stream isn't writeable/, 'the connection is closed without a reply, as by a server that wants TLS (rediss:)'],
  [/^Unknown RESP type/, 'what answers there is no Redis'],
];

const NO_TLS = 'no reply to TLS; a server without it needs redis:';
/** ioredis says this whatever the reason is, also of a certificate that it has refused. */
const NO_SENTINEL = 'All sentinels are unreachable';
const NO_SENTINEL_OVER_TLS = `${NO_SENTINEL}, or their certificates are refused (tls_verify in REDIS_URL)`;

/** Keeps an error of a connection, until there is another or the connection is made. */
export function noteError(redis: Redis | Cluster, error: Error): void {
  if (!SAYS_NOTHING.test(error.message)) errors.set(redis, error);
}

export const forgetError = (redis: Redis | Cluster): boolean => errors.delete(redis);

/**
 * Why Redis is unavailable: its reply to a call, or why there is no connection. One short line without a secret.
 *
 * @param lastError the error of the last call
 */
export function reasonOf(redis: Redis | Cluster, lastError: Error | undefined): string {
  const error = lastError?.name === 'ReplyError' ? lastError : (errors.get(redis) ?? lastError);
  const message = error?.message ?? 'no response';
  if (!(redis instanceof Cluster)) {
    const { sentinels, sentinelTLS, tls } = redis.options;
    if (sentinels == null) {
      const [, meaning] = MEANINGS.find(([said]) => said.test(message)) ?? [];
      if (meaning !== undefined) return meaning;
      if (tls && message === 'connect ETIMEDOUT') return NO_TLS;
    } else if (sentinelTLS && sentinelTLS.rejectUnauthorized !== false && message.startsWith(NO_SENTINEL)) {
      return NO_SENTINEL_OVER_TLS;
    }
  }
  // An unknown command is quoted with its arguments: those of AUTH include a password.
  const [line = ''] = message
    .replace(/,? with args beginning with.*/s, '')
    .replace(/ Retrying from scratch.*| Last error: Connection is closed\.$/s, '')
    .split('\n');
  return line.length > REASON_LENGTH_MAX ? `${line.slice(0, REASON_LENGTH_MAX)}...` : line.replace(/\.$/, '');
}
