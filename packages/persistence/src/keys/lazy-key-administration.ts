import type { DatabaseServers } from '../database/servers.ts';
import type { ApiKeyAdministration, OrmApiKeyAdministration } from './key-administration.ts';

/** The administration of keys, whose module, with the ORM, is loaded by the first call. */
export function createLazyKeyAdministration(servers: DatabaseServers): ApiKeyAdministration {
  let loading: Promise<OrmApiKeyAdministration> | undefined;
  const load = () => {
    loading ??= import('./key-administration.ts').then((module) => new module.OrmApiKeyAdministration(servers));
    return loading;
  };
  return {
    createKey: async (...args) => (await load()).createKey(...args),
    listKeys: async () => (await load()).listKeys(),
    findKey: async (...args) => (await load()).findKey(...args),
    rotateKey: async (...args) => (await load()).rotateKey(...args),
    revokeKey: async (...args) => (await load()).revokeKey(...args),
    setPlan: async (...args) => (await load()).setPlan(...args),
  };
}
