import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect } from 'node:tls';
import {
  AbstractConnector,
  type SentinelConnectionOptions,
  SentinelConnector,
  type StandaloneConnectionOptions,
} from 'ioredis';

const DISCONNECT_TIMEOUT_MS = 1_000;

/**
 * The options of a TLS connection.
 *
 * @param named the hosts that the operator has named
 * @returns `undefined`: no TLS
 */
export function tlsOptionsOf(
  tls: boolean | 'unverified',
  named: readonly { readonly host: string }[],
): ConnectionOptions | undefined {
  if (tls !== true) return tls ? { rejectUnauthorized: false } : undefined;
  return {
    // A cluster or Sentinels may announce a node by an address, though its certificate is for a name.
    checkServerIdentity(host, certificate) {
      const error = checkServerIdentity(host, certificate);
      const isNamed = named.some((node) => checkServerIdentity(node.host, certificate) === undefined);
      return isIP(host) !== 0 && isNamed ? undefined : error;
    },
  };
}

// ioredis listens for one error of a socket. Node reports two if a connection is closed during its handshake and then its
// certificate is refused, because Redis replies with an alert. The second would end the process.

/** Connects as ioredis does to a server or a node of a cluster, and tells it by which name it is called (SNI). */
export class TlsConnector extends AbstractConnector {
  readonly #options: StandaloneConnectionOptions;

  constructor(options: unknown) {
    super(DISCONNECT_TIMEOUT_MS);
    this.#options = options as StandaloneConnectionOptions; // ioredis passes those of the connection
  }

  override async connect(): Promise<Socket> {
    const { host = '', port = 0, tls } = this.#options;
    this.connecting = true;
    this.stream = connect({ host, port, ...(isIP(host) === 0 && { servername: host }), ...tls });
    return this.stream.on('error', (error: Error) => {
      this.firstError ??= error;
    });
  }
}

/** Connects as ioredis does to the master that Sentinels know. */
export class TlsSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions); // likewise
  }

  override async connect(emit: (type: string, error: Error) => void): Promise<Socket> {
    return (await super.connect(emit)).on('error', () => {});
  }
}
