export type {
  ApiKeyAdministration,
  ApiKeyRefusal,
  KeyRotation,
  NewApiKey,
} from './administration/api-key-administration.ts';
export { type GenerateOptions, SEED_MAX } from './bulk/generate-orders.ts';
export type { ImportOptions, ImportRecord, ImportResult, RejectedRecord } from './bulk/import-rows.ts';
export type { MigrationStatus, Migrations } from './migrations.ts';
export {
  type OrderStore,
  openPersistence,
  type Persistence,
  type PersistenceOptions,
  type PetStore,
} from './persistence.ts';
export { SchemaError } from './schema-error.ts';
