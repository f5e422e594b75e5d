import type { ApiKey, ApiKeyId } from '@petstore/domain';
import type { ApiKeyRefusal } from '@petstore/persistence';
import { CommandFailure } from './failure.ts';
import type { Session } from './session.ts';

/** @throws CommandFailure where there is none */
export async function findKey({ persistence }: Session, id: ApiKeyId): Promise<ApiKey> {
  return (await persistence.keyAdministration.findKey(id)) ?? refuseKey('key_not_found', id);
}

/** @throws CommandFailure always */
export function refuseKey(refusal: ApiKeyRefusal, id: ApiKeyId): never {
  throw new CommandFailure(refusalMessage(refusal, id));
}

function refusalMessage(refusal: ApiKeyRefusal, id: ApiKeyId): string {
  switch (refusal) {
    case 'key_not_found':
      return `there is no key with the id ${id}`;
    case 'key_revoked':
      return `the key ${id} has been revoked; make another with "keys create"`;
    case 'key_expired':
      return `the key ${id} has expired; make another with "keys create"`;
    default:
      return refusal satisfies never;
  }
}
