import type { Settings } from '@petstore/runtime';
import type { Logger } from 'pino';
import { isLoopback } from './listen.ts';

/** Tells once, at the start, what somebody who runs this may not know of these settings. */
export function noteRisks({ host, trustProxy }: Settings, logger: Logger): void {
  if (process.geteuid?.() === 0) logger.warn('the server runs as root; use an ordinary user');
  if (trustProxy === true) {
    logger.warn(
      'TRUST_PROXY is true: whoever calls can name any address as its own, and escape the limits of addresses; ' +
        'set it to the addresses of the proxies, such as 10.0.0.0/8, or to how many are in front',
    );
  }
  if (!isLoopback(host))
    logger.info({ host }, 'others can reach HOST, and this is plain HTTP: TLS has to end in front');
}
