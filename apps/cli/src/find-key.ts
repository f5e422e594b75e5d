import type { ApiKey, ApiKeyId } from '@petstore/domain';
import type { ApiKeyReason } from '@petstore/persistence';
import { CommandFailure } from './failure.ts';
import type { Session } from './session.ts';

/** @throws CommandFailure where there is none */
export async function findKey({ persistence }: Session, id: ApiKeyId): Promise<ApiKey> {
  return (await persistence.keyAdministration.findKey(id)) ?? refuseKey('key_not_found', id);
}

/** @throws CommandFailure always */
export function refuseKey(reason: ApiKeyReason, id: ApiKeyId): never {
  throw new CommandFailure(refusalMessage(reason, id));
}

function refusalMessage(reason: ApiKeyReason, id: ApiKeyId): string {
  switch (reason) {
    case 'key_not_found':
      return `there is no key with the id ${id}`;
    case 'key_revoked':
      return `the key ${id} has been revoked; make another with "keys create"`;
    case 'key_expired':
      return `the key ${id} has expired; make another with "keys create"`;
    default:
      return reason satisfies never;
  }
}
