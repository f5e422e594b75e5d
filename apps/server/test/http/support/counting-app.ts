import { randomBytes } from 'node:crypto';
import { type ApiKeyStore, generateApiKeyId, generateApiKeyText } from '@petstore/domain';
import { startTestApp, type TestApp } from './test-app.ts';

/** A key that does not exist, in the right form and with a right checksum. */
export const forgedKey = () => generateApiKeyText('live', generateApiKeyId(randomBytes), randomBytes);

export const request = (path: string, key?: string, method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${key === undefined ? '' : `Authorization: Bearer ${key}\r\n`}\r\n`;

/** An app that counts the look-ups of keys, and can make them wait. */
export async function startCountingApp(options: Parameters<typeof startTestApp>[0] = {}) {
  let lookUps = 0;
  let gate = Promise.resolve();
  const app = await startTestApp({
    ...options,
    wrap: {
      ...options.wrap,
      apiKeys: (apiKeys: ApiKeyStore): ApiKeyStore => ({
        async findSecret(hash) {
          lookUps++;
          await gate;
          return apiKeys.findSecret(hash);
        },
        markKeyUsed: (id, at) => apiKeys.markKeyUsed(id, at),
      }),
    },
  });
  return {
    app,
    lookUps: () => lookUps,
    /** Makes look-ups wait. @returns lets them go on */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

export const connectionsOf = ({ app }: TestApp) =>
  new Promise<number>((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
